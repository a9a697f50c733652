// Logging in.
import { useState } from "react";
import * as allauth from "../../allauth";
import * as session from "../../session";
import { Link } from "../link";
import { Field } from "./field";
import { useAuthForm } from "./form";
import { AuthPage, FormErrors, pendingWords } from "./page";
import { LookIntoMail } from "./verify";

export function LogIn({ notice }: { notice: string | null }) {
  const [email, setEmail] = useState("");
  const [password, setPassword] = useState("");
  const [pending, setPending] = useState<string | null>(null);
  const form = useAuthForm(
    ["email", "password"],
    () => allauth.logIn(email, password),
    (result) => (result.kind === "pending" ? setPending(result.flow) : session.begun()),
  );
  if (pending === "verify_email") return <LookIntoMail email={email} onBack={() => setPending(null)} />;
  const told = pending === null ? notice : pendingWords(pending);
  return (
    <AuthPage title="Log in">
      {told && <p className="form-note">{told}</p>}
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
          autoComplete="current-password"
          value={password}
          onChange={setPassword}
          errors={form.errors("password")}
        />
        <button type="submit" className="button primary wide" aria-busy={form.isBusy}>
          Log in
        </button>
      </form>
      <p className="auth-ways">
        <Link to="/signup">Create an account</Link>
        <Link to="/reset">Forgot your password?</Link>
      </p>
    </AuthPage>
  );
}
