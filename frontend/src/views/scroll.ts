// Where the list of messages is scrolled to. Knows boxes and pixels, no messages but their order.
import { useCallback, useEffect, useLayoutEffect, useRef, useState, type RefObject } from "react";
import type { Message } from "../api";

const NEAR_END_PX = 80;
const NEAR_START_PX = 160;

interface Scroll {
  boxRef: RefObject<HTMLElement | null>;
  contentRef: RefObject<HTMLDivElement | null>;
  isAtEnd: boolean;
  toEnd: () => void;
}

/** Follows the end while the reader is there; asks `loadOlder` (if there is more) near the start. */
export function useScroll(messages: readonly Message[], loadOlder: (() => void) | null): Scroll {
  const boxRef = useRef<HTMLElement>(null);
  const contentRef = useRef<HTMLDivElement>(null);
  const follows = useRef(true);
  const height = useRef(0);
  const [isAtEnd, setAtEnd] = useState(true);
  const first = messages[0]?.pk;
  const last = messages.at(-1);

  const toEnd = useCallback(() => {
    follows.current = true;
    setAtEnd(true);
    if (boxRef.current) boxRef.current.scrollTop = boxRef.current.scrollHeight;
  }, []);

  useLayoutEffect(() => {
    const box = boxRef.current;
    if (box && !follows.current) box.scrollTop += box.scrollHeight - height.current;
    if (box) height.current = box.scrollHeight;
  }, [first]);

  const isAnswering = last?.role === "assistant" && last.generation?.finished_at === null;
  useLayoutEffect(() => {
    if (isAnswering) toEnd();
  }, [last?.pk, isAnswering, toEnd]);

  useEffect(() => {
    const box = boxRef.current;
    const content = contentRef.current;
    if (!box || !content) return;
    const keep = () => {
      if (follows.current) box.scrollTop = box.scrollHeight;
      height.current = box.scrollHeight;
    };
    const observer = new ResizeObserver(keep);
    observer.observe(content);
    observer.observe(box);
    keep();
    return () => observer.disconnect();
  }, []);

  useEffect(() => {
    const box = boxRef.current;
    if (!box) return;
    const look = () => {
      follows.current = box.scrollHeight - box.scrollTop - box.clientHeight < NEAR_END_PX;
      setAtEnd(follows.current);
      if (box.scrollTop < NEAR_START_PX && !follows.current) loadOlder?.();
    };
    box.addEventListener("scroll", look, { passive: true });
    return () => box.removeEventListener("scroll", look);
  }, [loadOlder]);

  return { boxRef, contentRef, isAtEnd, toEnd };
}
