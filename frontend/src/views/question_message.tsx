// What a person wrote: as it was typed, to be copied or edited into another version.
import { memo, useState } from "react";
import type { Message } from "../api";
import type { Problem } from "../problem";
import { messageText } from "../threads";
import { problemWords } from "../words";
import { useModel } from "./model_picker";
import { useClient } from "./context";
import { CopyButton } from "./copy_button";
import { focusComposer } from "./focus";
import { PencilIcon } from "./icons";
import { QuestionEditor } from "./question_editor";
import { Siblings } from "./siblings";

interface Props {
  pk: string;
  message: Message;
  isLast: boolean;
  isBusy: boolean;
  problem: Problem | undefined;
}

export const QuestionMessage = memo(function QuestionMessage({ pk, message, isBusy, problem }: Props) {
  const { chat } = useClient();
  const [isEditing, setEditing] = useState(false);
  const model = useModel(pk);
  const text = messageText(message);
  const close = () => {
    setEditing(false);
    focusComposer();
  };
  const save = async (changed: string) => {
    if (await chat.edit(pk, message.pk, changed, model)) close();
  };
  return (
    <article className="message question" aria-label="You">
      {isEditing ? (
        <QuestionEditor text={text} isBusy={isBusy} onSave={save} onCancel={close} />
      ) : (
        <div className="bubble" dir="auto">
          {text}
        </div>
      )}
      {problem && <p className="message-problem">{problemWords(problem)}</p>}
      {!isEditing && (
        <div className="message-actions">
          <Siblings pk={pk} message={message} isBusy={isBusy} />
          <CopyButton text={text} label="Copy message" />
          <button
            type="button"
            className="icon-button"
            aria-label="Edit message"
            title="Edit"
            disabled={isBusy}
            onClick={() => setEditing(true)}
          >
            <PencilIcon />
          </button>
        </div>
      )}
    </article>
  );
});
