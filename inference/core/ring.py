"""Consistent hashing with bounded loads (Mirrokni, Thorup, Zadimoghaddam 2016). Pure.

A key has one owner as long as that one is not over its share; then the next on the ring takes it.
"""

import math
from bisect import bisect
from collections.abc import Iterable, Iterator, Mapping
from hashlib import blake2b

from inference.core.values import Load

# Points a member has on the ring: their number makes the shares even, at about 1/sqrt(POINTS).
POINTS = 256

# No member may have more than this times its fair share of what runs...
BALANCE = 1.1

# ... but a member with less than this part of its room taken is not busy, whatever the others have.
IDLE = 0.25


class BoundedRing:
    """The members are fixed: one more or one less is another ring, on which about 1/n of the keys have moved."""

    def __init__(self, members: Iterable[str]) -> None:
        points = sorted((_hashed(f"{one}#{n}"), one) for one in set(members) for n in range(POINTS))
        self._at = [at for at, _ in points]
        self._members = [member for _, member in points]

    def owner(self, key: str, loads: Mapping[str, Load]) -> str | None:
        """The first from the key on that is not over its bound, else the first with room; None if all are full.

        Members that are not in `loads` are passed over: only their own keys move.
        """
        bounds = _bounds(loads)
        second = None
        for member in self._from(key):
            if member not in loads or loads[member].running >= loads[member].limit:
                continue
            if loads[member].running < bounds[member]:
                return member
            second = second or member
        return second

    def _from(self, key: str) -> Iterator[str]:
        """Every member once, in the order in which the ring has them from this key on."""
        start, seen = bisect(self._at, _hashed(key)), set[str]()
        for step in range(len(self._members)):
            member = self._members[(start + step) % len(self._members)]
            if member not in seen:
                seen.add(member)
                yield member


def _bounds(loads: Mapping[str, Load]) -> dict[str, int]:
    running = sum(load.running for load in loads.values()) + 1
    room = sum(load.limit for load in loads.values())
    return {
        member: max(math.ceil(BALANCE * running * load.limit / room), int(IDLE * load.limit))
        for member, load in loads.items()
    }


def _hashed(text: str) -> int:
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest())
