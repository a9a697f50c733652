// One conversation, or the start of a new one: its head, its messages, the composer.
import { useEffect, useRef, type RefObject } from "react";
import { NEW } from "../drafts";
import { useStore } from "../store";
import { LOADING, runningIn, type Thread } from "../threads";
import { Store } from "../store";
import { Composer } from "./composer";
import { useClient } from "./context";
import { UNTITLED } from "./conversation_item";
import { MenuIcon, PlusIcon } from "./icons";
import { Link } from "./link";
import { MessageList } from "./message_list";
import { Welcome } from "./welcome";

const NOTHING = new Store<Thread>({ ...LOADING, status: "ready" });

interface Props {
  pk: string | null;
  menuButton: RefObject<HTMLButtonElement | null>;
  onMenu: () => void;
}

export function ChatPage({ pk, menuButton, onMenu }: Props) {
  const client = useClient();
  const store = pk === null ? NOTHING : client.chat.thread(pk);
  const thread = useStore(store);
  const title = pk === null ? UNTITLED : thread.conversation?.title || UNTITLED;
  const composer = useRef<HTMLTextAreaElement>(null);
  const running = runningIn(thread);
  useEffect(() => {
    document.title = pk === null ? "Parley" : `${title} · Parley`;
  }, [pk, title]);
  useStopOnEscape(running?.pk ?? null);
  return (
    <>
      <header className="chat-head">
        <button
          type="button"
          ref={menuButton}
          className="icon-button drawer-only"
          aria-label="Open the list of chats"
          onClick={onMenu}
        >
          <MenuIcon />
        </button>
        <h1 dir="auto">{title}</h1>
        <Link to="/" className="icon-button drawer-only" title="New chat">
          <PlusIcon />
          <span className="visually-hidden">New chat</span>
        </Link>
      </header>
      <Body pk={pk} thread={thread} composer={composer} />
      {thread.status !== "missing" && (
        <Composer pk={pk} draftKey={pk ?? NEW} thread={thread} running={running} inputRef={composer} />
      )}
    </>
  );
}

interface BodyProps {
  pk: string | null;
  thread: Thread;
  composer: RefObject<HTMLTextAreaElement | null>;
}

function Body({ pk, thread, composer }: BodyProps) {
  const { chat } = useClient();
  if (pk === null) return <Welcome composer={composer} />;
  switch (thread.status) {
    case "loading":
      return <main className="chat-body loading" aria-busy="true" aria-label="Loading the chat" />;
    case "missing":
      return (
        <main className="chat-body notice">
          <h2>This chat is not here</h2>
          <p>It may have been deleted, or it belongs to another account.</p>
          <Link to="/" className="button primary">
            New chat
          </Link>
        </main>
      );
    case "failed":
      return (
        <main className="chat-body notice">
          <h2>This chat could not be loaded</h2>
          <p>Nothing is lost. Check your connection and try again.</p>
          <button type="button" className="button primary" onClick={() => void chat.load(pk)}>
            Try again
          </button>
        </main>
      );
    case "ready":
      return <MessageList pk={pk} thread={thread} />;
  }
}

/** Esc stops the answer, unless something else took the key (a dialog, a field being edited). */
function useStopOnEscape(generation: string | null): void {
  const { chat } = useClient();
  useEffect(() => {
    if (generation === null) return;
    const stop = (event: KeyboardEvent) => {
      if (event.key !== "Escape" || event.defaultPrevented || document.querySelector("dialog[open]")) return;
      void chat.stop(generation);
    };
    document.addEventListener("keydown", stop);
    return () => document.removeEventListener("keydown", stop);
  }, [chat, generation]);
}
