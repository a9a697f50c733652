// The signed-in page: list of conversations beside the one that is open. On narrow screens the
// list is a drawer over it.
import { useCallback, useEffect, useRef, useState } from "react";
import { ChatPage } from "./chat_page";
import { Connection } from "./connection";
import { Sidebar } from "./sidebar";

export function Shell({ pk }: { pk: string | null }) {
  const [isOpen, setOpen] = useState(false);
  const menuButton = useRef<HTMLButtonElement>(null);
  const close = useCallback(() => {
    setOpen(false);
    menuButton.current?.focus();
  }, []);
  useEffect(() => setOpen(false), [pk]);
  return (
    <div className={isOpen ? "shell drawer-open" : "shell"}>
      <a className="skip-link" href="#composer">
        Skip to the message field
      </a>
      <Sidebar shown={pk} isDrawerOpen={isOpen} onClose={close} />
      {isOpen && <div className="drawer-shade" onClick={close} />}
      <div className="main" inert={isOpen}>
        <Connection />
        <ChatPage key={pk ?? "new"} pk={pk} menuButton={menuButton} onMenu={() => setOpen(true)} />
      </div>
    </div>
  );
}
