// A text field as high as its text. Its largest height is the style sheet's.
import { useLayoutEffect, type RefObject } from "react";

/** Fits the field's height to `text` after each change of it. */
export function useGrowing(field: RefObject<HTMLTextAreaElement | null>, text: string): void {
  useLayoutEffect(() => {
    const element = field.current;
    if (!element) return;
    element.style.height = "auto";
    element.style.height = `${element.scrollHeight}px`;
  }, [field, text]);
}
