// The REST calls of docs/api.md and their types, one function a call.
// No state here; what a turn does goes over the socket.
import { call, samePath } from "./http";
import type { TextPart, Usage } from "./reader";

export type GenerationState = "queued" | "running" | "complete" | "stopped" | "failed" | "blocked";

export interface Me {
  pk: string;
  email: string;
  is_staff: boolean;
}

export interface Model {
  id: string;
  name: string;
  context_length: number;
  max_tokens: number;
  is_default: boolean;
}

export interface Conversation {
  pk: string;
  title: string;
  model: string;
  leaf: string | null;
  created_at: string;
  updated_at: string;
}

export interface Generation {
  pk: string;
  message: string;
  state: GenerationState;
  model: string;
  finish_reason: string | null;
  error_code: string | null;
  usage: Usage | null;
  created_at: string;
  finished_at: string | null;
  place?: number;
}

export interface Message {
  pk: string;
  conversation: string;
  parent: string | null;
  role: "user" | "assistant";
  parts: TextPart[];
  created_at: string;
  siblings: string[];
  generation: Generation | null;
}

export interface Page<T> {
  next: string | null;
  results: T[];
}

const BASE = "/api/v1";

/** Who is signed in. */
export const me = () => call<Me>("GET", `${BASE}/me`);

/** The models a person may choose from. */
export const models = () => call<{ results: Model[] }>("GET", `${BASE}/models`);

/** A page of conversations, last changed first; `next` is a page's own link to the one after it. */
export const conversations = (next?: string) =>
  call<Page<Conversation>>("GET", next ? samePath(next) : `${BASE}/conversations`);

export const conversation = (pk: string) => call<Conversation>("GET", `${BASE}/conversations/${pk}`);

export const changeConversation = (pk: string, change: { title?: string; leaf?: string }) =>
  call<Conversation>("PATCH", `${BASE}/conversations/${pk}`, change);

export const deleteConversation = (pk: string) => call<null>("DELETE", `${BASE}/conversations/${pk}`);

/** The newest messages of the branch that ends in `leaf` (default: the conversation's own), oldest first. */
export function branch(pk: string, options: { leaf?: string | null; limit?: number } = {}) {
  const query = new URLSearchParams();
  if (options.leaf) query.set("leaf", options.leaf);
  if (options.limit) query.set("limit", String(options.limit));
  const suffix = query.size > 0 ? `?${query}` : "";
  return call<Page<Message>>("GET", `${BASE}/conversations/${pk}/messages${suffix}`);
}

/** The page of messages behind a branch page's `next`. */
export const olderMessages = (next: string) => call<Page<Message>>("GET", samePath(next));

export const message = (pk: string) => call<Message>("GET", `${BASE}/messages/${pk}`);

export const stop = (generation: string) =>
  call<{ pk: string; state: GenerationState }>("POST", `${BASE}/generations/${generation}/stop`, {});

/** Whether an answer in this state has ended. */
export function isOver(state: GenerationState): boolean {
  return state !== "queued" && state !== "running";
}
