// The socket against a server that the test plays: turns accepted once, reconnecting, acks, pings.
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { reconnectDelayMs } from "../src/backoff";
import { Socket } from "../src/socket";
import type { Accepted, TurnFrame } from "../src/wire";
import { FakeOwner, FakeWebSocket } from "./fake_socket";

const SEND: TurnFrame = { type: "send", client_id: "client-1", conversation: null, parent: null, text: "Hi" };
const ACCEPTED: Accepted = {
  conversation: "c",
  message: "m",
  answer: "a",
  generation: "g",
  state: "queued",
  model: "small",
  events: "/e",
};

let owner: FakeOwner;
let opened: FakeWebSocket[];
let dice: number;
let socket: Socket;
const last = () => opened.at(-1)!;

beforeEach(() => {
  vi.useFakeTimers();
  owner = new FakeOwner();
  opened = [];
  dice = 0.5;
  socket = new Socket(
    owner,
    () => {
      opened.push(new FakeWebSocket());
      return last();
    },
    () => dice,
  );
  socket.connect();
});

afterEach(() => {
  socket.close();
  vi.useRealTimers();
});

describe("turns", () => {
  it("sends a turn with its client_id as ref, and gives what was accepted", async () => {
    last().hello();
    const result = socket.turn(SEND);
    expect(last().sent).toEqual([{ ...SEND, ref: "client-1" }]);
    last().says({ type: "accepted", ref: "client-1", ...ACCEPTED });
    expect(await result).toMatchObject({ ok: true, accepted: ACCEPTED });
  });

  it("waits for hello before it sends", () => {
    void socket.turn(SEND);
    expect(last().sent).toEqual([]);
    last().hello();
    expect(last().ofType("send")).toHaveLength(1);
  });

  it("sends again with the same client_id when the socket drops before the answer", async () => {
    last().hello();
    const result = socket.turn(SEND);
    const first = last();
    first.closes(1006);
    vi.advanceTimersByTime(1_000);
    last().hello();
    expect(last()).not.toBe(first);
    expect(last().ofType("send")).toEqual(first.ofType("send"));
    last().says({ type: "accepted", ref: "client-1", ...ACCEPTED });
    expect((await result).ok).toBe(true);
  });

  it("does not send again what was answered", async () => {
    last().hello();
    const result = socket.turn(SEND);
    last().says({ type: "refused", ref: "client-1", code: "answer_running", status: 409, title: "Running" });
    expect(await result).toMatchObject({ ok: false, problem: { code: "answer_running", status: 409 } });
    last().closes(1006);
    vi.advanceTimersByTime(1_000);
    last().hello();
    expect(last().ofType("send")).toEqual([]);
  });

  it("takes an error with its ref as a refusal", async () => {
    last().hello();
    const result = socket.turn(SEND);
    last().says({ type: "error", ref: "client-1", code: "invalid", status: 400, title: "Missing field" });
    expect(await result).toMatchObject({ ok: false, problem: { code: "invalid" } });
  });

  it("refuses a frame that the server would not take, without sending it", async () => {
    last().hello({ max_frame_bytes: 100 });
    const result = socket.turn({ ...SEND, text: "ü".repeat(60) });
    expect(await result).toMatchObject({ ok: false, problem: { code: "too_large" } });
    expect(last().sent).toEqual([]);
  });

  it("refuses what was under way when it is closed for good", async () => {
    const result = socket.turn(SEND);
    socket.close();
    expect(await result).toMatchObject({ ok: false, problem: { code: "signed_out" } });
  });
});

