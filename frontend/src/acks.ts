// Acknowledges events in batches: every 32, or 100 ms after the first not yet acknowledged.
// Counts only; it does not know what was rendered, the caller says so.

const BATCH_EVENTS = 32;
const BATCH_MS = 100;

export class Acks {
  private sent = 0;
  private highest = 0;
  private timer: ReturnType<typeof setTimeout> | null = null;

  constructor(private readonly send: (seq: number) => void) {}

  /** Every event up to `seq` has been rendered. */
  rendered(seq: number): void {
    this.highest = Math.max(this.highest, seq);
    if (this.highest - this.sent >= BATCH_EVENTS) this.flush();
    else if (this.highest > this.sent && this.timer === null) {
      this.timer = setTimeout(() => this.flush(), BATCH_MS);
    }
  }

  /** A new socket counts from the start again. */
  reset(): void {
    if (this.timer !== null) clearTimeout(this.timer);
    this.timer = null;
    this.sent = 0;
    this.highest = 0;
  }

  private flush(): void {
    if (this.timer !== null) clearTimeout(this.timer);
    this.timer = null;
    this.sent = this.highest;
    this.send(this.highest);
  }
}
