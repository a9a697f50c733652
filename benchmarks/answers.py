"""One answer as a client saw it: when each piece came, and whether every word of it did.

Pure: the same for the product and for the direct client, so that the two can be compared.
"""

import math
from collections import Counter
from dataclasses import dataclass, field
from itertools import pairwise


@dataclass(slots=True)
class Answer:
    """Times are of one clock; `arrivals` are the events with text, each with its number of words."""

    question: str
    sent_at: float
    arrivals: list[tuple[float, int]] = field(default_factory=list)
    text: str = ""
    state: str = "unfinished"
    repairs: int = 0

    def arrived(self, at: float, text: str) -> None:
        """A piece of text came."""
        self.arrivals.append((at, text.count(".w")))

    @property
    def first_ms(self) -> float | None:
        """From sending the question to the first text."""
        return (self.arrivals[0][0] - self.sent_at) * 1000 if self.arrivals else None

    def gaps_ms(self) -> list[tuple[float, int]]:
        """The time before each event but the first, and the words that it brought."""
        times = self.arrivals
        return [((at - before) * 1000, words) for (before, _), (at, words) in pairwise(times)]

    def words_between(self, begin: float, end: float) -> int:
        """Words that arrived inside a window."""
        return sum(words for at, words in self.arrivals if begin <= at < end)


def lost_words(got: str, expected: str) -> int:
    """Words that are missing or doubled, or else stand in the wrong place; 0 only for the exact text."""
    if got == expected:
        return 0
    have, want = got.split(), expected.split()
    differing = sum(((Counter(want) - Counter(have)) + (Counter(have) - Counter(want))).values())
    moved = sum(1 for one, other in zip(have, want, strict=False) if one != other)
    return differing or moved or 1


def percentile(samples: list[float], share: float) -> float:
    """The smallest sample that at least this share of all do not exceed; exact, nothing interpolated."""
    if not samples:
        return float("nan")
    ordered = sorted(samples)
    return ordered[max(0, math.ceil(len(ordered) * share) - 1)]
