// What was typed and not sent, per person and conversation, kept in the browser: over reloads,
// lost connections and signing out. Also the client_id of the last try, so that trying again is the same turn.
import { Store } from "./store";

export interface Draft {
  text: string;
  /** The last try to send exactly this, if any. */
  attempt?: { client_id: string; parent: string | null; model: string | null };
}

/** The key of the draft for a conversation that is not begun yet. */
export const NEW = "new";

const EMPTY: Draft = { text: "" };

export class Drafts {
  private readonly stores = new Map<string, Store<Draft>>();

  constructor(
    private readonly owner: string,
    private readonly storage: Storage,
  ) {}

  /** The draft of a conversation, to be watched. */
  of(conversation: string): Store<Draft> {
    let store = this.stores.get(conversation);
    if (store === undefined) {
      store = new Store(this.stored(conversation));
      this.stores.set(conversation, store);
    }
    return store;
  }

  /** Keeps what is typed; a changed text is another turn. */
  type(conversation: string, text: string): void {
    if (this.of(conversation).get().text !== text) this.write(conversation, { text });
  }

  /** The client_id for sending this draft now: the last one if nothing about it changed. */
  clientId(conversation: string, parent: string | null, model: string | null): string {
    const { text, attempt } = this.of(conversation).get();
    if (attempt && attempt.parent === parent && attempt.model === model) return attempt.client_id;
    const client_id = crypto.randomUUID();
    this.write(conversation, { text, attempt: { client_id, parent, model } });
    return client_id;
  }

  /** A refused try is over: nothing was stored, the next one is a turn of its own. */
  refused(conversation: string): void {
    this.write(conversation, { text: this.of(conversation).get().text });
  }

  clear(conversation: string): void {
    this.write(conversation, EMPTY);
  }

  private write(conversation: string, draft: Draft): void {
    this.of(conversation).set(draft);
    try {
      if (draft.text === "") this.storage.removeItem(this.key(conversation));
      else this.storage.setItem(this.key(conversation), JSON.stringify(draft));
    } catch {
      // storage is full or off: the draft lives as long as the page
    }
  }

  private stored(conversation: string): Draft {
    try {
      const text = this.storage.getItem(this.key(conversation));
      return text === null ? EMPTY : (JSON.parse(text) as Draft);
    } catch {
      return EMPTY; // storage is off, or what is there is not ours
    }
  }

  private key(conversation: string): string {
    return `parley:draft:${this.owner}:${conversation}`;
  }
}
