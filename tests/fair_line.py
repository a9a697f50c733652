"""The waiting lines of a model as plain values, put and taken by core/fair.py's rule: what the scripts are held to."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from uuid import UUID

from inference.core.fair import AGE_MS, CLASSES, Class, Entry, Ranked, ranked


def charged(clocks: Mapping[str, float], head: Ranked) -> dict[str, float]:
    """The clocks after the head of the class was served."""
    sharer, user = head.entry.sharer, head.entry.user
    return {
        **clocks,
        "@": head.sharer_tag,
        sharer: head.sharer_tag + 1 / head.entry.weight,
        f"{sharer}|": head.user_tag,
        f"{sharer}|{user}": head.user_tag + 1,
    }


@dataclass
class Line:
    """`now_ms` is set by the test."""

    now_ms: int = 0
    waiting: dict[Class, dict[UUID, tuple[Entry, int]]] = field(
        default_factory=lambda: {klass: {} for klass in CLASSES}
    )
    clocks: dict[Class, dict[str, float]] = field(default_factory=lambda: {klass: {} for klass in CLASSES})
    turns: dict[Class, int] = field(default_factory=dict)

    @property
    def count(self) -> int:
        return sum(map(len, self.waiting.values()))

    def put(self, entry: Entry, most: int = 10**9) -> str:
        if any(entry.pk in line for line in self.waiting.values()):
            return "dup"
        if entry.klass != "begun" and self.count >= most:
            return "full"
        line = self.waiting[entry.klass]
        if not line:
            self.turns[entry.klass] = self.now_ms
        line[entry.pk] = entry, self.now_ms + entry.left_ms
        return "ok"

    def order(self, klass: Class) -> list[Ranked]:
        return ranked([entry for entry, _ in self.waiting[klass].values()], self.clocks[klass])

    def places(self) -> list[UUID]:
        return [one.entry.pk for klass in CLASSES for one in self.order(klass)]

    def head(self) -> Ranked | None:
        due = [k for k, age in AGE_MS.items() if self.now_ms - self.turns.get(k, self.now_ms) >= age]
        for klass in [*due, *CLASSES]:
            alive = {pk: one for pk, one in self.waiting[klass].items() if one[1] >= self.now_ms}
            self.waiting[klass] = alive
            if alive:
                return self.order(klass)[0]
        return None

    def take(self, head: Ranked) -> None:
        klass = head.entry.klass
        del self.waiting[klass][head.entry.pk]
        self.turns[klass] = self.now_ms
        self.clocks[klass] = charged(self.clocks[klass], head) if self.waiting[klass] else {}

    def serve(self) -> Entry | None:
        """Take the head; None when nobody waits."""
        head = self.head()
        if head is None:
            return None
        self.take(head)
        return head.entry
