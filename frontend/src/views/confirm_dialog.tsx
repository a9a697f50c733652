// A question before something that can't be undone. The browser's own dialog keeps the focus inside.
import { useId, useLayoutEffect, useRef, type ReactNode } from "react";

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
  useLayoutEffect(() => {
    const element = dialog.current;
    element?.showModal();
    return () => element?.close(); // gives the focus back to where it was
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
