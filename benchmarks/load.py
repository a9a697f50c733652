"""Keeps so many streams busy for a measured time: staggered over one answer, each asks again when one ends.

Knows nothing of what it loads; the caller reads its meters at the edges of the window.
"""

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import count

from benchmarks.answers import Answer
from benchmarks.askers import Asker


@dataclass(slots=True)
class Window:
    """What happened: all answers of a round, and the part of it that was measured."""

    begin: float = 0.0
    end: float = 0.0
    answers: list[Answer] = field(default_factory=list)
    timed: list[Answer] = field(default_factory=list)

    @property
    def seconds(self) -> float:
        """How long was measured."""
        return self.end - self.begin

    @property
    def words(self) -> int:
        """Words that arrived while it was measured."""
        return sum(answer.words_between(self.begin, self.end) for answer in self.answers)

    def first_ms(self) -> list[float]:
        """First-token times of all answers but each stream's first, which began while others were not there yet."""
        return [first for answer in self.timed if (first := answer.first_ms) is not None]


async def run(
    askers: Sequence[Asker],
    question: Callable[[int, int], str],
    *,
    spread_s: float,
    measured_s: float,
    edge: Callable[[], None],
) -> Window:
    """One round. `question(stream, n)` words each question; `edge` is called when the window begins and ends."""
    await asyncio.gather(*(asker.connect() for asker in askers))
    window, over = Window(), asyncio.Event()

    async def stream(number: int, asker: Asker) -> None:
        await asyncio.sleep(spread_s * number / len(askers))
        for turn in count():
            answer = await asker.ask(question(number, turn))
            window.answers.append(answer)
            if turn:
                window.timed.append(answer)
            if over.is_set():
                return

    streams = [asyncio.create_task(stream(number, asker)) for number, asker in enumerate(askers)]
    await asyncio.sleep(spread_s)
    edge()
    window.begin = time.perf_counter()
    await asyncio.sleep(measured_s)
    window.end = time.perf_counter()
    edge()
    over.set()
    await asyncio.gather(*streams)
    for asker in askers:
        asker.close()
    return window
