// The list in the sidebar: pages of conversations, last changed first.
// Holds rows only; messages are in chat.ts.
import * as api from "./api";
import type { Conversation } from "./api";
import { problemOf } from "./problem";
import { Store } from "./store";

export interface ConversationList {
  status: "loading" | "ready" | "failed";
  items: readonly Conversation[];
  next: string | null;
  isLoadingMore: boolean;
}

const START: ConversationList = { status: "loading", items: [], next: null, isLoadingMore: false };

export class Conversations {
  readonly list = new Store<ConversationList>(START);

  /** Loads the first page; rows known already stay where they are younger. */
  async load(): Promise<void> {
    try {
      const page = await api.conversations();
      this.list.set({ status: "ready", items: page.results, next: page.next, isLoadingMore: false });
    } catch (error) {
      problemOf(error);
      this.list.update((list) => ({ ...list, status: list.items.length > 0 ? "ready" : "failed" }));
    }
  }

  /** Loads the next page, if there is one and it isn't under way. */
  async more(): Promise<void> {
    const { next, isLoadingMore } = this.list.get();
    if (next === null || isLoadingMore) return;
    this.list.update((list) => ({ ...list, isLoadingMore: true }));
    try {
      const page = await api.conversations(next);
      this.list.update((list) => ({ ...list, items: merged(list.items, page.results), next: page.next }));
    } catch (error) {
      problemOf(error);
    } finally {
      this.list.update((list) => ({ ...list, isLoadingMore: false }));
    }
  }

  /** Puts in what the server says of a conversation now. */
  put(conversation: Conversation): void {
    this.list.update((list) => ({ ...list, items: merged(list.items, [conversation]) }));
  }

  async rename(pk: string, title: string): Promise<Conversation> {
    const conversation = await api.changeConversation(pk, { title });
    this.put(conversation);
    return conversation;
  }

  async remove(pk: string): Promise<void> {
    await api.deleteConversation(pk);
    this.forget(pk);
  }

  /** Takes a row out that is gone on the server. */
  forget(pk: string): void {
    this.list.update((list) => ({ ...list, items: list.items.filter((item) => item.pk !== pk) }));
  }
}

function merged(items: readonly Conversation[], fresh: readonly Conversation[]): Conversation[] {
  const byPk = new Map([...items, ...fresh].map((item) => [item.pk, item]));
  return [...byPk.values()].sort((one, other) => Date.parse(other.updated_at) - Date.parse(one.updated_at));
}
