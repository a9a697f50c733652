// A forgotten password: asking for the mail, and setting a new one with its key.
import { useState } from "react";
import * as allauth from "../../allauth";
import { announce } from "../../announcer";
import * as session from "../../session";
import { Link } from "../link";
import { Field } from "./field";
import { useAuthForm } from "./form";
import { AuthPage, FormErrors } from "./page";

export function RequestReset() {
  const [email, setEmail] = useState("");
  const [isSent, setSent] = useState(false);
  const form = useAuthForm(
    ["email"],
    () => allauth.requestReset(email),
    () => {
      announce("Look into your mail for the link.");
      setSent(true);
    },
  );
  if (isSent) {
    return (
      <AuthPage title="Look into your mail">
        <p className="form-note">
          If there is an account for <strong>{email}</strong>, a message with a link is on its way. The link sets
          a new password.
        </p>
        <p className="auth-ways">
          <Link to="/login">Back to log in</Link>
        </p>
      </AuthPage>
    );
  }
  return (
    <AuthPage title="Reset your password">
      <form ref={form.formRef} onSubmit={form.onSubmit}>
        <FormErrors errors={form.errors(null)} />
        <Field
          label="Email"
          name="email"
          type="email"
          autoComplete="username"
          hint="We send a link to this address."
          autoFocus
          value={email}
          onChange={setEmail}
          errors={form.errors("email")}
        />
        <button type="submit" className="button primary wide" aria-busy={form.isBusy}>
          Send the link
        </button>
      </form>
      <p className="auth-ways">
        <Link to="/login">Back to log in</Link>
      </p>
    </AuthPage>
  );
}

export function SetPassword({ resetKey }: { resetKey: string }) {
  const [password, setPassword] = useState("");
  const form = useAuthForm(
    ["password"],
    () => allauth.resetPassword(resetKey, password),
    async () => {
      session.toLogIn("Your new password is set. Log in with it.");
      await session.check();
    },
  );
  return (
    <AuthPage title="Set a new password">
      <form ref={form.formRef} onSubmit={form.onSubmit}>
        <FormErrors errors={form.errors(null)} />
        <Field
          label="New password"
          name="password"
          type="password"
          autoComplete="new-password"
          autoFocus
          value={password}
          onChange={setPassword}
          errors={form.errors("password")}
        />
        <button type="submit" className="button primary wide" aria-busy={form.isBusy}>
          Set password
        </button>
      </form>
      <p className="auth-ways">
        <Link to="/reset">Ask for another link</Link>
        <Link to="/login">Back to log in</Link>
      </p>
    </AuthPage>
  );
}
