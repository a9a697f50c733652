// Runs work once a frame. A hidden tab has no frames, so a timer stands behind: an answer
// must go on being read (and acknowledged) while its tab is in the background.

const HIDDEN_MS = 100;

/** Calls `work` before the next paint, or after 100 ms where nothing is painted. */
export function onceAFrame(work: () => void): void {
  let isDone = false;
  const run = () => {
    if (isDone) return;
    isDone = true;
    cancelAnimationFrame(frame);
    clearTimeout(timer);
    work();
  };
  const timer = setTimeout(run, HIDDEN_MS);
  const frame = requestAnimationFrame(run);
}
