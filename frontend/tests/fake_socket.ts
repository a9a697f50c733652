// A WebSocket that the test drives from the server's side, and an owner that writes down what it hears.
import type { SocketOwner, Status, WebSocketLike } from "../src/socket";
import type { EventFrame, Hello, ServerFrame } from "../src/wire";

type Sent = Record<string, unknown> & { type: string };

export class FakeWebSocket implements WebSocketLike {
  onmessage: WebSocketLike["onmessage"] = null;
  onclose: WebSocketLike["onclose"] = null;
  readonly sent: Sent[] = [];
  isClosed = false;

  send(data: string | ArrayBufferLike | Blob | ArrayBufferView): void {
    this.sent.push(JSON.parse(String(data)) as Sent);
  }

  close(): void {
    this.isClosed = true;
  }

  /** What was sent of a type. */
  ofType(type: string): Sent[] {
    return this.sent.filter((frame) => frame.type === type);
  }

  /** The server sends a frame. */
  says(frame: ServerFrame): void {
    this.onmessage?.call(this as unknown as WebSocket, { data: JSON.stringify(frame) } as MessageEvent);
  }

  hello(change: Partial<Hello> = {}): void {
    this.says({
      type: "hello",
      ping_s: 20,
      credit_events: 256,
      credit_bytes: 131072,
      max_frame_bytes: 65536,
      ...change,
    });
  }

  /** The server, or the network, closes it. */
  closes(code: number): void {
    this.onclose?.call(this as unknown as WebSocket, { code } as CloseEvent);
  }
}

export class FakeOwner implements SocketOwner {
  statuses: Status[] = [];
  events: { frame: EventFrame; connection: number }[] = [];
  frames: ServerFrame[] = [];
  signedOut = 0;
  doubts = 0;
  reading: { generation: string; after: string | null; isStopping: boolean }[] = [];

  onEvent(frame: EventFrame, connection: number): void {
    this.events.push({ frame, connection });
  }
  onFrame(frame: ServerFrame): void {
    this.frames.push(frame);
  }
  onStatus(status: Status): void {
    this.statuses.push(status);
  }
  onSignedOut(): void {
    this.signedOut += 1;
  }
  onDoubt(): void {
    this.doubts += 1;
  }
  watched() {
    return this.reading;
  }
}
