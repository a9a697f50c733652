// Groups conversations by how long ago they changed, as people think of it. Pure; now is passed in.
import type { Conversation } from "./api";

const DAY_MS = 86_400_000;

/** Groups in the order of the list, each with its heading. */
export function days(items: readonly Conversation[], now: Date): [string, Conversation[]][] {
  const groups = new Map<string, Conversation[]>();
  for (const item of items) {
    const day = dayOf(new Date(item.updated_at), now);
    groups.set(day, [...(groups.get(day) ?? []), item]);
  }
  return [...groups];
}

function dayOf(when: Date, now: Date): string {
  const today = new Date(now.getFullYear(), now.getMonth(), now.getDate()).getTime();
  const time = when.getTime();
  if (time >= today) return "Today";
  if (time >= today - DAY_MS) return "Yesterday";
  if (time >= today - 7 * DAY_MS) return "Last seven days";
  return when.toLocaleDateString("en", { month: "long", year: "numeric" });
}
