// A link to a page of ours: goes there without loading the document again.
import type { MouseEvent, ReactNode } from "react";
import { go } from "../router";

interface Props {
  to: string;
  children: ReactNode;
  className?: string;
  title?: string;
  isCurrent?: boolean;
  onGo?: () => void;
}

export function Link({ to, children, className, title, isCurrent, onGo }: Props) {
  const follow = (event: MouseEvent) => {
    if (event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    go(to);
    onGo?.();
  };
  return (
    <a href={to} className={className} title={title} aria-current={isCurrent ? "page" : undefined} onClick={follow}>
      {children}
    </a>
  );
}
