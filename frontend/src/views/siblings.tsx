// Switches between the versions of a message.
import type { Message } from "../api";
import { useClient } from "./context";
import { BackIcon, ForthIcon } from "./icons";

export function Siblings({ pk, message, isBusy }: { pk: string; message: Message; isBusy: boolean }) {
  const { chat } = useClient();
  const { siblings } = message;
  if (siblings.length < 2) return null;
  const index = siblings.indexOf(message.pk);
  const button = (step: number, label: string, icon: React.ReactNode) => {
    const target = siblings[index + step];
    return (
      <button
        type="button"
        className="icon-button small"
        aria-label={label}
        disabled={target === undefined || isBusy}
        onClick={() => target && void chat.choose(pk, target)}
      >
        {icon}
      </button>
    );
  };
  return (
    <span className="siblings" role="group" aria-label="Versions">
      {button(-1, "Earlier version", <BackIcon />)}
      <span>
        <span className="visually-hidden">Version </span>
        {index + 1}/{siblings.length}
      </span>
      {button(1, "Later version", <ForthIcon />)}
    </span>
  );
}
