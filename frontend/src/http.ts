// Same-origin JSON requests with the session cookie and Django's CSRF token.
// Knows no endpoint: those are in api.ts and allauth.ts.
import { OFFLINE, Refusal, type Problem } from "./problem";

export interface Answered {
  status: number;
  body: unknown;
}

/** Sends a request and gives whatever came back; throws a Refusal only if nothing did. */
export async function send(method: string, path: string, body?: unknown): Promise<Answered> {
  const headers: Record<string, string> = { Accept: "application/json" };
  if (body !== undefined) headers["Content-Type"] = "application/json";
  if (method !== "GET") headers["X-CSRFToken"] = cookie("csrftoken");
  let response: Response;
  try {
    response = await fetch(path, {
      method,
      headers,
      credentials: "same-origin",
      body: body === undefined ? undefined : JSON.stringify(body),
    });
  } catch {
    throw new Refusal(OFFLINE);
  }
  return { status: response.status, body: await json(response) };
}

let onSignedOut: () => void = () => undefined;

/** What to do when a call finds that nobody is signed in any more. */
export function whenSignedOut(then: () => void): void {
  onSignedOut = then;
}

/** Sends a request to our own API: the body of a 2xx, else a Refusal with the problem. */
export async function call<T>(method: string, path: string, body?: unknown): Promise<T> {
  const answered = await send(method, path, body);
  if (answered.status >= 200 && answered.status < 300) return answered.body as T;
  if (answered.status === 401) onSignedOut();
  throw new Refusal(asProblem(answered));
}

/** A URL of the server as a path of this origin, whatever host a proxy made it name. */
export function samePath(url: string): string {
  const parsed = new URL(url, window.location.origin);
  return parsed.pathname + parsed.search;
}

/** The value of a cookie that scripts may read, or an empty string. */
export function cookie(name: string): string {
  const pair = document.cookie.split("; ").find((one) => one.startsWith(`${name}=`));
  return pair ? decodeURIComponent(pair.slice(name.length + 1)) : "";
}

async function json(response: Response): Promise<unknown> {
  try {
    return await response.json();
  } catch {
    return null; // 204, or a proxy's own page
  }
}

function asProblem({ status, body }: Answered): Problem {
  const given = (body ?? {}) as Partial<Problem>;
  return {
    ...given,
    status,
    code: given.code ?? `http_${status}`,
    title: given.title ?? "The server did not answer as expected.",
  };
}
