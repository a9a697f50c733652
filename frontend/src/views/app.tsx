// The page as a whole: which part is shown, by address and by who is signed in.
import { useEffect, useMemo } from "react";
import type { Me } from "../api";
import { Client } from "../client";
import { go, path, routeOf, type Route } from "../router";
import * as session from "../session";
import { useStore } from "../store";
import { Announcer } from "./announcer";
import { LogIn } from "./auth/log_in";
import { RequestReset, SetPassword } from "./auth/reset";
import { SignUp } from "./auth/sign_up";
import { VerifyEmail } from "./auth/verify";
import { ClientContext } from "./context";
import { Notice } from "./notice";
import { Shell } from "./shell";

export function App() {
  const route = routeOf(useStore(path));
  useEffect(() => void session.check(), []);
  return (
    <>
      <Page route={route} />
      <Announcer />
    </>
  );
}

function Page({ route }: { route: Route }) {
  const who = useStore(session.session);
  const isForSignedOut = route.page === "login" || route.page === "signup";
  useEffect(() => {
    if (who.status === "out" && route.page === "chat") go("/login", true);
    if (who.status === "in" && isForSignedOut) go("/", true);
  }, [who.status, route.page, isForSignedOut]);

  if (route.page === "nowhere") return <Notice title="There is nothing here" action="To your chats" to="/" />;
  if (route.page === "reset") return <RequestReset />;
  if (route.page === "reset_key") return <SetPassword resetKey={route.key} />;
  if (route.page === "verify") return <VerifyEmail verificationKey={route.key} />;
  if (who.status === "unreachable") return <Unreachable />;
  if (who.status === "out") return route.page === "signup" ? <SignUp /> : <LogIn notice={who.notice} />;
  if (who.status === "in" && route.page === "chat") return <SignedIn me={who.me} pk={route.pk} />;
  return null; // asking who is signed in takes a moment; a flash of anything would be worse
}

function SignedIn({ me, pk }: { me: Me; pk: string | null }) {
  const client = useMemo(() => new Client(me), [me.pk]);
  useEffect(() => client.start(), [client]);
  return (
    <ClientContext value={client}>
      <Shell pk={pk} />
    </ClientContext>
  );
}

function Unreachable() {
  useEffect(() => {
    const again = () => void session.check();
    window.addEventListener("online", again);
    const timer = setInterval(again, 10_000);
    return () => {
      window.removeEventListener("online", again);
      clearInterval(timer);
    };
  }, []);
  return (
    <Notice title="Parley can't be reached" action="Try again" onAction={() => void session.check()}>
      Check your connection. This page tries again by itself.
    </Notice>
  );
}
