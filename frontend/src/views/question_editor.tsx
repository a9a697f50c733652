// Edits a message that was sent: saving makes another version, the old one stays.
import { useRef, useState, type KeyboardEvent } from "react";
import { useGrowing } from "./growing";

interface Props {
  text: string;
  isBusy: boolean;
  onSave: (text: string) => Promise<void>;
  onCancel: () => void;
}

export function QuestionEditor({ text, isBusy, onSave, onCancel }: Props) {
  const [changed, setChanged] = useState(text);
  const input = useRef<HTMLTextAreaElement>(null);
  useGrowing(input, changed);
  const canSave = changed.trim() !== "" && !isBusy;
  const save = () => {
    if (canSave) void onSave(changed.trim());
  };
  const onKey = (event: KeyboardEvent) => {
    if (event.key === "Escape") {
      event.preventDefault();
      onCancel();
    }
    if (event.key === "Enter" && !event.shiftKey && !event.nativeEvent.isComposing) {
      event.preventDefault();
      save();
    }
  };
  return (
    <div className="editor">
      <textarea
        ref={input}
        aria-label="Edit message"
        autoFocus
        dir="auto"
        rows={1}
        value={changed}
        readOnly={isBusy}
        onFocus={(event) => event.target.setSelectionRange(changed.length, changed.length)}
        onChange={(event) => setChanged(event.target.value)}
        onKeyDown={onKey}
      />
      <div className="editor-actions">
        <button type="button" className="button" onClick={onCancel}>
          Cancel
        </button>
        <button type="button" className="button primary" disabled={!canSave} onClick={save}>
          Send
        </button>
      </div>
    </div>
  );
}
