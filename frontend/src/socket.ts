// The one websocket of a tab: connects, reconnects, keeps alive, and carries turns so that each
// is accepted once. What events mean is answers.ts's business, what turns do chat.ts's.
import { Acks } from "./acks";
import { reconnectDelayMs } from "./backoff";
import type { Problem } from "./problem";
import type { EventFrame, Hello, ServerFrame, TurnFrame, TurnResult } from "./wire";

export type Status = "connecting" | "open" | "waiting" | "closed";

/** The part of WebSocket that is used, so that tests can stand in for it. */
export type WebSocketLike = Pick<WebSocket, "onmessage" | "onclose" | "send" | "close">;

export interface SocketOwner {
  /** An event; give `connection` back to `rendered` with its seq. */
  onEvent(frame: EventFrame, connection: number): void;
  onFrame(frame: Exclude<ServerFrame, Hello | EventFrame>): void;
  /** `code` is the close code, while `waiting` to connect again. */
  onStatus(status: Status, code?: number): void;
  onSignedOut(): void;
  /** Connecting failed again: find out whether the session has ended. */
  onDoubt(): void;
  /** What is read at present, and from where: subscribed to on each new connection. */
  watched(): Iterable<{ generation: string; after: string | null; isStopping: boolean }>;
}

interface Pending {
  frame: TurnFrame;
  resolve: (result: TurnResult) => void;
}

const CONNECT_MS = 10_000;
const NUDGE_PONG_MS = 5_000;
const DOUBT_AFTER_FAILURES = 2;

export class Socket {
  private ws: WebSocketLike | null = null;
  private status: Status = "closed";
  private connection = 0;
  private failures = 0;
  private isAwaitingPong = false;
  private maxFrameBytes = Infinity;
  private readonly pending = new Map<string, Pending>();
  private readonly acks = new Acks((seq) => this.transmit({ type: "ack", seq }));
  private reconnectTimer: ReturnType<typeof setTimeout> | undefined;
  private connectTimer: ReturnType<typeof setTimeout> | undefined;
  private nudgeTimer: ReturnType<typeof setTimeout> | undefined;
  private pingTimer: ReturnType<typeof setInterval> | undefined;

  constructor(
    private readonly owner: SocketOwner,
    private readonly open: () => WebSocketLike,
    private readonly random: () => number = Math.random,
  ) {}

  /** Connects now, if it isn't connected or connecting. */
  connect(): void {
    if (this.ws !== null) return;
    clearTimeout(this.reconnectTimer);
    this.setStatus("connecting");
    const ws = this.open();
    this.ws = ws;
    ws.onmessage = (event) => this.receive(event.data);
    ws.onclose = (event) => this.closed(event.code);
    this.connectTimer = setTimeout(() => this.drop(), CONNECT_MS);
  }

  /** Closes for good (signed out, or the page goes). Turns not accepted yet are refused. */
  close(): void {
    this.detach();
    this.setStatus("closed");
    this.refuseAll({ title: "Signed out", status: 401, code: "signed_out" });
  }

  /** The network or the tab came back: connect at once, or find out whether the socket still lives. */
  nudge(): void {
    if (this.status === "waiting") this.connect();
    else if (this.status === "open") {
      this.ping();
      clearTimeout(this.nudgeTimer);
      this.nudgeTimer = setTimeout(() => this.isAwaitingPong && this.drop(), NUDGE_PONG_MS);
    }
  }

  /** Sends a turn; sent again with the same client_id after each reconnect until it is answered. */
  turn(frame: TurnFrame): Promise<TurnResult> {
    return new Promise((resolve) => {
      if (this.status === "closed") {
        resolve({ ok: false, problem: { title: "Signed out", status: 401, code: "signed_out" } });
        return;
      }
      this.pending.set(frame.client_id, { frame, resolve });
      if (this.status === "open") this.transmitTurn(frame);
    });
  }

  /** Reads a generation from `after` on; when not connected, the next connection does it. */
  subscribe(generation: string, after: string | null): void {
    if (this.status === "open") this.transmit({ type: "subscribe", generation, after });
  }

  unsubscribe(generation: string): void {
    if (this.status === "open") this.transmit({ type: "unsubscribe", generation });
  }

