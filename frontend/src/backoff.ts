// How long to wait before connecting again: exponential with full jitter, so that a restarted
// server is not met by every tab at once. Pure; the dice are passed in.

const BASE_MS = 500;
const CAP_MS = 30_000;
const RESTART_SPREAD_MS = 5_000;
const TOO_MANY_MS = 10_000;

/** The wait before attempt number `failures` (1 for the first), after a socket closed with `code`. */
export function reconnectDelayMs(code: number, failures: number, random: () => number): number {
  if (code === 1012 && failures <= 1) return random() * RESTART_SPREAD_MS;
  const ceiling = Math.min(CAP_MS, BASE_MS * 2 ** Math.min(failures, 10));
  const floor = code === 4409 ? TOO_MANY_MS : 0;
  return floor + random() * ceiling;
}
