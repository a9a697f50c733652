// Which page the address means, and going to another. Paths as Django serves them.
import { Store } from "./store";

export type Route =
  | { page: "chat"; pk: string | null }
  | { page: "login" | "signup" | "reset" }
  | { page: "reset_key" | "verify"; key: string }
  | { page: "nowhere" };

export const path = new Store(window.location.pathname);

window.addEventListener("popstate", () => path.set(window.location.pathname));

/** Goes to a page of ours; `replace` leaves no step back to the one before. */
export function go(to: string, replace = false): void {
  if (replace) window.history.replaceState(null, "", to);
  else window.history.pushState(null, "", to);
  path.set(window.location.pathname);
}

/** The page that a path means. */
export function routeOf(pathname: string): Route {
  const [first = "", second] = pathname.split("/").filter(Boolean).map(decodeURIComponent);
  if (first === "") return { page: "chat", pk: null };
  if (first === "c" && second) return { page: "chat", pk: second };
  if (first === "reset" && second) return { page: "reset_key", key: second };
  if (first === "verify" && second) return { page: "verify", key: second };
  if (first === "login" || first === "signup" || first === "reset") return { page: first };
  return { page: "nowhere" };
}

/** The conversation that is shown at present, null for none. */
export function shownConversation(): string | null {
  const route = routeOf(path.get());
  return route.page === "chat" ? route.pk : null;
}

export const chatPath = (pk: string) => `/c/${encodeURIComponent(pk)}`;
