"""Who is next: hierarchical start-time fair queuing between sharers, and within one between its people. Pure.

lua/fair.lua does the same on Valkey's values; tests/inference/test_queue.py holds the two together.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Literal, NamedTuple, get_args
from uuid import UUID

Class = Literal["begun", "interactive", "api", "batch"]

# First to last. `begun` holds answers that were handed back in the middle: somebody is reading them.
CLASSES: tuple[Class, ...] = get_args(Class)

# A class in which somebody waits gets one turn at least this often, however much comes before it.
AGE_MS: Mapping[Class, int] = {"api": 5_000, "batch": 20_000}


class Entry(NamedTuple):
    """What the queue must know of a waiting answer.

    `sharer` is the organisation, or the person without one; `left_ms` is the time to its deadline when it was
    put; `prefix` groups the answers whose prompts begin alike (their conversation), '' if none does.
    """

    pk: UUID
    klass: Class
    sharer: str
    user: str
    weight: int
    enqueued_at_ms: int
    left_ms: int
    prefix: str = ""


class Ranked(NamedTuple):
    """An entry with its start tags: the virtual times at which its sharer, and its user within, are due."""

    entry: Entry
    sharer_tag: float
    user_tag: float


def ranked(entries: Iterable[Entry], clocks: Mapping[str, float]) -> list[Ranked]:
    """One class's entries in the order in which they are served while nobody else comes.

    `clocks`: '@' is the class's virtual time, SHARER what that one has used up, 'SHARER|' and 'SHARER|USER'
    the same within it. Who comes after a pause starts at the present time: nothing is saved up.
    """
    sharers: defaultdict[str, list[Entry]] = defaultdict(list)
    for entry in entries:
        sharers[entry.sharer].append(entry)
    now = clocks.get("@", 0.0)
    found = []
    for sharer, waiting in sharers.items():
        tag = max(clocks.get(sharer, 0.0), now)
        for user_tag, entry in _within(sharer, waiting, clocks):
            found.append(Ranked(entry, tag, user_tag))
            tag += 1 / entry.weight
    return sorted(found, key=lambda one: (one.sharer_tag, one.entry.enqueued_at_ms, str(one.entry.pk)))


def _within(sharer: str, entries: Iterable[Entry], clocks: Mapping[str, float]) -> list[tuple[float, Entry]]:
    """A sharer's entries in the order of its own users' turns."""
    next_tag: dict[str, float] = {}
    now = clocks.get(f"{sharer}|", 0.0)
    found = []
    for entry in sorted(entries, key=lambda one: (one.enqueued_at_ms, str(one.pk))):
        tag = next_tag.get(entry.user, max(clocks.get(f"{sharer}|{entry.user}", 0.0), now))
        next_tag[entry.user] = tag + 1
        found.append((tag, entry))
    return sorted(found, key=lambda one: (one[0], one[1].enqueued_at_ms, str(one[1].pk)))
