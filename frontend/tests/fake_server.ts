// A small REST server behind fetch: conversations and branches that a test puts in and looks at.
import { vi } from "vitest";
import type { Conversation, Generation, GenerationState, Message } from "../src/api";

export const NOW = "2026-03-01T12:00:00Z";

export function conversation(pk: string, change: Partial<Conversation> = {}): Conversation {
  return { pk, title: "", model: "small", leaf: null, created_at: NOW, updated_at: NOW, ...change };
}

export function generation(pk: string, state: GenerationState, change: Partial<Generation> = {}): Generation {
  const finished_at = state === "queued" || state === "running" ? null : NOW;
  const rest = { finish_reason: null, error_code: null, usage: null, created_at: NOW, finished_at };
  return { pk, message: "", state, model: "small", ...rest, ...change };
}

export function question(pk: string, parent: string | null, text: string, siblings = [pk]): Message {
  return row(pk, parent, "user", text, siblings, null);
}

export function answer(pk: string, parent: string, text: string, made: Generation, siblings = [pk]): Message {
  return row(pk, parent, "assistant", text, siblings, { ...made, message: pk });
}

function row(
  pk: string,
  parent: string | null,
  role: Message["role"],
  text: string,
  siblings: string[],
  made: Generation | null,
): Message {
  const parts = [{ type: "text" as const, text }];
  return { pk, conversation: "c", parent, role, parts, created_at: NOW, siblings, generation: made };
}

export class FakeServer {
  conversations = new Map<string, Conversation>();
  /** The branch by its leaf. */
  branches = new Map<string, { results: Message[]; next: string | null }>();
  messages = new Map<string, Message>();
  requests: string[] = [];
  isDown = false;

  constructor() {
    vi.stubGlobal("fetch", (path: string, init: RequestInit) => this.answer(path, init));
  }

  /** Puts a branch in as the one its conversation shows. */
  show(pk: string, results: Message[], next: string | null = null): void {
    const leaf = results.at(-1)!.pk;
    this.conversations.set(pk, conversation(pk, { ...this.conversations.get(pk), leaf }));
    this.branches.set(leaf, { results, next });
    for (const message of results) this.messages.set(message.pk, message);
  }

  private answer(path: string, init: RequestInit): Promise<Response> {
    this.requests.push(`${init.method} ${path}`);
    if (this.isDown) return Promise.reject(new TypeError("offline"));
    const url = new URL(path, "http://server.test");
    const [kind = "", pk = "", sub] = url.pathname.replace("/api/v1/", "").split("/");
    if (kind === "messages") return json(this.messages.get(pk));
    const known = this.conversations.get(pk);
    if (sub === "messages") return json(this.branches.get(url.searchParams.get("leaf") ?? known?.leaf ?? ""));
    if (init.method === "PATCH" && known) {
      this.conversations.set(pk, { ...known, ...(JSON.parse(String(init.body)) as object) });
    }
    return json(this.conversations.get(pk));
  }
}

function json(body: unknown): Promise<Response> {
  const missing = { title: "Not found", status: 404, code: "not_found" };
  return Promise.resolve(new Response(JSON.stringify(body ?? missing), { status: body === undefined ? 404 : 200 }));
}
