// One branch of a conversation as the page holds it, and the pure changes to it.
// No requests and no socket here: chat.ts does those and puts the results in by these.
import { isOver, type Conversation, type Generation, type Message, type Page } from "./api";
import type { Answer } from "./answers";
import type { Problem } from "./problem";
import type { Accepted, TurnFrame } from "./wire";

export interface Thread {
  status: "loading" | "ready" | "missing" | "failed";
  conversation: Conversation | null;
  /** The branch, oldest first, from the oldest one loaded to the leaf. */
  messages: readonly Message[];
  older: string | null;
  isLoadingOlder: boolean;
  /** What went wrong with an action on a message, by its pk. */
  problems: Readonly<Record<string, Problem>>;
  /** Messages with an action under way. */
  busy: readonly string[];
}

export const LOADING: Thread = {
  status: "loading",
  conversation: null,
  messages: [],
  older: null,
  isLoadingOlder: false,
  problems: {},
  busy: [],
};

/** The message at the end of the branch, null while there is none. */
export function leafOf(thread: Thread): Message | null {
  return thread.messages.at(-1) ?? null;
}

/** The generation that is being made at the end of the branch, null when there is none. */
export function runningIn(thread: Thread): Generation | null {
  const generation = leafOf(thread)?.generation ?? null;
  return generation !== null && !isOver(generation.state) ? generation : null;
}

/** The text of a message over all parts. */
export function messageText(message: Message): string {
  return message.parts.map((part) => part.text).join("");
}

/** A newest page as the branch; older messages here already are kept where it goes on from them. */
export function joined(thread: Thread, page: Page<Message>): Pick<Thread, "messages" | "older"> {
  const first = page.results[0]?.pk;
  const index = thread.messages.findIndex((message) => message.pk === first);
  if (index <= 0) return { messages: page.results, older: page.next };
  return { messages: [...thread.messages.slice(0, index), ...page.results], older: thread.older };
}

/** The messages after an accepted turn, or null when they no longer are what the turn was about. */
export function afterTurn(
  messages: readonly Message[],
  frame: TurnFrame,
  accepted: Accepted,
  now: string,
): readonly Message[] | null {
  if (messages.some((message) => message.generation?.pk === accepted.generation)) return messages;
  switch (frame.type) {
    case "send":
      if ((messages.at(-1)?.pk ?? null) !== frame.parent) return null;
      return [...messages, ...asked(frame.parent, frame.text, accepted, now, [])];
    case "edit":
      return replaceFrom(messages, frame.message, (old) =>
        asked(old.parent, frame.text, accepted, now, old.siblings),
      );
    case "regenerate":
      return replaceFrom(messages, frame.message, (old) => [
        answering(old.parent, accepted, now, old.siblings),
      ]);
    case "continue":
      return messages.map((message) =>
        message.pk === frame.message ? { ...message, generation: queued(accepted, now) } : message,
      );
  }
}

/** The messages with the end of an answer written in, as the server has it too. */
export function afterEnd(messages: readonly Message[], answer: Answer, now: string): readonly Message[] {
  const { done } = answer;
  if (done === null) return messages;
  return messages.map((message) => {
    const generation = message.generation;
    if (generation?.pk !== answer.generation || isOver(generation.state)) return message;
    const text = done.state === "blocked" ? "" : (answer.text ?? messageText(message));
    return {
      ...message,
      parts: [{ type: "text", text }],
      generation: {
        ...generation,
        state: done.state,
        finish_reason: done.finish_reason ?? null,
        error_code: done.error_code ?? null,
        usage: done.usage ?? null,
        finished_at: now,
      },
    };
  });
}

function replaceFrom(
  messages: readonly Message[],
  pk: string,
  fresh: (old: Message) => Message[],
): readonly Message[] | null {
  const index = messages.findIndex((message) => message.pk === pk);
  const old = messages[index];
  return old === undefined ? null : [...messages.slice(0, index), ...fresh(old)];
}

function asked(
  parent: string | null,
  text: string,
  accepted: Accepted,
  now: string,
  siblings: readonly string[],
): Message[] {
  if (accepted.message === null) return [answering(parent, accepted, now, [])];
  const question: Message = {
    pk: accepted.message,
    conversation: accepted.conversation,
    parent,
    role: "user",
    parts: [{ type: "text", text }],
    created_at: now,
    siblings: [...siblings, accepted.message],
    generation: null,
  };
  return [question, answering(accepted.message, accepted, now, [])];
}

function answering(
  parent: string | null,
  accepted: Accepted,
  now: string,
  siblings: readonly string[],
): Message {
  return {
    pk: accepted.answer,
    conversation: accepted.conversation,
    parent,
    role: "assistant",
    parts: [],
    created_at: now,
    siblings: [...siblings, accepted.answer],
    generation: queued(accepted, now),
  };
}

/** The generation as far as it is known; its events tell the rest. */
function queued(accepted: Accepted, now: string): Generation {
  return {
    pk: accepted.generation,
    message: accepted.answer,
    state: accepted.state,
    model: accepted.model,
    finish_reason: null,
    error_code: null,
    usage: null,
    created_at: now,
    finished_at: null,
  };
}
