// The conversations, by the day they last changed, and the account below them.
import { useEffect, useRef } from "react";
import { announce } from "../announcer";
import type { Conversation } from "../api";
import { days } from "../days";
import { problemOf } from "../problem";
import * as session from "../session";
import { useStore } from "../store";
import { problemWords } from "../words";
import { useClient } from "./context";
import { ConversationItem } from "./conversation_item";
import { CloseIcon, LeaveIcon, Mark, PlusIcon } from "./icons";
import { Link } from "./link";

async function logOut(): Promise<void> {
  try {
    await session.logOut();
  } catch (error) {
    announce(problemWords(problemOf(error)));
  }
}

interface Props {
  shown: string | null;
  isDrawerOpen: boolean;
  onClose: () => void;
}

export function Sidebar({ shown, isDrawerOpen, onClose }: Props) {
  const client = useClient();
  const closeButton = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    if (!isDrawerOpen) return;
    closeButton.current?.focus();
    const closeOnEscape = (event: KeyboardEvent) => {
      if (event.key !== "Escape" || event.defaultPrevented) return;
      event.preventDefault();
      onClose();
    };
    window.addEventListener("keydown", closeOnEscape, true);
    return () => window.removeEventListener("keydown", closeOnEscape, true);
  }, [isDrawerOpen, onClose]);
  return (
    <aside className="sidebar">
      <div className="sidebar-head">
        <Link to="/" className="brand" onGo={onClose}>
          <Mark />
          <span>Parley</span>
        </Link>
        <button
          type="button"
          ref={closeButton}
          className="icon-button drawer-only"
          aria-label="Close the list"
          onClick={onClose}
        >
          <CloseIcon />
        </button>
      </div>
      <Link to="/" className="button new-chat" isCurrent={shown === null} onGo={onClose}>
        <PlusIcon /> New chat
      </Link>
      <ConversationNav shown={shown} onGo={onClose} />
      <div className="account">
        <span className="account-email" title={client.me.email}>
          {client.me.email}
        </span>
        <button
          type="button"
          className="icon-button"
          aria-label="Log out"
          title="Log out"
          onClick={() => void logOut()}
        >
          <LeaveIcon />
        </button>
      </div>
    </aside>
  );
}

function ConversationNav({ shown, onGo }: { shown: string | null; onGo: () => void }) {
  const { conversations } = useClient();
  const { status, items, next, isLoadingMore } = useStore(conversations.list);
  return (
    <nav className="conversations" aria-label="Chats">
      {status === "ready" && items.length === 0 && <p className="aside-note">Your chats will be listed here.</p>}
      {status === "failed" && (
        <p className="aside-note">
          The list could not be loaded.{" "}
          <button type="button" className="text-button" onClick={() => void conversations.load()}>
            Try again
          </button>
        </p>
      )}
      {days(items, new Date()).map(([day, ofDay]) => (
        <Day key={day} day={day} items={ofDay} shown={shown} onGo={onGo} />
      ))}
      {next !== null && (
        <button
          type="button"
          className="text-button more"
          aria-busy={isLoadingMore}
          onClick={() => void conversations.more()}
        >
          {isLoadingMore ? "Loading…" : "Show more"}
        </button>
      )}
    </nav>
  );
}

interface DayProps {
  day: string;
  items: Conversation[];
  shown: string | null;
  onGo: () => void;
}

function Day({ day, items, shown, onGo }: DayProps) {
  return (
    <section>
      <h2>{day}</h2>
      <ul>
        {items.map((item) => (
          <ConversationItem key={item.pk} item={item} isCurrent={item.pk === shown} onGo={onGo} />
        ))}
      </ul>
    </section>
  );
}
