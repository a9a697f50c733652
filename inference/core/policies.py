"""Which replica takes the next answer, by what it knows of their loads. Pure: nothing is asked, nothing kept.

A new policy is one class here with `choose`; registry.py names the one that is used.
"""

from collections.abc import Iterable, Mapping
from typing import Protocol

from inference.core.ring import BoundedRing
from inference.core.values import Load


class Policy(Protocol):
    """Chooses among the replicas that may take work, by pk."""

    def choose(self, prefix: str, loads: Mapping[str, Load]) -> str | None:
        """Who takes an answer whose prompt begins like those of the same prefix; None when all are full."""


class LeastLoaded:
    """Whoever has the smallest part of its room taken."""

    def choose(self, prefix: str, loads: Mapping[str, Load]) -> str | None:
        """See Policy."""
        free = [pk for pk, load in loads.items() if load.running < load.limit]
        return min(free, key=lambda pk: (loads[pk].running / loads[pk].limit, pk), default=None)


class PrefixAffinity:
    """The replica that had the conversation before, unless it has too much to do; without a prefix the least loaded."""

    def __init__(self, replicas: Iterable[str]) -> None:
        self._ring = BoundedRing(replicas)
        self._least = LeastLoaded()

    def choose(self, prefix: str, loads: Mapping[str, Load]) -> str | None:
        """See Policy."""
        return self._ring.owner(prefix, loads) if prefix else self._least.choose(prefix, loads)
