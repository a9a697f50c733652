// What the model wrote, or is writing: its text, how it stands, and what can be done about it.
import { memo } from "react";
import type { Answer } from "../answers";
import { isOver, type Generation, type Message } from "../api";
import type { Problem } from "../problem";
import { Store, useStore } from "../store";
import { messageText } from "../threads";
import { endWords, placeWords, problemWords } from "../words";
import { useClient } from "./context";
import { CopyButton } from "./copy_button";
import { focusComposer } from "./focus";
import { RetryIcon } from "./icons";
import { Markdown } from "./markdown";
import { useModel } from "./model_picker";
import { Siblings } from "./siblings";

interface Props {
  pk: string;
  message: Message;
  isLast: boolean;
  isBusy: boolean;
  problem: Problem | undefined;
}

const NOT_READ = new Store<Answer | null>(null);

export const AnswerMessage = memo(function AnswerMessage({ pk, message, isLast, isBusy, problem }: Props) {
  const { answers } = useClient();
  const generation = message.generation;
  const isRunning = generation !== null && !isOver(generation.state);
  const store = isRunning ? answers.find(generation.pk) : undefined;
  const answer = useStore<Answer | null>((store as Store<Answer | null> | undefined) ?? NOT_READ);
  const text = answer?.text ?? messageText(message);
  return (
    <article className={isLast ? "message answer last" : "message answer"} aria-label="Parley">
      {text !== "" && <Markdown text={text} isGrowing={isRunning} />}
      {isRunning && <Waiting answer={answer} hasText={text !== ""} />}
      {generation !== null && !isRunning && (
        <Ending pk={pk} message={message} generation={generation} isBusy={isBusy} hasText={text !== ""} />
      )}
      {problem && <p className="message-problem">{problemWords(problem)}</p>}
      {!isRunning && <Actions pk={pk} message={message} text={text} isBusy={isBusy} />}
    </article>
  );
});

/** Before the first word, and while a stop is on its way. */
function Waiting({ answer, hasText }: { answer: Answer | null; hasText: boolean }) {
  if (answer?.isStopping) return <Progress words="Stopping…" />;
  if (hasText) return null;
  const isQueued = answer !== null && answer.place !== null;
  return <Progress words={isQueued ? placeWords(answer.place ?? 0) : "Thinking…"} />;
}

function Progress({ words }: { words: string }) {
  return (
    <p className="progress">
      <span className="pulse" aria-hidden="true" />
      {words}
    </p>
  );
}

interface EndingProps {
  pk: string;
  message: Message;
  generation: Generation;
  isBusy: boolean;
  hasText: boolean;
}

function Ending({ pk, message, generation, isBusy, hasText }: EndingProps) {
  const { chat } = useClient();
  const model = useModel(pk);
  const words = endWords(generation);
  if (words === null) return null;
  const isBad = generation.state === "failed" || generation.state === "blocked";
  return (
    <div className={isBad ? "ending bad" : "ending"}>
      <p>{words}</p>
      {isBad && (
        <button
          type="button"
          className="button"
          disabled={isBusy}
          onClick={() => {
            focusComposer();
            void chat.regenerate(pk, message.pk, model);
          }}
        >
          Retry
        </button>
      )}
      {generation.state === "stopped" && hasText && (
        <button
          type="button"
          className="button"
          disabled={isBusy}
          onClick={() => {
            focusComposer();
            void chat.resume(pk, message.pk);
          }}
        >
          Continue
        </button>
      )}
    </div>
  );
}

function Actions({ pk, message, text, isBusy }: { pk: string; message: Message; text: string; isBusy: boolean }) {
  const { chat } = useClient();
  const model = useModel(pk);
  return (
    <div className="message-actions">
      <Siblings pk={pk} message={message} isBusy={isBusy} />
      {text !== "" && <CopyButton text={text} label="Copy answer" />}
      <button
        type="button"
        className="icon-button"
        aria-label="Answer again"
        title="Answer again"
        disabled={isBusy}
        onClick={() => {
          focusComposer();
          void chat.regenerate(pk, message.pk, model);
        }}
      >
        <RetryIcon />
      </button>
    </div>
  );
}
