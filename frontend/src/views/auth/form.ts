// What every form here shares: one submission at a time, errors by field, the first bad field focused.
import { useRef, useState, type FormEvent } from "react";
import { announce } from "../../announcer";
import type { AuthError, AuthResult } from "../../allauth";
import { problemOf } from "../../problem";

export interface AuthForm {
  formRef: React.RefObject<HTMLFormElement | null>;
  isBusy: boolean;
  /** The errors of a field, or with null of the form as a whole. */
  errors: (field: string | null) => string[];
  onSubmit: (event: FormEvent) => void;
}

/** Runs `ask` on submit and gives its result to `then`, unless it was refused. */
export function useAuthForm(
  fields: readonly string[],
  ask: () => Promise<AuthResult>,
  then: (result: AuthResult) => void | Promise<void>,
): AuthForm {
  const formRef = useRef<HTMLFormElement>(null);
  const [isBusy, setBusy] = useState(false);
  const [refused, setRefused] = useState<AuthError[]>([]);

  const submit = async () => {
    setBusy(true);
    const result = await ask().catch(unreachable);
    if (result.kind === "refused") refuse(result.errors);
    else {
      setRefused([]);
      await then(result);
    }
    setBusy(false);
  };

  const refuse = (errors: AuthError[]) => {
    setRefused(errors);
    announce(errors.map((error) => error.message).join(" "));
    const bad = fields.find((field) => errors.some((error) => error.field === field)) ?? fields[0];
    formRef.current?.querySelector<HTMLInputElement>(`[name="${bad}"]`)?.focus();
  };

  return {
    formRef,
    isBusy,
    errors: (field) =>
      refused
        .filter((error) => (field === null ? !fields.includes(error.field ?? "") : error.field === field))
        .map((error) => error.message),
    onSubmit: (event) => {
      event.preventDefault();
      if (!isBusy) void submit();
    },
  };
}

function unreachable(error: unknown): AuthResult {
  const problem = problemOf(error);
  return { kind: "refused", errors: [{ field: null, message: problem.detail ?? problem.title }] };
}
