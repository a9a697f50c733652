// The frame of the pages for people who are not signed in.
import { useEffect, type ReactNode } from "react";
import { Mark } from "../icons";

export function AuthPage({ title, children }: { title: string; children: ReactNode }) {
  useEffect(() => {
    document.title = `${title} · Parley`;
  }, [title]);
  return (
    <main className="auth">
      <div className="auth-brand">
        <Mark />
        <span>Parley</span>
      </div>
      <div className="auth-card">
        <h1>{title}</h1>
        {children}
      </div>
    </main>
  );
}

/** Errors that belong to no single field. */
export function FormErrors({ errors }: { errors: string[] }) {
  if (errors.length === 0) return null;
  return <p className="form-error">{errors.join(" ")}</p>;
}

/** What allauth wants done before the session begins, in words. */
export function pendingWords(flow: string): string {
  if (flow === "") return "This account can't be used at present. Ask whoever runs this server.";
  return "This account asks for a further step that this page does not have.";
}
