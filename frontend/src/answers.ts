// The answers that are being read: folds events into texts by the reader rule, once a frame,
// heals gaps, and says when one has ended. Knows no conversations and no DOM.
import { EMPTY, lastId, take, textOf, type Done, type ReaderState } from "./reader";
import { Store } from "./store";
import type { EventFrame } from "./wire";

export interface Answer {
  generation: string;
  message: string;
  reader: ReaderState;
  /** What to show, null until the first event: then what the message has stands. */
  text: string | null;
  place: number | null;
  isStopping: boolean;
  done: Done | null;
}

/** What is needed of the socket. */
export interface Line {
  subscribe(generation: string, after: string | null): void;
  rendered(seq: number, connection: number): void;
}

export interface AnswersOwner {
  onFirst(answer: Answer): void;
  onEnd(answer: Answer, needsFetch: boolean): void;
  /** Reading again did not help: ask REST how it stands. */
  onStuck(answer: Answer): void;
}

interface Watched {
  store: Store<Answer>;
  queue: EventFrame[];
  /** Times read again since the last event that fitted; 0 when nothing is missing. */
  heals: number;
  timer: ReturnType<typeof setTimeout> | undefined;
}

const HEAL_MS = 1_000;
const STUCK_AFTER_HEALS = 3;

export class Answers {
  private readonly watchedByPk = new Map<string, Watched>();
  private readonly unknown = new Map<string, EventFrame[]>();
  private seen = { seq: 0, connection: 0 };
  private isScheduled = false;

  constructor(
    private readonly line: Line,
    private readonly owner: AnswersOwner,
    private readonly schedule: (work: () => void) => void,
  ) {}

  /** Reads a generation from its start; `isSubscribed` when the server began to send it by itself. */
  watch(generation: string, message: string, isSubscribed: boolean): void {
    if (this.watchedByPk.has(generation)) return;
    const answer: Answer = {
      generation,
      message,
      reader: EMPTY,
      text: null,
      place: null,
      isStopping: false,
      done: null,
    };
    const early = this.unknown.get(generation) ?? [];
    this.unknown.delete(generation);
    this.watchedByPk.set(generation, { store: new Store(answer), queue: early, heals: 0, timer: undefined });
    if (!isSubscribed) this.line.subscribe(generation, null);
    if (early.length > 0) this.wake();
  }

  /** The answer as a store, undefined if it is not read here. */
  find(generation: string): Store<Answer> | undefined {
    return this.watchedByPk.get(generation)?.store;
  }

  /** What to subscribe to on a new connection. */
  *watched(): Generator<{ generation: string; after: string | null; isStopping: boolean }> {
    for (const [generation, watched] of this.watchedByPk) {
      const { done, reader, isStopping } = watched.store.get();
      if (done !== null) continue;
      watched.queue.length = 0; // read again from what was taken
      this.healed(watched);
      yield { generation, after: lastId(reader), isStopping };
    }
  }

  /** Takes an event; it shows with the next frame. */
  event(frame: EventFrame, connection: number): void {
    this.seen = { seq: frame.seq, connection };
    const watched = this.watchedByPk.get(frame.generation);
    if (watched) watched.queue.push(frame);
    else this.early(frame);
    this.wake();
  }

  place(generation: string, place: number): void {
    const store = this.find(generation);
    if (store && store.get().text === null) store.update((answer) => ({ ...answer, place }));
  }

  /** Marks that the person asked to stop; the end comes as an event. */
  stopping(generation: string): void {
    this.find(generation)?.update((answer) => ({ ...answer, isStopping: true }));
  }

  /** Ends an answer by what REST said of it, where no event can any more. */
  close(generation: string, done: Done, text: string): void {
    const watched = this.watchedByPk.get(generation);
    if (!watched || watched.store.get().done !== null) return;
    clearTimeout(watched.timer);
    watched.store.update((answer) => ({ ...answer, done, text, place: null }));
    this.owner.onEnd(watched.store.get(), false);
  }

  /** Drops all timers; nothing is read after it. */
  dispose(): void {
    for (const { timer } of this.watchedByPk.values()) clearTimeout(timer);
    this.watchedByPk.clear();
    this.unknown.clear();
  }

  /** Events can come before the `accepted` that tells whose they are. */
  private early(frame: EventFrame): void {
    const frames = this.unknown.get(frame.generation) ?? [];
    frames.push(frame);
    this.unknown.set(frame.generation, frames);
  }

  private wake(): void {
    if (this.isScheduled) return;
    this.isScheduled = true;
    this.schedule(() => this.flush());
  }

  private flush(): void {
    this.isScheduled = false;
    for (const watched of this.watchedByPk.values()) {
      if (watched.queue.length > 0) this.fold(watched, watched.queue.splice(0));
    }
    this.line.rendered(this.seen.seq, this.seen.connection);
  }

  private fold(watched: Watched, frames: EventFrame[]): void {
    const before = watched.store.get();
    let reader = before.reader;
    let needsFetch = false;
    let isGap = false;
    for (const frame of frames) {
      const step = take(reader, frame);
      reader = step.state;
      needsFetch ||= step.needsFetch;
      if (step.action === "gap") isGap = true;
      else if (step.action !== "drop") {
        isGap = false;
        this.healed(watched);
      }
    }
    if (isGap) this.heal(watched, lastId(reader));
    if (reader !== before.reader) this.show(watched, before, reader, needsFetch);
  }

  private show(watched: Watched, before: Answer, reader: ReaderState, needsFetch: boolean): void {
    const after = { ...before, reader, text: textOf(reader), place: null, done: reader.done };
    watched.store.set(after);
    if (before.text === null) this.owner.onFirst(after);
    if (before.done === null && after.done !== null) this.owner.onEnd(after, needsFetch);
  }

  private healed(watched: Watched): void {
    clearTimeout(watched.timer);
    watched.heals = 0;
  }

  /** Reads again once; events still under way gap as well, so the next try waits for its timer. */
  private heal(watched: Watched, after: string | null): void {
    if (watched.heals > 0) return;
    this.readAgain(watched, after);
  }

  private readAgain(watched: Watched, after: string | null): void {
    watched.heals += 1;
    if (watched.heals > STUCK_AFTER_HEALS) this.owner.onStuck(watched.store.get());
    this.line.subscribe(watched.store.get().generation, after);
    watched.timer = setTimeout(
      () => this.readAgain(watched, lastId(watched.store.get().reader)),
      HEAL_MS * Math.min(watched.heals, 10),
    );
  }
}
