// A whole part of the page that only says one thing and offers one way on.
import type { ReactNode } from "react";
import { Link } from "./link";

interface Props {
  title: string;
  children?: ReactNode;
  action: string;
  to?: string;
  onAction?: () => void;
}

export function Notice({ title, children, action, to, onAction }: Props) {
  return (
    <main className="notice">
      <h1>{title}</h1>
      {children && <p>{children}</p>}
      {to ? (
        <Link to={to} className="button primary">
          {action}
        </Link>
      ) : (
        <button type="button" className="button primary" onClick={onAction}>
          {action}
        </button>
      )}
    </main>
  );
}