  /** Asks to stop; false when there is no connection to ask over. */
  stop(generation: string): boolean {
    if (this.status !== "open") return false;
    this.transmit({ type: "stop", generation });
    return true;
  }

  /** Every event of that connection up to `seq` is on the screen. */
  rendered(seq: number, connection: number): void {
    if (connection === this.connection && this.status === "open") this.acks.rendered(seq);
  }

  private receive(data: unknown): void {
    this.isAwaitingPong = false;
    const frame = JSON.parse(String(data)) as ServerFrame;
    if (frame.type === "hello") this.greeted(frame);
    else if (frame.type === "event") this.owner.onEvent(frame, this.connection);
    else {
      this.settle(frame);
      this.owner.onFrame(frame);
    }
  }

  private greeted(hello: Hello): void {
    clearTimeout(this.connectTimer);
    this.failures = 0;
    this.connection += 1;
    this.acks.reset();
    this.maxFrameBytes = hello.max_frame_bytes || Infinity;
    this.pingTimer = setInterval(() => this.beat(), (hello.ping_s * 1000) / 2);
    this.setStatus("open");
    for (const { generation, after, isStopping } of this.owner.watched()) {
      this.subscribe(generation, after);
      if (isStopping) this.stop(generation);
    }
    for (const { frame } of [...this.pending.values()]) this.transmitTurn(frame);
  }

  private settle(frame: ServerFrame): void {
    if (frame.type === "accepted") this.answer(frame.ref, { ok: true, accepted: frame });
    if (frame.type === "refused" || frame.type === "error") {
      const problem = { title: "The server refused this.", status: 400, code: "refused", ...frame } as Problem;
      if (frame.ref !== undefined) this.answer(frame.ref, { ok: false, problem });
    }
  }

  private answer(ref: string, result: TurnResult): void {
    this.pending.get(ref)?.resolve(result);
    this.pending.delete(ref);
  }

  private transmitTurn(frame: TurnFrame): void {
    const text = JSON.stringify({ ...frame, ref: frame.client_id });
    if (new TextEncoder().encode(text).length > this.maxFrameBytes) {
      this.answer(frame.client_id, { ok: false, problem: TOO_LARGE });
    } else this.ws?.send(text);
  }

  private transmit(frame: object): void {
    this.ws?.send(JSON.stringify(frame));
  }

  /** Twice in each ping interval; a ping that was not answered by then means a dead socket. */
  private beat(): void {
    if (this.isAwaitingPong) this.drop();
    else this.ping();
  }

  private ping(): void {
    this.isAwaitingPong = true;
    this.transmit({ type: "ping" });
  }

  /** Gives up a socket that no longer answers, without waiting for its close event. */
  private drop(): void {
    this.closed(1006);
  }

  private closed(code: number): void {
    this.detach();
    if (code === 4401) {
      this.close();
      this.owner.onSignedOut();
      return;
    }
    if (code === 1009) this.refuseAll(TOO_LARGE);
    this.failures += 1;
    this.setStatus("waiting", code);
    this.reconnectTimer = setTimeout(
      () => this.connect(),
      reconnectDelayMs(code, this.failures, this.random),
    );
    if (this.failures >= DOUBT_AFTER_FAILURES) this.owner.onDoubt();
  }

  private detach(): void {
    for (const timer of [this.reconnectTimer, this.connectTimer, this.nudgeTimer]) clearTimeout(timer);
    clearInterval(this.pingTimer);
    this.acks.reset();
    this.isAwaitingPong = false;
    const ws = this.ws;
    this.ws = null;
    if (ws === null) return;
    ws.onmessage = null;
    ws.onclose = null;
    ws.close();
  }

  private refuseAll(problem: Problem): void {
    for (const ref of [...this.pending.keys()]) this.answer(ref, { ok: false, problem });
  }

  private setStatus(status: Status, code?: number): void {
    if (status === this.status) return;
    this.status = status;
    this.owner.onStatus(status, code);
  }
}

const TOO_LARGE: Problem = {
  title: "Message too long",
  status: 413,
  code: "too_large",
  detail: "This message is too long to send. Shorten it and try again.",
};
