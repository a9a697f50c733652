"""Who is next for a model, and the slots of its replicas (protocol 5). The rule is core/fair.py's.

All of it may be lost: the sweep puts it back from rows. One class for both kinds of client: with a sync
client (the web) a call returns its value, with an async one (the dispatcher) an awaitable of it; what comes
back is read by the functions below.
"""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple
from uuid import UUID

from inference import keys
from inference.core import fair
from inference.core.fair import CLASSES, Entry

LUA = Path(__file__).parent / "lua"
PUT, CLAIM, RELEASE = (
    f"{(LUA / 'fair.lua').read_text()}\n{(LUA / f'{name}.lua').read_text()}"
    for name in ("put", "claim", "release")
)
RENEW = (LUA / "renew.lua").read_text()

# A slot outlives its dispatcher's lease by far, so that a paused one is not overbooked at once (protocol 5).
SLOT_TTL_S = 10
PACE_TTL_S = 3600


class Head(NamedTuple):
    """What `claim` found: `taken` or not, whoever is next now (None: nobody), and the slots taken by replica."""

    word: str
    pk: UUID | None
    prefix: str
    slots: dict[str, int]


class Place(NamedTuple):
    """How many are before an answer (0 is next), and how long that takes as things go; None if unknown."""

    place: int
    wait_s: float | None


class Crowd(NamedTuple):
    """How many wait, and how long one who comes now would, None if unknown."""

    waiting: int
    wait_s: float | None


class Queue:
    """The waiting lines and the slots of one model."""

    def __init__(self, valkey: Any, model: str) -> None:
        self._valkey = valkey
        self._model = model
        self._base = keys.queue(model)

    def put(self, entries: Sequence[Entry], most: int) -> Any:
        """Queue answers and wake the dispatchers: `ok`, `dup` or `full` for each, as bytes.

        Put twice one keeps its first place; when `most` wait, only what has begun is taken.
        """
        pipe = self._valkey.pipeline(transaction=False)
        for one in entries:
            known = (one.enqueued_at_ms, one.left_ms, one.weight, one.sharer, one.user, one.prefix)
            pipe.eval(PUT, 1, self._base, str(one.pk), one.klass, *known, most)
        return pipe.execute()

    def look(self, replicas: Sequence[str]) -> Any:
        """Who is next, for `read_head`; nothing is taken."""
        return self.claim(replicas, UUID(int=0), None, "", 0)

    def claim(self, replicas: Sequence[str], owner: UUID, pk: UUID | None, replica: str, limit: int) -> Any:
        """Take `pk` with a slot `pk:owner` on the replica if it is still next and a slot is free, for `read_head`."""
        slots = [keys.queue_slots(self._model, one) for one in replicas]
        number = replicas.index(replica) + 1 if replica else 0
        wanted = "" if pk is None else str(pk)
        return self._valkey.eval(
            CLAIM, 1 + len(slots), self._base, *slots, str(owner), SLOT_TTL_S, wanted, number, limit
        )

    def release(self, pk: UUID, owner: UUID, replica: str) -> Any:
        """Give an owner's slot back and wake the dispatchers; a slot of another owner stays."""
        slots = keys.queue_slots(self._model, replica)
        return self._valkey.eval(RELEASE, 2, self._base, slots, f"{pk}:{owner}", PACE_TTL_S)

    def renew(self, replica: str, owner: UUID, pks: Sequence[UUID]) -> Any:
        """Keep an owner's slots for another SLOT_TTL_S."""
        members = [f"{pk}:{owner}" for pk in pks]
        return self._valkey.eval(RENEW, 1, keys.queue_slots(self._model, replica), SLOT_TTL_S, *members)

    def view(self) -> Any:
        """Everything that waits, for `read_places`."""
        pipe = self._pace()
        for klass in CLASSES:
            pipe.hgetall(keys.queue_line(self._model, klass))
            pipe.hgetall(keys.queue_clocks(self._model, klass))
        return pipe.execute()

    def crowd(self) -> Any:
        """How much waits, for `read_crowd`."""
        pipe = self._pace()
        for klass in CLASSES:
            pipe.hlen(keys.queue_line(self._model, klass))
        return pipe.execute()

    def _pace(self) -> Any:
        pipe = self._valkey.pipeline(transaction=False)
        pipe.time()
        pipe.hmget(keys.queue_pace(self._model), "last", "ms")
        return pipe


def read_head(raw: Sequence[Any], replicas: Sequence[str]) -> Head:
    """What `look` and `claim` of these replicas answered."""
    word, pk, prefix = (value.decode() for value in raw[:3])
    return Head(word, UUID(pk) if pk else None, prefix, dict(zip(replicas, raw[3:], strict=True)))


def read_places(raw: Sequence[Any]) -> dict[UUID, Place]:
    """Where each answer that waits stands, in order; turns by age are not foreseen."""
    pace_ms = _pace_ms(raw)
    order: list[UUID] = []
    for klass, line, clocks in zip(CLASSES, raw[2::2], raw[3::2], strict=True):
        entries = [_unpacked(klass, pk, packed) for pk, packed in line.items()]
        known = {name.decode(): float(value) for name, value in clocks.items()}
        order += [one.entry.pk for one in fair.ranked(entries, known)]
    return {pk: Place(place, _wait_s(place, pace_ms)) for place, pk in enumerate(order)}


def read_crowd(raw: Sequence[Any]) -> Crowd:
    """What `crowd` answered."""
    waiting = sum(raw[2:])
    return Crowd(waiting, _wait_s(waiting, _pace_ms(raw)))


def _unpacked(klass: fair.Class, pk: bytes, packed: bytes) -> Entry:
    at, until_ms, weight, sharer, user, prefix = packed.decode().split("|", 5)
    return Entry(UUID(pk.decode()), klass, sharer, user, int(weight), int(at), int(until_ms), prefix)


def _pace_ms(raw: Sequence[Any]) -> float | None:
    """The time between two releases: the usual one, or what has passed since the last if that is more."""
    (seconds, micros), (last, usual) = raw[0], raw[1]
    if usual is None:
        return None
    passed = seconds * 1000 + micros / 1000 - float(last) if last is not None else 0.0
    return max(float(usual), passed)


def _wait_s(place: int, pace_ms: float | None) -> float | None:
    return None if pace_ms is None else math.ceil((place + 1) * pace_ms / 100) / 10
