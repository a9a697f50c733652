// The chat store between a socket and a REST server that the test plays.
import { beforeEach, describe, expect, it, vi } from "vitest";
import { Answers } from "../src/answers";
import { Chat } from "../src/chat";
import { Conversations } from "../src/conversations";
import { Drafts, NEW } from "../src/drafts";
import type { AnswerEvent } from "../src/reader";
import { leafOf, messageText, runningIn } from "../src/threads";
import type { Accepted, TurnFrame, TurnResult } from "../src/wire";
import { answer, conversation, FakeServer, generation, NOW, question } from "./fake_server";

let server: FakeServer;
let turns: { frame: TurnFrame; reply: (result: TurnResult) => void }[];
let stops: string[];
let hasSocket: boolean;
let subscribed: string[];
let paint: () => void;
let drafts: Drafts;
let chat: Chat;
let answers: Answers;
let seq: number;

beforeEach(() => {
  window.localStorage.clear();
  server = new FakeServer();
  [turns, stops, hasSocket, subscribed, seq] = [[], [], true, [], 0];
  const works: (() => void)[] = [];
  paint = () => works.splice(0).forEach((work) => work());
  drafts = new Drafts("me", window.localStorage);
  const line = {
    turn: (frame: TurnFrame) => new Promise<TurnResult>((reply) => turns.push({ frame, reply })),
    stop: (pk: string) => (stops.push(pk), hasSocket),
  };
  chat = new Chat(line, () => answers, new Conversations(), drafts, () => NOW);
  answers = new Answers(
    { subscribe: (pk, after) => subscribed.push(`${pk}@${after}`), rendered: () => undefined },
    {
      onFirst: () => undefined,
      onEnd: (ended, needsFetch) => chat.ended(ended, needsFetch),
      onStuck: (stuck) => void chat.stuck(stuck),
    },
    (work) => works.push(work),
  );
});

function accepted(change: Partial<Accepted>): TurnResult {
  const base = { conversation: "c", message: null, answer: "a2", generation: "g2", model: "small", state: "queued" as const };
  return { ok: true, accepted: { ...base, events: "/e", ...change } };
}

function event(pk: string, id: string, payload: AnswerEvent): void {
  answers.event({ type: "event", generation: pk, seq: (seq += 1), id, event: payload }, 1);
}

/** Streams a whole answer. */
function stream(pk: string, text: string, end: Partial<AnswerEvent & { type: "done" }> = {}): void {
  event(pk, "1-0", { type: "open", keep: 0 });
  event(pk, "1-1", { type: "delta", part: 0, text });
  event(pk, "1-2", { type: "done", state: "complete", length: text.length, ...end } as AnswerEvent);
  paint();
}

async function opened() {
  const store = chat.thread("c");
  await vi.waitFor(() => expect(store.get().status).toBe("ready"));
  return store;
}

const texts = () => chat.thread("c").get().messages.map(messageText);
const pks = () => chat.thread("c").get().messages.map((message) => message.pk);

