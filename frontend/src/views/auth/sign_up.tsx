// Creating an account.
import { useState } from "react";
import * as allauth from "../../allauth";
import * as session from "../../session";
import { Link } from "../link";
import { Field } from "./field";
import { useAuthForm } from "./form";
import { AuthPage, FormErrors, pendingWords } from "./page";
import { LookIntoMail } from "./verify";

export function SignUp() {
  const [email, setEmail] = useState("");
  const [password, setPassword] = useState("");
  const [pending, setPending] = useState<string | null>(null);
  const form = useAuthForm(
    ["email", "password"],
    () => allauth.signUp(email, password),
    (result) => (result.kind === "pending" ? setPending(result.flow) : session.begun()),
  );
  if (pending === "verify_email") return <LookIntoMail email={email} onBack={() => setPending(null)} />;
  return (
    <AuthPage title="Create an account">
      {pending !== null && <p className="form-note">{pendingWords(pending)}</p>}
      <form ref={form.formRef} onSubmit={form.onSubmit}>
        <FormErrors errors={form.errors(null)} />
        <Field
          label="Email"
          name="email"
          type="email"
          autoComplete="username"
          autoFocus
          value={email}
          onChange={setEmail}
          errors={form.errors("email")}
        />
        <Field
          label="Password"
          name="password"
          type="password"
          autoComplete="new-password"
          hint="A few unrelated words make a good one."
          value={password}
          onChange={setPassword}
          errors={form.errors("password")}
        />
        <button type="submit" className="button primary wide" aria-busy={form.isBusy}>
          Create account
        </button>
      </form>
      <p className="auth-ways">
        <Link to="/login">I have an account</Link>
      </p>
    </AuthPage>
  );
}
