// Where a message is typed. Its text is the draft, and leaves only when the server has accepted it.
import { useEffect, useState, type ClipboardEvent, type KeyboardEvent, type RefObject } from "react";
import { announce } from "../announcer";
import type { Answer } from "../answers";
import type { Generation } from "../api";
import { chatPath, go, shownConversation } from "../router";
import { Store, useStore, useStorePart } from "../store";
import type { Thread } from "../threads";
import { problemWords } from "../words";
import { useClient } from "./context";
import { focusComposer } from "./focus";
import { useGrowing } from "./growing";
import { CloseIcon, SendIcon, StopIcon } from "./icons";
import { ModelPicker, useModel } from "./model_picker";

/** Far above any limit of the server; more than this would only freeze the page. */
const MOST_PASTED = 200_000;

const NOT_READ = new Store<Answer | null>(null);

interface Props {
  pk: string | null;
  draftKey: string;
  thread: Thread;
  running: Generation | null;
  inputRef: RefObject<HTMLTextAreaElement | null>;
}

export function Composer({ pk, draftKey, thread, running, inputRef }: Props) {
  const client = useClient();
  const text = useStore(client.drafts.of(draftKey)).text;
  const { isBusy, problem } = useStore(client.chat.sending(draftKey));
  const [note, setNote] = useState<string | null>(null);
  const model = useModel(pk);
  const isAnswering = useIsAnswering(running);
  const canSend = text.trim() !== "" && thread.status === "ready" && !isAnswering && !isBusy;
  useGrowing(inputRef, text);
  useEffect(focusComposer, []);

  const send = async () => {
    if (!canSend) return;
    const began = await client.chat.send(draftKey, pk, model);
    if (began !== null && pk === null && shownConversation() === null) go(chatPath(began));
    const refusal = client.chat.sending(draftKey).get().problem;
    if (began === null && refusal) announce(problemWords(refusal));
  };
  const onKey = (event: KeyboardEvent) => {
    if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing) return;
    event.preventDefault();
    void send();
  };
  const onPaste = (event: ClipboardEvent) => {
    const { length } = event.clipboardData.getData("text");
    if (length <= MOST_PASTED) return;
    event.preventDefault();
    setNote(`That text is too long to paste (${length.toLocaleString("en")} characters).`);
  };
  const type = (typed: string) => {
    client.drafts.type(draftKey, typed);
    setNote(null);
    if (problem) client.chat.dismiss(draftKey);
  };
  const told = problem ? problemWords(problem) : note;
  return (
    <form
      className="composer"
      aria-label="Write a message"
      onSubmit={(event) => {
        event.preventDefault();
        void send();
      }}
    >
      {told && <Refusal words={told} onClose={() => (problem ? client.chat.dismiss(draftKey) : setNote(null))} />}
      <div className="composer-box">
        <label className="visually-hidden" htmlFor="composer">
          Message
        </label>
        <textarea
          id="composer"
          ref={inputRef}
          dir="auto"
          rows={1}
          placeholder="Write a message"
          aria-describedby="composer-hint"
          value={text}
          readOnly={isBusy}
          onChange={(event) => type(event.target.value)}
          onKeyDown={onKey}
          onPaste={onPaste}
        />
        <div className="composer-row">
          <ModelPicker pk={pk} />
          <span id="composer-hint" className="composer-hint">
            {isAnswering ? "Esc stops the answer" : "Enter sends, Shift + Enter starts a new line"}
          </span>
          {running && isAnswering ? (
            <StopButton generation={running} inputRef={inputRef} />
          ) : (
            <button type="submit" className="round-button" aria-label="Send" disabled={!canSend} aria-busy={isBusy}>
              <SendIcon />
            </button>
          )}
        </div>
      </div>
    </form>
  );
}

/** Whether an answer holds the next message up; one that was asked to stop does not, the server lets it wait. */
function useIsAnswering(running: Generation | null): boolean {
  const { answers } = useClient();
  const store = running === null ? undefined : answers.find(running.pk);
  const isStopping = useStorePart<Answer | null, boolean>(
    (store as Store<Answer | null> | undefined) ?? NOT_READ,
    (answer) => answer?.isStopping ?? false,
  );
  return running !== null && !isStopping;
}

function Refusal({ words, onClose }: { words: string; onClose: () => void }) {
  return (
    <div className="refusal">
      <p>{words}</p>
      <button type="button" className="icon-button" aria-label="Dismiss" onClick={onClose}>
        <CloseIcon />
      </button>
    </div>
  );
}

interface StopProps {
  generation: Generation;
  inputRef: RefObject<HTMLTextAreaElement | null>;
}

/** Stops the answer; the focus goes back to the field, for this button is about to go. */
function StopButton({ generation, inputRef }: StopProps) {
  const { chat } = useClient();
  const stop = () => {
    inputRef.current?.focus();
    void chat.stop(generation.pk);
  };
  return (
    <button type="button" className="round-button stop" aria-label="Stop the answer" onClick={stop}>
      <StopIcon />
    </button>
  );
}
