// The branch of messages, oldest first. Stays at the end while the reader is there, keeps the
// reader's place when older ones come in above.
import { useClient } from "./context";
import { AnswerMessage } from "./answer_message";
import { DownIcon } from "./icons";
import { QuestionMessage } from "./question_message";
import { useScroll } from "./scroll";
import type { Thread } from "../threads";

export function MessageList({ pk, thread }: { pk: string; thread: Thread }) {
  const { chat } = useClient();
  const { messages, older, isLoadingOlder, busy, problems } = thread;
  const loadOlder = () => void chat.loadOlder(pk);
  const { boxRef, contentRef, isAtEnd, toEnd } = useScroll(messages, older === null ? null : loadOlder);
  return (
    <main className="chat-body" ref={boxRef} tabIndex={-1}>
      <div className="messages" ref={contentRef}>
        {older !== null && (
          <button type="button" className="text-button more" aria-busy={isLoadingOlder} onClick={loadOlder}>
            {isLoadingOlder ? "Loading earlier messages…" : "Show earlier messages"}
          </button>
        )}
        {messages.map((message, index) => {
          const isLast = index === messages.length - 1;
          const shared = { pk, message, isLast, isBusy: busy.length > 0, problem: problems[message.pk] };
          return message.role === "user" ? (
            <QuestionMessage key={message.pk} {...shared} />
          ) : (
            <AnswerMessage key={message.pk} {...shared} />
          );
        })}
      </div>
      {!isAtEnd && (
        <button type="button" className="to-end" aria-label="To the newest message" onClick={toEnd}>
          <DownIcon />
        </button>
      )}
    </main>
  );
}
