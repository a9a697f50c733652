// Events into texts: once a frame, gaps healed, acks only for what was folded.
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { Answers, type Answer } from "../src/answers";
import type { AnswerEvent } from "../src/reader";

let lines: unknown[];
let acked: [number, number][];
let first: string[];
let ended: { answer: Answer; needsFetch: boolean }[];
let stuck: number;
let frames: (() => void)[];
let answers: Answers;
let seq: number;

beforeEach(() => {
  vi.useFakeTimers();
  [lines, acked, first, ended, stuck, frames, seq] = [[], [], [], [], 0, [], 0];
  answers = new Answers(
    {
      subscribe: (generation, after) => lines.push([generation, after]),
      rendered: (upTo, connection) => acked.push([upTo, connection]),
    },
    {
      onFirst: (answer) => first.push(answer.generation),
      onEnd: (answer, needsFetch) => ended.push({ answer, needsFetch }),
      onStuck: () => (stuck += 1),
    },
    (work) => frames.push(work),
  );
});

afterEach(() => {
  answers.dispose();
  vi.useRealTimers();
});

function event(generation: string, id: string, payload: AnswerEvent, from?: number): void {
  seq += 1;
  answers.event({ type: "event", generation, seq, id, from, event: payload }, 1);
}
const open = (keep: number): AnswerEvent => ({ type: "open", keep });
const delta = (text: string): AnswerEvent => ({ type: "delta", part: 0, text });
const done = (length: number): AnswerEvent => ({ type: "done", state: "complete", length });
const paint = () => frames.splice(0).forEach((work) => work());
const text = (generation: string) => answers.find(generation)?.get().text;

describe("Answers", () => {
  it("folds all events of a frame at once, tells watchers once, and acknowledges then", () => {
    answers.watch("g", "m", true);
    let told = 0;
    answers.find("g")!.subscribe(() => (told += 1));
    event("g", "1-0", open(0));
    event("g", "1-1", delta("Hel"));
    event("g", "1-2", delta("lo"));
    expect(text("g")).toBeNull();
    expect(acked).toEqual([]);
    paint();
    expect([text("g"), told, acked]).toEqual(["Hello", 1, [[3, 1]]]);
    expect(first).toEqual(["g"]);
  });

  it("subscribes from the start unless the server did", () => {
    answers.watch("g1", "m", false);
    answers.watch("g2", "m", true);
    expect(lines).toEqual([["g1", null]]);
  });

  it("keeps events that come before it knows whose they are", () => {
    event("g", "1-0", open(0));
    event("g", "1-1", delta("early"));
    paint();
    answers.watch("g", "m", true);
    paint();
    expect(text("g")).toBe("early");
  });

  it("keeps two answers apart", () => {
    answers.watch("g1", "m1", true);
    answers.watch("g2", "m2", true);
    event("g1", "1-0", open(0));
    event("g2", "1-0", open(0));
    event("g1", "1-1", delta("one"));
    event("g2", "1-1", delta("two"));
    paint();
    expect([text("g1"), text("g2")]).toEqual(["one", "two"]);
  });

  it("reads again once from the last id on a gap, and goes on when it is filled", () => {
    answers.watch("g", "m", true);
    event("g", "1-0", open(0));
    event("g", "1-1", delta("a"));
    event("g", "1-3", delta("c"));
    paint();
    event("g", "1-4", delta("d"));
    paint();
    expect(lines).toEqual([["g", "1-1"]]);
    expect(text("g")).toBe("a");
    event("g", "1-4", delta("bcd"), 2);
    paint();
    expect(text("g")).toBe("abcd");
    vi.advanceTimersByTime(60_000);
    expect(lines).toHaveLength(1);
  });

  it("reads again while a gap stays, then asks how the answer stands", () => {
    answers.watch("g", "m", true);
    event("g", "1-5", delta("x"));
    paint();
    expect([lines.length, stuck]).toEqual([1, 0]);
    vi.advanceTimersByTime(1_000);
    vi.advanceTimersByTime(2_000);
    expect([lines.length, stuck]).toEqual([3, 0]);
    vi.advanceTimersByTime(3_000);
    expect([lines.length, stuck]).toEqual([4, 1]);
  });

  it("gives for a new connection what is not over, from what was taken", () => {
    answers.watch("g1", "m1", true);
    answers.watch("g2", "m2", true);
    answers.watch("g3", "m3", true);
    event("g1", "1-0", open(0));
    event("g1", "1-1", delta("a"));
    event("g2", "1-0", done(0));
    paint();
    event("g1", "1-2", delta("not folded yet"));
    answers.stopping("g3");
    expect([...answers.watched()]).toEqual([
      { generation: "g1", after: "1-1", isStopping: false },
      { generation: "g3", after: null, isStopping: true },
    ]);
    paint();
    expect(text("g1")).toBe("a");
  });

  it("says once that an answer ended, and whether its text may differ", () => {
    answers.watch("g", "m", true);
    event("g", "1-0", open(0));
    event("g", "1-1", delta("abc"));
    event("g", "1-2", done(5));
    event("g", "1-2", done(5));
    paint();
    expect(ended).toHaveLength(1);
    expect(ended[0]).toMatchObject({ needsFetch: true, answer: { text: "abc", done: { state: "complete" } } });
  });

  it("shows the place only until the first event", () => {
    answers.watch("g", "m", true);
    answers.place("g", 2);
    expect(answers.find("g")?.get().place).toBe(2);
    event("g", "1-0", open(0));
    paint();
    answers.place("g", 1);
    expect(answers.find("g")?.get().place).toBeNull();
  });
});
