// The frames of the websocket, as docs/api.md writes them. Types only, no behaviour.
import type { GenerationState } from "./api";
import type { Problem } from "./problem";
import type { Numbered } from "./reader";

export type TurnFrame =
  | {
      type: "send";
      client_id: string;
      conversation: string | null;
      parent: string | null;
      text: string;
      model?: string;
    }
  | { type: "edit"; message: string; client_id: string; text: string; model?: string }
  | { type: "regenerate"; message: string; client_id: string; model?: string }
  | { type: "continue"; message: string; client_id: string };

export interface Accepted {
  conversation: string;
  message: string | null;
  answer: string;
  generation: string;
  model: string;
  state: GenerationState;
  events: string;
}

export type EventFrame = { type: "event"; generation: string; seq: number } & Numbered;

export interface Hello {
  type: "hello";
  ping_s: number;
  credit_events: number;
  credit_bytes: number;
  max_frame_bytes: number;
}

export type ServerFrame =
  | Hello
  | EventFrame
  | ({ type: "accepted"; ref: string } & Accepted)
  | ({ type: "refused"; ref: string } & Partial<Problem>)
  | ({ type: "error"; ref?: string } & Partial<Problem>)
  | { type: "stopping"; generation: string; state: GenerationState }
  | { type: "place"; generation: string; place: number }
  | { type: "changed"; conversation: string }
  | { type: "pong" };

export type TurnResult = { ok: true; accepted: Accepted } | { ok: false; problem: Problem };
