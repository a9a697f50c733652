// One conversation of the list: open it, rename it in place, delete it after a question.
import { useEffect, useRef, useState, type KeyboardEvent } from "react";
import { announce } from "../announcer";
import type { Conversation } from "../api";
import { problemOf } from "../problem";
import { chatPath, go } from "../router";
import { problemWords } from "../words";
import { useClient } from "./context";
import { ConfirmDialog } from "./confirm_dialog";
import { BinIcon, PencilIcon } from "./icons";
import { Link } from "./link";

interface Props {
  item: Conversation;
  isCurrent: boolean;
  onGo: () => void;
}

/** What an untitled conversation is called. */
export const UNTITLED = "New chat";

export function ConversationItem({ item, isCurrent, onGo }: Props) {
  const [mode, setMode] = useState<"shown" | "renaming" | "deleting">("shown");
  const renameButton = useRef<HTMLButtonElement>(null);
  const givesFocusBack = useRef(false);
  useEffect(() => {
    if (mode === "shown" && givesFocusBack.current) renameButton.current?.focus();
    givesFocusBack.current = false;
  }, [mode]);
  const renamed = (byKey: boolean) => {
    givesFocusBack.current = byKey;
    setMode("shown");
  };
  const title = item.title || UNTITLED;
  if (mode === "renaming") return <Renaming item={item} onEnd={renamed} />;
  return (
    <li className={isCurrent ? "conversation current" : "conversation"}>
      <Link to={chatPath(item.pk)} isCurrent={isCurrent} title={title} onGo={onGo}>
        <span dir="auto">{title}</span>
      </Link>
      <span className="conversation-actions">
        <button
          type="button"
          ref={renameButton}
          className="icon-button"
          aria-label={`Rename ${title}`}
          title="Rename"
          onClick={() => setMode("renaming")}
        >
          <PencilIcon />
        </button>
        <button
          type="button"
          className="icon-button"
          aria-label={`Delete ${title}`}
          title="Delete"
          onClick={() => setMode("deleting")}
        >
          <BinIcon />
        </button>
      </span>
      {mode === "deleting" && <Deleting item={item} isCurrent={isCurrent} onEnd={() => setMode("shown")} />}
    </li>
  );
}

function Renaming({ item, onEnd }: { item: Conversation; onEnd: (byKey: boolean) => void }) {
  const client = useClient();
  const [title, setTitle] = useState(item.title || UNTITLED);
  const isOver = useRef(false); // leaving the field by a key takes the focus away as well
  const end = (byKey: boolean) => {
    isOver.current = true;
    onEnd(byKey);
  };
  const save = async (byKey: boolean) => {
    if (isOver.current) return;
    const wanted = title.trim();
    end(byKey);
    if (wanted === "" || wanted === item.title) return;
    try {
      client.chat.retitled(await client.conversations.rename(item.pk, wanted));
    } catch (error) {
      announce(problemWords(problemOf(error)));
    }
  };
  const onKey = (event: KeyboardEvent) => {
    if (event.key !== "Escape" && (event.key !== "Enter" || event.nativeEvent.isComposing)) return;
    event.preventDefault(); // else the same key would press the button that the focus goes back to
    if (event.key === "Enter") void save(true);
    else end(true);
  };
  return (
    <li className="conversation renaming">
      <input
        aria-label="Title of the chat"
        autoFocus
        maxLength={200}
        dir="auto"
        value={title}
        onFocus={(event) => event.target.select()}
        onChange={(event) => setTitle(event.target.value)}
        onKeyDown={onKey}
        onBlur={() => void save(false)}
      />
    </li>
  );
}

function Deleting({ item, isCurrent, onEnd }: { item: Conversation; isCurrent: boolean; onEnd: () => void }) {
  const { conversations, drafts } = useClient();
  const [error, setError] = useState<string | null>(null);
  const remove = async () => {
    try {
      await conversations.remove(item.pk);
      drafts.clear(item.pk);
      announce("Chat deleted");
      if (isCurrent) go("/", true);
    } catch (thrown) {
      setError(problemWords(problemOf(thrown)));
    }
  };
  return (
    <ConfirmDialog title="Delete this chat?" action="Delete" error={error} onConfirm={remove} onCancel={onEnd}>
      <strong dir="auto">{item.title || UNTITLED}</strong> and all its messages will be gone for good.
    </ConfirmDialog>
  );
}
