// A question before something that can't be undone. The browser's own dialog keeps the focus inside.
import { useEffect, useId, useRef, type ReactNode } from "react";

interface Props {
  title: string;
  action: string;
  children: ReactNode;
  error: string | null;
  onConfirm: () => Promise<void>;
  onCancel: () => void;
}

export function ConfirmDialog({ title, action, children, error, onConfirm, onCancel }: Props) {
  const dialog = useRef<HTMLDialogElement>(null);
  const titleId = useId();
  useEffect(() => {
    if (!dialog.current?.open) dialog.current?.showModal();
  }, []);
  return (
    <dialog
      ref={dialog}
      className="dialog"
      aria-labelledby={titleId}
      onCancel={(event) => {
        event.preventDefault();
        onCancel();
      }}
    >
      <h2 id={titleId}>{title}</h2>
      <p>{children}</p>
      {error && <p className="form-error">{error}</p>}
      <div className="dialog-actions">
        <button type="button" className="button" autoFocus onClick={onCancel}>
          Cancel
        </button>
        <button type="button" className="button danger" onClick={() => void onConfirm()}>
          {action}
        </button>
      </div>
    </dialog>
  );
}
