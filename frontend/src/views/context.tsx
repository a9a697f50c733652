// The client of the person signed in, for every component below.
import { createContext, use } from "react";
import type { Client } from "../client";

export const ClientContext = createContext<Client | null>(null);

/** The client; only inside the signed-in part of the page. */
export function useClient(): Client {
  const client = use(ClientContext);
  if (client === null) throw new Error("useClient outside of the signed-in part");
  return client;
}
