// Where the focus goes when a button that was pressed is about to go away: to the message field.
// Not on touch screens, where that would open the keyboard.

export function focusComposer(): void {
  if (!window.matchMedia("(hover: hover)").matches) return;
  document.getElementById("composer")?.focus({ preventScroll: true });
}
