// What a new chat shows before its first message.
import type { RefObject } from "react";
import { NEW } from "../drafts";
import { useClient } from "./context";
import { Mark } from "./icons";

const IDEAS = [
  "Explain how a heat pump works, simply",
  "Draft a kind reply that says no",
  "Find the bug in a piece of code",
  "Plan three dinners from what is in the fridge",
];

export function Welcome({ composer }: { composer: RefObject<HTMLTextAreaElement | null> }) {
  const { drafts } = useClient();
  const begin = (idea: string) => {
    drafts.type(NEW, idea);
    composer.current?.focus(); // also on touch screens: the next thing is to send or change it
  };
  return (
    <main className="chat-body welcome">
      <Mark />
      <h2>What shall we talk about?</h2>
      <ul className="ideas">
        {IDEAS.map((idea) => (
          <li key={idea}>
            <button type="button" onClick={() => begin(idea)}>
              {idea}
            </button>
          </li>
        ))}
      </ul>
    </main>
  );
}
