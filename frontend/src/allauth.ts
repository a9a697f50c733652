// django-allauth's headless browser API: sign-up, log-in, log-out, password reset.
// Only its wire format is known here; pages decide what to say and where to go.
import { cookie, send } from "./http";
import { Refusal } from "./problem";

const BASE = "/_allauth/browser/v1";

export interface AuthError {
  /** The field it belongs to, null when it belongs to the whole form. */
  field: string | null;
  message: string;
}

export type AuthResult =
  | { kind: "signed_in" }
  | { kind: "pending"; flow: string }
  | { kind: "accepted" }
  | { kind: "refused"; errors: AuthError[] };

interface Body {
  errors?: { code: string; param?: string; message: string }[];
  data?: { flows?: { id: string; is_pending?: boolean }[] };
}

export const signUp = (email: string, password: string) => post("/auth/signup", { email, password });

export const logIn = (email: string, password: string) => post("/auth/login", { email, password });

/** Asks for the mail with the reset link; the answer is the same whether the address is known. */
export const requestReset = (email: string) => post("/auth/password/request", { email });

/** Sets a new password with the key of the mail; `accepted` when a log-in must follow. */
export async function resetPassword(key: string, password: string): Promise<AuthResult> {
  const result = await post("/auth/password/reset", { key, password });
  const isSetButSignedOut = result.kind === "pending" && result.flow === "";
  return isSetButSignedOut ? { kind: "accepted" } : result;
}

/** Confirms an address with the key of its mail; `accepted` when a log-in must follow. */
export async function verifyEmail(key: string): Promise<AuthResult> {
  const result = await post("/auth/email/verify", { key });
  return result.kind === "pending" ? { kind: "accepted" } : result;
}

/** Ends the session; allauth answers 401 to say that nobody is signed in now. */
export async function logOut(): Promise<void> {
  const { status } = await send("DELETE", `${BASE}/auth/session`);
  if (status === 200 || status === 401) return;
  throw new Refusal({ title: "You could not be logged out. Reload the page and try again.", status, code: "refused" });
}

async function post(path: string, body: unknown): Promise<AuthResult> {
  if (!cookie("csrftoken")) await send("GET", `${BASE}/config`);
  const answered = await send("POST", BASE + path, body);
  const given = (answered.body ?? {}) as Body;
  const isLogIn = !path.startsWith("/auth/password");
  if (answered.status === 200) return { kind: isLogIn ? "signed_in" : "accepted" };
  if (answered.status === 401) return { kind: "pending", flow: pendingFlow(given) };
  if (answered.status === 409 && isLogIn) return { kind: "signed_in" }; // this browser is signed in already
  return { kind: "refused", errors: errorsOf(answered.status, given) };
}

function pendingFlow(body: Body): string {
  return body.data?.flows?.find((flow) => flow.is_pending)?.id ?? "";
}

function errorsOf(status: number, body: Body): AuthError[] {
  const given = (body.errors ?? []).map((error) => ({ field: error.param ?? null, message: error.message }));
  if (given.length > 0) return given;
  if (status === 429) return [{ field: null, message: "Too many attempts. Wait a few minutes and try again." }];
  if (status === 403) return [{ field: null, message: "This was refused. Reload the page and try again." }];
  return [{ field: null, message: "The server could not do this. Try again in a moment." }];
}
