// Who is signed in, for the whole page, and where to go on after signing in.
import * as allauth from "./allauth";
import * as api from "./api";
import type { Me } from "./api";
import { isSignedOut, problemOf } from "./problem";
import { go, path } from "./router";
import { Store } from "./store";

export type Session =
  | { status: "loading" | "unreachable" }
  | { status: "out"; notice: string | null }
  | { status: "in"; me: Me };

export const session = new Store<Session>({ status: "loading" });

let goOnAt = "/";

/** Asks the server who is signed in. */
export async function check(): Promise<void> {
  try {
    session.set({ status: "in", me: await api.me() });
  } catch (error) {
    const problem = problemOf(error);
    if (isSignedOut(problem) || problem.status === 403) ended(null);
    else if (session.get().status !== "in") session.set({ status: "unreachable" });
  }
}

/** The session is over: to the log-in page, and back here afterwards. */
export function ended(notice: string | null): void {
  if (session.get().status === "out") return;
  goOnAt = path.get().startsWith("/c/") ? path.get() : "/";
  session.set({ status: "out", notice });
}

/** Signed in: go on where it was left. */
export async function begun(): Promise<void> {
  await check();
  if (session.get().status !== "in") return;
  go(goOnAt, true);
  goOnAt = "/";
}

/** To the log-in page, with a word on what was done: a password was set, an address confirmed. */
export function toLogIn(notice: string): void {
  session.set({ status: "out", notice });
  go("/login", true);
}

/** Ends the session here and on the server; drafts stay in the browser. */
export async function logOut(): Promise<void> {
  await allauth.logOut();
  session.set({ status: "out", notice: null });
  go("/login");
}