describe("reconnecting", () => {
  it("subscribes to everything being read, from the last id, and repeats a wish to stop", () => {
    owner.reading = [
      { generation: "g1", after: "1-7", isStopping: false },
      { generation: "g2", after: null, isStopping: true },
    ];
    last().hello();
    expect(last().sent).toEqual([
      { type: "subscribe", generation: "g1", after: "1-7" },
      { type: "subscribe", generation: "g2", after: null },
      { type: "stop", generation: "g2" },
    ]);
  });

  it("waits longer each time, until a hello", () => {
    for (const wait_ms of [500, 1_000, 2_000]) {
      const before = opened.length;
      last().closes(1006);
      vi.advanceTimersByTime(wait_ms - 1);
      expect(opened.length).toBe(before);
      vi.advanceTimersByTime(1);
      expect(opened.length).toBe(before + 1);
    }
    last().hello();
    last().closes(1006);
    vi.advanceTimersByTime(500);
    last().hello();
    expect(owner.statuses.at(-1)).toBe("open");
  });

  it("gives up a connection that never says hello", () => {
    vi.advanceTimersByTime(10_000);
    expect(opened[0]?.isClosed).toBe(true);
    expect(owner.statuses).toEqual(["connecting", "waiting"]);
  });

  it("does not reconnect after 4401, and says that the person is signed out", async () => {
    last().hello();
    const result = socket.turn(SEND);
    last().closes(4401);
    expect(owner.signedOut).toBe(1);
    expect(owner.statuses.at(-1)).toBe("closed");
    expect(await result).toMatchObject({ ok: false, problem: { code: "signed_out" } });
    vi.advanceTimersByTime(120_000);
    expect(opened).toHaveLength(1);
  });

  it("connects at once when the network is back", () => {
    last().closes(1006);
    dice = 1;
    socket.nudge();
    expect(opened).toHaveLength(2);
    vi.advanceTimersByTime(5_000);
    expect(opened).toHaveLength(2);
  });

  it("doubts the session after the second failure in a row", () => {
    last().closes(1006);
    expect(owner.doubts).toBe(0);
    vi.advanceTimersByTime(500);
    last().closes(1006);
    expect(owner.doubts).toBe(1);
  });
});

describe("keeping alive", () => {
  it("pings twice in each interval and stays while it is answered", () => {
    last().hello({ ping_s: 20 });
    for (let beat = 1; beat <= 4; beat += 1) {
      vi.advanceTimersByTime(10_000);
      expect(last().ofType("ping")).toHaveLength(beat);
      last().says({ type: "pong" });
    }
    expect(opened).toHaveLength(1);
  });

  it("drops a socket that does not answer a ping", () => {
    last().hello({ ping_s: 20 });
    vi.advanceTimersByTime(20_000);
    expect(opened[0]?.isClosed).toBe(true);
    expect(owner.statuses.at(-1)).toBe("waiting");
  });

  it("finds out within 5 s after a nudge whether the socket still lives", () => {
    last().hello();
    socket.nudge();
    expect(last().ofType("ping")).toHaveLength(1);
    vi.advanceTimersByTime(5_000);
    expect(opened[0]?.isClosed).toBe(true);
  });
});

describe("acks", () => {
  it("acknowledges at once after 32 events", () => {
    last().hello();
    for (let seq = 1; seq <= 32; seq += 1) socket.rendered(seq, 1);
    expect(last().ofType("ack")).toEqual([{ type: "ack", seq: 32 }]);
  });

  it("acknowledges fewer after 100 ms, and then no more", () => {
    last().hello();
    socket.rendered(3, 1);
    vi.advanceTimersByTime(99);
    expect(last().ofType("ack")).toEqual([]);
    vi.advanceTimersByTime(1);
    expect(last().ofType("ack")).toEqual([{ type: "ack", seq: 3 }]);
    vi.advanceTimersByTime(1_000);
    expect(last().ofType("ack")).toHaveLength(1);
  });

  it("never acknowledges events of an earlier socket on a new one", () => {
    last().hello();
    socket.rendered(5, 1);
    last().closes(1006);
    vi.advanceTimersByTime(500);
    last().hello();
    socket.rendered(9, 1);
    vi.advanceTimersByTime(1_000);
    expect(last().ofType("ack")).toEqual([]);
    socket.rendered(2, 2);
    vi.advanceTimersByTime(100);
    expect(last().ofType("ack")).toEqual([{ type: "ack", seq: 2 }]);
  });
});

describe("reconnectDelayMs", () => {
  it("has full jitter under a doubling ceiling of at most 30 s", () => {
    expect(reconnectDelayMs(1006, 1, () => 0)).toBe(0);
    expect(reconnectDelayMs(1006, 1, () => 1)).toBe(1_000);
    expect(reconnectDelayMs(1006, 3, () => 1)).toBe(4_000);
    expect(reconnectDelayMs(1006, 50, () => 1)).toBe(30_000);
  });

  it("spreads a restart over five seconds, and is slow where there are too many sockets", () => {
    expect(reconnectDelayMs(1012, 1, () => 1)).toBe(5_000);
    expect(reconnectDelayMs(4409, 1, () => 0)).toBe(10_000);
  });
});
