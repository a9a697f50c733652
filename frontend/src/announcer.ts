// What a screen reader is told: one short sentence at a time, each once. Never the streamed text.
import { Store } from "./store";

export const announcement = new Store("");

/** Says this once, also when it was the last thing said. */
export function announce(words: string): void {
  const isSameAgain = announcement.get() === words;
  announcement.set(isSameAgain ? `${words}\u00a0` : words);
}
