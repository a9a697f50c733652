// The one live region of the page. It stays in place from the start, or readers miss its first words.
import { announcement } from "../announcer";
import { useStore } from "../store";

export function Announcer() {
  const words = useStore(announcement);
  return (
    <div className="visually-hidden" role="status" aria-live="polite">
      {words}
    </div>
  );
}
