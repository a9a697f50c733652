"""From rounds to the figures that are promised: docs/performance.md says what each key means. Pure."""

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from benchmarks.answers import Answer, lost_words, percentile
from benchmarks.load import Window

LATE_MS = 100
PRODUCT = ("web", "dispatcher", "valkey")


@dataclass(slots=True)
class Level:
    """All rounds of one number of streams, the product's and the direct client's."""

    streams: int
    product: list[Window] = field(default_factory=list)
    direct: list[Window] = field(default_factory=list)
    cpu_s: dict[str, float] = field(default_factory=dict)

    def add_cpu(self, cpu_s: Mapping[str, float]) -> None:
        """What one of the product's rounds took."""
        for name, seconds in cpu_s.items():
            self.cpu_s[name] = self.cpu_s.get(name, 0.0) + seconds

    @property
    def words(self) -> int:
        """Of the product, in its windows."""
        return sum(window.words for window in self.product)

    def first_ms(self, share: float) -> tuple[float, float, float]:
        """The product's, the direct client's, and what the product added."""
        ours, theirs = (
            percentile([first for window in windows for first in window.first_ms()], share)
            for windows in (self.product, self.direct)
        )
        return ours, theirs, ours - theirs

    def per_1k_ms(self, *names: str) -> float:
        """CPU milliseconds a thousand tokens."""
        return sum(self.cpu_s[name] for name in names) * 1e6 / self.words if self.words else float("nan")

    def tokens_per_s(self) -> float:
        """Of the product."""
        return self.words / sum(window.seconds for window in self.product)

    def cores(self) -> float:
        """How many cores everything took together, load and engine included."""
        return sum(self.cpu_s.values()) / sum(window.seconds for window in self.product)

    def lost(self, said: Callable[[str], str]) -> int:
        """Words of the product's answers that are missing, doubled or out of place."""
        return sum(lost_words(answer.text, said(answer.question)) for answer in _answers(self.product))

    def late(self) -> tuple[int, int]:
        """Words that came LATE_MS later than the direct client's usual gap: the product's, and its own."""
        usual = statistics.median(
            [gap for answer in _answers(self.direct) for gap, _ in answer.gaps_ms()] or [0]
        )
        ours, theirs = (
            sum(
                words
                for answer in _answers(windows)
                for gap, words in answer.gaps_ms()
                if gap > usual + LATE_MS
            )
            for windows in (self.product, self.direct)
        )
        return ours, theirs

    def failed(self) -> list[str]:
        """How answers ended that did not end well, either client's."""
        return [a.state for a in _answers([*self.product, *self.direct]) if a.state != "complete"]


def memory_kb(idle: Mapping[str, int], begin: Mapping[str, int], end: Mapping[str, int]) -> dict[str, int]:
    """Growth over idle while all streams run.

    Valkey's is read when the window begins: later it also holds answers that have ended, for ten minutes each.
    """
    return {name: (begin if name == "valkey" else end)[name] - idle[name] for name in idle}


def keys(
    levels: Sequence[Level],
    said: Callable[[str], str],
    fixed_ms: Mapping[str, float],
    grown_kb: Mapping[str, int],
) -> dict[str, Any]:
    """The JSON line, without versions."""
    most = levels[-1]
    found: dict[str, Any] = {
        f"added_ttft_p50_ms_{level.streams}": round(level.first_ms(0.5)[2], 1) for level in levels
    }
    found[f"added_ttft_p99_ms_{most.streams}"] = round(most.first_ms(0.99)[2], 1)
    found["lost_tokens"] = sum(level.lost(said) for level in levels)
    found["late_tokens"] = sum(level.late()[0] for level in levels)
    found["fixed_cpu_ms"] = round(fixed_ms["web"] + fixed_ms["dispatcher"], 1)
    found[f"cpu_ms_per_1k_tokens_{most.streams}"] = round(most.per_1k_ms(*PRODUCT))
    found["kb_per_stream"] = round(sum(grown_kb.values()) / most.streams)
    found["pg_cpu_ms_per_1k_tokens"] = round(most.per_1k_ms("postgres"))
    found["tokens_per_s_per_core"] = round(1e6 / most.per_1k_ms(*PRODUCT, "postgres"))
    return found


def _answers(windows: Sequence[Window]) -> list[Answer]:
    return [answer for window in windows for answer in window.answers]
