// Which model was picked, per person and conversation, kept in the browser over reloads.
// Only the choice: what may be chosen comes from the server.
import type { Model } from "./api";
import { Store } from "./store";

export class ModelChoices {
  readonly picked = new Store<Readonly<Record<string, string>>>({});

  constructor(
    private readonly owner: string,
    private readonly storage: Storage,
  ) {
    this.picked.set(this.stored());
  }

  pick(conversation: string, model: string): void {
    this.picked.update((picked) => ({ ...picked, [conversation]: model }));
    try {
      this.storage.setItem(this.key(), JSON.stringify(this.picked.get()));
    } catch {
      // storage is full or off: the choice lives as long as the page
    }
  }

  private stored(): Record<string, string> {
    try {
      return JSON.parse(this.storage.getItem(this.key()) ?? "{}") as Record<string, string>;
    } catch {
      return {};
    }
  }

  private key(): string {
    return `parley:models:${this.owner}`;
  }
}

/** The model a turn asks for: what was picked, else the conversation's, else null for the server's default. */
export function modelFor(
  models: readonly Model[],
  picked: string | undefined,
  ofConversation: string | undefined,
): string | null {
  if (models.length < 2) return null;
  const isOffered = (id: string | undefined) => models.some((model) => model.id === id);
  const fallback = models.find((model) => model.is_default)?.id ?? null;
  return [picked, ofConversation].find(isOffered) ?? fallback;
}
