// Copies a text and says so for a moment.
import { useEffect, useState } from "react";
import { announce } from "../announcer";
import { CheckIcon, CopyIcon } from "./icons";

const SHOWN_MS = 1500;

export function CopyButton({ text, label }: { text: string; label: string }) {
  const [isCopied, setCopied] = useState(false);
  useEffect(() => {
    if (!isCopied) return;
    const timer = setTimeout(() => setCopied(false), SHOWN_MS);
    return () => clearTimeout(timer);
  }, [isCopied]);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      setCopied(true);
      announce("Copied");
    } catch {
      announce("Copying is not allowed here");
    }
  };
  return (
    <button type="button" className="icon-button" aria-label={label} title={label} onClick={() => void copy()}>
      {isCopied ? <CheckIcon /> : <CopyIcon />}
    </button>
  );
}
