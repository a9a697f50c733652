// The reader rule: one event of an answer's log and the state so far give the next state.
// Pure: no sockets, no clock, no DOM. Python has the same rule; both pass tests/vectors/reader.json.

export interface TextPart {
  type: "text";
  text: string;
}

export interface Usage {
  prompt_tokens: number;
  completion_tokens: number;
}

export interface Done {
  type: "done";
  state: "complete" | "stopped" | "failed" | "blocked";
  length: number;
  finish_reason?: string | null;
  usage?: Usage | null;
  error_code?: string | null;
}

export type AnswerEvent =
  | { type: "open"; keep: number; why?: string }
  | { type: "snapshot"; parts: TextPart[] }
  | { type: "delta"; part: number; text: string }
  | Done;

/** One numbered event: `from` is the first n it covers, when it covers several. */
export interface Numbered {
  id: string;
  from?: number;
  event: AnswerEvent;
}

export interface Position {
  attempt: number;
  n: number;
}

export interface ReaderState {
  last: Position | null;
  parts: readonly string[];
  done: Done | null;
}

export type Action = "add" | "replace" | "cut" | "drop" | "gap" | "end";

export interface Step {
  action: Action;
  state: ReaderState;
  /** After `end`: the text here is not the final one, fetch the message. */
  needsFetch: boolean;
}

export const EMPTY: ReaderState = { last: null, parts: [], done: null };

/** The text over all parts. */
export function textOf(state: ReaderState): string {
  return state.parts.join("");
}

/** Unicode code points, as the server counts them (not UTF-16 units). */
export function codePoints(text: string): number {
  let count = 0;
  for (const _ of text) count += 1;
  return count;
}

/** The id to subscribe `after`, null before the first event. */
export function lastId(state: ReaderState): string | null {
  return state.last === null ? null : `${state.last.attempt}-${state.last.n}`;
}

/** Takes one event; on `gap` and `drop` the state is the one given. */
export function take(state: ReaderState, numbered: Numbered): Step {
  const at = parseId(numbered.id);
  if (state.done !== null || (state.last !== null && !isAfter(at, state.last))) {
    return step("drop", state);
  }
  const event = numbered.event;
  switch (event.type) {
    case "snapshot":
      return step("replace", { last: at, parts: event.parts.map((part) => part.text), done: null });
    case "open":
      return open(state, at, event.keep);
    case "delta":
      return delta(state, at, numbered.from ?? at.n, event);
    case "done":
      return end(state, at, event);
    default:
      return step("gap", state);
  }
}

function open(state: ReaderState, at: Position, keep: number): Step {
  const startsMidway = state.last === null && at.n !== 0;
  if (startsMidway || codePoints(textOf(state)) < keep) return step("gap", state);
  return step("cut", { last: at, parts: cut(state.parts, keep), done: null });
}

function delta(state: ReaderState, at: Position, from: number, event: { part: number; text: string }): Step {
  const follows =
    state.last === null ? from === 0 : state.last.attempt === at.attempt && from === state.last.n + 1;
  if (!follows) return step("gap", state);
  const parts = [...state.parts];
  while (parts.length <= event.part) parts.push("");
  parts[event.part] += event.text;
  return step("add", { last: at, parts, done: null });
}

function end(state: ReaderState, at: Position, done: Done): Step {
  if (done.state === "blocked") return step("end", { last: at, parts: [], done });
  const needsFetch = codePoints(textOf(state)) !== done.length;
  return { action: "end", state: { last: at, parts: state.parts, done }, needsFetch };
}

function cut(parts: readonly string[], keep: number): string[] {
  const kept: string[] = [];
  let left = keep;
  for (const part of parts) {
    if (left <= 0) break;
    const points = Array.from(part);
    kept.push(points.length <= left ? part : points.slice(0, left).join(""));
    left -= points.length;
  }
  return kept;
}

function parseId(id: string): Position {
  const [attempt, n] = id.split("-").map(Number);
  return { attempt: attempt ?? NaN, n: n ?? NaN };
}

function isAfter(one: Position, other: Position): boolean {
  return one.attempt > other.attempt || (one.attempt === other.attempt && one.n > other.n);
}

function step(action: Action, state: ReaderState): Step {
  return { action, state, needsFetch: false };
}