describe("send", () => {
  it("keeps the draft until the turn is accepted, then shows it and reads the answer", async () => {
    server.conversations.set("c", conversation("c"));
    drafts.type(NEW, "  Hello ");
    const sent = chat.send(NEW, null, null);
    expect(turns[0]?.frame).toMatchObject({ type: "send", conversation: null, parent: null, text: "Hello" });
    expect(drafts.of(NEW).get().text).toBe("  Hello ");
    turns[0]!.reply(accepted({ message: "u1", answer: "a1", generation: "g1" }));
    expect(await sent).toBe("c");
    expect(drafts.of(NEW).get().text).toBe("");
    expect(texts()).toEqual(["Hello", ""]);
    expect(runningIn(chat.thread("c").get())?.pk).toBe("g1");
    stream("g1", "Hi there");
    expect(texts()).toEqual(["Hello", "Hi there"]);
    expect(leafOf(chat.thread("c").get())?.generation).toMatchObject({ state: "complete", finished_at: NOW });
  });

  it("names the leaf that is shown as parent", async () => {
    server.show("c", [question("u1", null, "Q"), answer("a1", "u1", "A", generation("g1", "complete"))]);
    await opened();
    drafts.type("c", "next");
    void chat.send("c", "c", "big");
    expect(turns[0]?.frame).toMatchObject({ conversation: "c", parent: "a1", model: "big" });
  });

  it("keeps the text and says why when it is refused; the next try is another turn", async () => {
    drafts.type(NEW, "Hello");
    const sent = chat.send(NEW, null, null);
    const problem = { title: "Too many", status: 429, code: "rate_limited", retry_after_s: 4 };
    turns[0]!.reply({ ok: false, problem });
    expect(await sent).toBeNull();
    expect(drafts.of(NEW).get().text).toBe("Hello");
    expect(chat.sending(NEW).get()).toEqual({ isBusy: false, problem });
    void chat.send(NEW, null, null);
    expect(turns[1]!.frame.client_id).not.toBe(turns[0]!.frame.client_id);
  });

  it("sends once while an answer to it is awaited", () => {
    drafts.type(NEW, "Hello");
    void chat.send(NEW, null, null);
    void chat.send(NEW, null, null);
    expect(turns).toHaveLength(1);
  });

  it("sends with the same client_id after a reload, and with another for another text", () => {
    drafts.type(NEW, "Hello");
    void chat.send(NEW, null, null);
    const reloaded = new Drafts("me", window.localStorage);
    expect(reloaded.of(NEW).get().text).toBe("Hello");
    expect(reloaded.clientId(NEW, null, null)).toBe(turns[0]!.frame.client_id);
    reloaded.type(NEW, "Hello!");
    expect(reloaded.clientId(NEW, null, null)).not.toBe(turns[0]!.frame.client_id);
  });

  it("forgets a draft that was accepted while nobody listened", async () => {
    drafts.type("c", "Hello");
    drafts.clientId("c", null, null);
    server.show("c", [question("u1", null, "Hello"), answer("a1", "u1", "A", generation("g1", "complete"))]);
    await opened();
    expect(drafts.of("c").get().text).toBe("");
  });

  it("loads the branch when the turn had ended before its answer came", async () => {
    server.show("c", [question("u1", null, "Hello"), answer("a1", "u1", "All of it", generation("g1", "complete"))]);
    drafts.type(NEW, "Hello");
    void chat.send(NEW, null, null);
    turns[0]!.reply(accepted({ message: "u1", answer: "a1", generation: "g1", state: "complete" }));
    await vi.waitFor(() => expect(texts()).toEqual(["Hello", "All of it"]));
  });
});

describe("a conversation that is opened", () => {
  it("reads on an answer that is still being made, from its start", async () => {
    server.show("c", [question("u1", null, "Q"), answer("a1", "u1", "par", generation("g1", "running"))]);
    await opened();
    expect(subscribed).toEqual(["g1@null"]);
    stream("g1", "partial, then whole");
    expect(texts()).toEqual(["Q", "partial, then whole"]);
  });

  it("is missing when it is not there, and failed when the server is away", async () => {
    const store = chat.thread("gone");
    await vi.waitFor(() => expect(store.get().status).toBe("missing"));
    server.isDown = true;
    const other = chat.thread("c");
    await vi.waitFor(() => expect(other.get().status).toBe("failed"));
  });

  it("puts older pages before what is there, by a path of this origin", async () => {
    const older = "http://inner:8000/api/v1/conversations/c/messages?leaf=a0";
    server.branches.set("a0", {
      results: [question("u0", null, "Q0"), answer("a0", "u0", "A0", generation("g0", "complete"))],
      next: null,
    });
    server.show("c", [question("u1", "a0", "Q"), answer("a1", "u1", "A", generation("g1", "complete"))], older);
    const store = await opened();
    await chat.loadOlder("c");
    expect(pks()).toEqual(["u0", "a0", "u1", "a1"]);
    expect(store.get().older).toBeNull();
    expect(server.requests).toContain("GET /api/v1/conversations/c/messages?leaf=a0");
  });
});

describe("versions", () => {
  beforeEach(async () => {
    server.show("c", [question("u1", null, "Q"), answer("a1", "u1", "A", generation("g1", "failed"))]);
    await opened();
  });

  it("regenerates: the new answer takes the place of the old one, as its sibling", async () => {
    const asked = chat.regenerate("c", "a1", null);
    expect(turns[0]?.frame).toMatchObject({ type: "regenerate", message: "a1" });
    expect(chat.thread("c").get().busy).toEqual(["a1"]);
    turns[0]!.reply(accepted({}));
    expect(await asked).toBe(true);
    expect(pks()).toEqual(["u1", "a2"]);
    expect(leafOf(chat.thread("c").get())?.siblings).toEqual(["a1", "a2"]);
    expect(chat.thread("c").get().busy).toEqual([]);
  });

  it("edits: another question, and an answer to it", async () => {
    const asked = chat.edit("c", "u1", "Q2", null);
    turns[0]!.reply(accepted({ message: "u2" }));
    await asked;
    expect(texts()).toEqual(["Q2", ""]);
    expect(chat.thread("c").get().messages[0]?.siblings).toEqual(["u1", "u2"]);
  });

  it("says at the message why an action was refused, until it is tried again", async () => {
    const asked = chat.regenerate("c", "a1", null);
    turns[0]!.reply({ ok: false, problem: { title: "Busy", status: 503, code: "overloaded" } });
    expect(await asked).toBe(false);
    expect(chat.thread("c").get().problems.a1?.code).toBe("overloaded");
    expect(pks()).toEqual(["u1", "a1"]);
    void chat.regenerate("c", "a1", null);
    expect(chat.thread("c").get().problems).toEqual({});
  });

  it("switches by the leaf on the server, and shows the branch that it gives", async () => {
    server.branches.set("a2", {
      results: [question("u1", null, "Q"), answer("a2", "u1", "B", generation("g2", "complete"), ["a1", "a2"])],
      next: null,
    });
    await chat.choose("c", "a2");
    expect(server.requests).toContain("PATCH /api/v1/conversations/c");
    expect(texts()).toEqual(["Q", "B"]);
  });
});

