"""The reader rule: how a text is made of a log's events (protocol 6, docs/api.md). Pure.

The same rule as frontend/src/reader.ts; tests/vectors/reader.json holds both to it.
"""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from inference.core.events import BEFORE_ALL, Delta, Done, EntryId, Event, Open, Snapshot


class Action(StrEnum):
    """What an event did to the reader."""

    ADD = "add"
    REPLACE = "replace"
    CUT = "cut"
    DROP = "drop"
    GAP = "gap"
    END = "end"


def is_next(last: EntryId, entry: EntryId, n_from: int | None = None) -> bool:
    """Whether an entry (or a run of them from n_from) follows `last` in its attempt without a gap.

    Before all, the first entry of any attempt does.
    """
    first = entry.n if n_from is None else n_from
    return first == last.n + 1 and (entry.attempt == last.attempt or last == BEFORE_ALL)


@dataclass(slots=True)
class Reader:
    """The text of one answer as far as its events were taken."""

    last: EntryId = BEFORE_ALL
    texts: dict[int, str] = field(default_factory=dict)
    done: Done | None = None

    @property
    def text(self) -> str:
        """All parts, in order."""
        return "".join(self.texts[part] for part in sorted(self.texts))

    @property
    def needs_fetch(self) -> bool:
        """The end was seen, but not with this text: fetch the message."""
        return self.done is not None and self.done.state != "blocked" and self.done.length != len(self.text)

    def take(self, entry: EntryId, event: Event, n_from: int | None = None) -> Action:
        """Apply one event; on GAP nothing changed: read again from `last`."""
        if self.done is not None or entry <= self.last:
            return Action.DROP
        match event:
            case Snapshot():
                action = self._replace(event.parts)
            case Open():
                action = self._open(entry, event.keep)
            case Delta():
                action = self._add(entry, event, n_from)
            case Done():
                action = self._end(event)
        if action is not Action.GAP:
            self.last = entry
        return action

    def _replace(self, parts: list[dict[str, Any]]) -> Action:
        self.texts = {index: str(part.get("text", "")) for index, part in enumerate(parts)}
        return Action.REPLACE

    def _open(self, entry: EntryId, keep: int) -> Action:
        starts_midway = self.last == BEFORE_ALL and entry.n != 0
        if starts_midway or len(self.text) < keep:
            return Action.GAP
        room = keep
        for part in sorted(self.texts):
            self.texts[part] = self.texts[part][:room]
            room -= len(self.texts[part])
        return Action.CUT

    def _add(self, entry: EntryId, event: Delta, n_from: int | None) -> Action:
        if not is_next(self.last, entry, n_from):
            return Action.GAP
        self.texts[event.part] = self.texts.get(event.part, "") + event.text
        return Action.ADD

    def _end(self, event: Done) -> Action:
        self.done = event
        if event.state == "blocked":
            self.texts = {}
        return Action.END
