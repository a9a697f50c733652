// Says that the socket is away, once it has been for a moment.
import { useEffect, useState } from "react";
import { announce } from "../announcer";
import { useStore } from "../store";
import { useClient } from "./context";

const QUIET_MS = 1_500;

export function Connection() {
  const client = useClient();
  const isOpen = useStore(client.connection) === "open";
  const hasTooManyTabs = useStore(client.hasTooManyTabs);
  const [isAway, setAway] = useState(false);
  useEffect(() => {
    if (isOpen) {
      setAway(false);
      return;
    }
    const timer = setTimeout(() => {
      setAway(true);
      announce("Connection lost. Connecting again.");
    }, QUIET_MS);
    return () => clearTimeout(timer);
  }, [isOpen]);
  if (!isAway) return null;
  return (
    <div className="connection">
      <span className="pulse" aria-hidden="true" />
      {hasTooManyTabs
        ? "Parley is open in too many tabs. Close one of them, and this one goes on."
        : "Reconnecting… What you send now goes out as soon as the connection is back."}
    </div>
  );
}