describe("the end of an answer", () => {
  async function running() {
    server.show("c", [question("u1", null, "Q"), answer("a1", "u1", "", generation("g1", "running"))]);
    await opened();
  }

  it("fetches the message when the length differs", async () => {
    await running();
    server.messages.set("a1", answer("a1", "u1", "the whole text", generation("g1", "complete")));
    stream("g1", "the", { length: 14 });
    await vi.waitFor(() => expect(texts()).toEqual(["Q", "the whole text"]));
  });

  it("shows no text of a blocked answer", async () => {
    await running();
    stream("g1", "bad", { state: "blocked", length: 0 });
    expect(texts()).toEqual(["Q", ""]);
    expect(leafOf(chat.thread("c").get())?.generation?.state).toBe("blocked");
  });

  it("keeps the text and the code of a failed one", async () => {
    await running();
    stream("g1", "part", { state: "failed", error_code: "interrupted" });
    expect(texts()).toEqual(["Q", "part"]);
    expect(leafOf(chat.thread("c").get())?.generation).toMatchObject({ state: "failed", error_code: "interrupted" });
  });

  it("goes on with a stopped one in the same message, from the text that stands", async () => {
    await running();
    await chat.stop("g1");
    expect(stops).toEqual(["g1"]);
    stream("g1", "first", { state: "stopped" });
    const asked = chat.resume("c", "a1");
    turns[0]!.reply(accepted({ answer: "a1" }));
    await asked;
    expect(texts()).toEqual(["Q", "first"]);
    event("g2", "1-0", { type: "snapshot", parts: [{ type: "text", text: "first" }] });
    event("g2", "1-1", { type: "delta", part: 0, text: " second" });
    event("g2", "1-2", { type: "done", state: "complete", length: 12 });
    paint();
    expect(pks()).toEqual(["u1", "a1"]);
    expect(texts()).toEqual(["Q", "first second"]);
  });

  it("is asked for by REST when there is no socket to stop over", async () => {
    await running();
    hasSocket = false;
    await chat.stop("g1");
    expect(server.requests).toContain("POST /api/v1/generations/g1/stop");
    expect(answers.find("g1")?.get().isStopping).toBe(true);
  });

  it("is not undone by a page that was read before it", async () => {
    await running();
    stream("g1", "all of it");
    await chat.changed("c");
    expect(texts()).toEqual(["Q", "all of it"]);
    expect(runningIn(chat.thread("c").get())).toBeNull();
  });
});

describe("changes elsewhere", () => {
  const q1 = question("u1", null, "Q");
  const a1 = answer("a1", "u1", "A", generation("g1", "complete"));

  it("are shown when they go on from here, and their answer is read", async () => {
    server.show("c", [q1, a1]);
    await opened();
    server.show("c", [q1, a1, question("u2", "a1", "More"), answer("a2", "u2", "", generation("g2", "running"))]);
    await chat.changed("c");
    expect(pks()).toEqual(["u1", "a1", "u2", "a2"]);
    expect(subscribed).toEqual(["g2@null"]);
  });

  it("do not take the reader to another branch", async () => {
    server.show("c", [q1, a1]);
    await opened();
    const both = ["a1", "a9"];
    server.show("c", [q1, answer("a9", "u1", "Other", generation("g9", "complete"), both)]);
    server.branches.set("a1", { results: [q1, { ...a1, siblings: both }], next: null });
    await chat.changed("c");
    expect(pks()).toEqual(["u1", "a1"]);
    expect(leafOf(chat.thread("c").get())?.siblings).toEqual(both);
  });

  it("leave nothing when the conversation was deleted", async () => {
    server.show("c", [q1, a1]);
    await opened();
    server.conversations.clear();
    await chat.changed("c");
    expect(chat.thread("c").get().status).toBe("missing");
  });
});
