// A new address: being told to look into the mail, and confirming the address with the mail's key.
import { useEffect } from "react";
import * as allauth from "../../allauth";
import { announce } from "../../announcer";
import * as session from "../../session";
import { Link } from "../link";
import { useAuthForm } from "./form";
import { AuthPage, FormErrors } from "./page";

/** After signing up, or logging in too early. Goes on by itself once another tab has confirmed the address. */
export function LookIntoMail({ email, onBack }: { email: string; onBack: () => void }) {
  useEffect(() => {
    announce("Look into your mail to confirm your address.");
    const look = () => {
      if (document.visibilityState === "visible") void session.begun();
    };
    document.addEventListener("visibilitychange", look);
    return () => document.removeEventListener("visibilitychange", look);
  }, []);
  return (
    <AuthPage title="Look into your mail">
      <p className="form-note">
        A message to <strong>{email}</strong> is on its way. Open the link in it to confirm that the address is yours;
        then your chats are open to you.
      </p>
      <p className="field-hint">
        Nothing there after a few minutes? Look into the spam folder. Logging in sends the message again.
      </p>
      <p className="auth-ways">
        <button type="button" className="text-button" onClick={onBack}>
          Back
        </button>
      </p>
    </AuthPage>
  );
}

/** Behind the link of the mail. A press confirms, not the visit: programs that look through mail open links too. */
export function VerifyEmail({ verificationKey }: { verificationKey: string }) {
  const form = useAuthForm(
    [],
    () => allauth.verifyEmail(verificationKey),
    async (result) => {
      if (result.kind === "signed_in") await session.begun();
      else session.toLogIn("Your address is confirmed. Log in now.");
    },
  );
  return (
    <AuthPage title="Confirm your address">
      <form ref={form.formRef} onSubmit={form.onSubmit}>
        <FormErrors errors={form.errors(null)} />
        <p className="form-note">One step is left: confirm that this address is yours.</p>
        <button type="submit" className="button primary wide" autoFocus aria-busy={form.isBusy}>
          Confirm
        </button>
      </form>
      <p className="auth-ways">
        <Link to="/login">Log in to get another link</Link>
      </p>
    </AuthPage>
  );
}
