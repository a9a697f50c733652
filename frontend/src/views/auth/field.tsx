// A labelled input with its error in words beside it, tied together for screen readers.
import { useId, useState } from "react";

interface Props {
  label: string;
  name: string;
  type: "email" | "password";
  autoComplete: string;
  value: string;
  onChange: (value: string) => void;
  errors: string[];
  hint?: string;
  autoFocus?: boolean;
}

export function Field({ label, name, type, autoComplete, value, onChange, errors, hint, autoFocus }: Props) {
  const id = useId();
  const [isShown, setShown] = useState(false);
  const isInvalid = errors.length > 0;
  return (
    <div className="field">
      <div className="field-label">
        <label htmlFor={id}>{label}</label>
        {type === "password" && (
          <button
            type="button"
            className="text-button"
            aria-pressed={isShown}
            aria-label="Show password"
            onClick={() => setShown(!isShown)}
          >
            {isShown ? "Hide" : "Show"}
          </button>
        )}
      </div>
      <input
        id={id}
        name={name}
        type={isShown ? "text" : type}
        autoComplete={autoComplete}
        autoCapitalize="none"
        spellCheck={false}
        required
        autoFocus={autoFocus}
        value={value}
        aria-invalid={isInvalid}
        aria-describedby={isInvalid || hint ? `${id}-note` : undefined}
        onChange={(event) => onChange(event.target.value)}
      />
      {isInvalid ? (
        <p id={`${id}-note`} className="field-error">
          {errors.join(" ")}
        </p>
      ) : (
        hint && (
          <p id={`${id}-note`} className="field-hint">
            {hint}
          </p>
        )
      )}
    </div>
  );
}
