"""The dispatcher-wide tick: what all running answers released goes to their logs in one round trip.

An answer's first text goes at once, all else in one round every 20 ms, up to 100 when the loop is late
(figures: docs/performance.md). Nothing per token happens outside these rounds.
"""

import asyncio
import time
from collections.abc import Callable

import structlog

from inference.answer import Answer
from inference.streams import Answered, Log, ValkeyDown

logger = structlog.get_logger(__name__)

TICK_S = 0.020
LATE_TICK_S = 0.100
RETRY_S = 0.250


class Ticker:
    """Appends dirty answers; `trouble(answer, answered)` is called for `gone`, `fenced` and `done`."""

    def __init__(self, log: Log, trouble: Callable[[Answer, Answered], None]) -> None:
        self._log = log
        self._trouble = trouble
        self._dirty: set[Answer] = set()
        self._wake = asyncio.Event()
        self._urgent = asyncio.Event()
        self._moved = asyncio.Condition()

    def poke(self, answer: Answer, *, urgent: bool = False) -> None:
        """The answer has something for its log; urgent cuts the wait for the next round short."""
        self._dirty.add(answer)
        self._wake.set()
        if urgent:
            self._urgent.set()

    def forget(self, answer: Answer) -> None:
        """Nothing of this answer is to be sent any more."""
        self._dirty.discard(answer)

    async def settle(self, answer: Answer, timeout_s: float) -> bool:
        """Wait until the log has all of it; false when it has not within the time (Valkey away, or fenced)."""
        self.poke(answer)
        try:
            async with asyncio.timeout(timeout_s), self._moved:
                await self._moved.wait_for(lambda: answer.settled or answer.halted == "fenced")
        except TimeoutError:
            return False
        return answer.settled

    async def run(self) -> None:
        """Tick until cancelled."""
        while True:
            await self._wake.wait()
            self._wake.clear()
            self._urgent.clear()
            started = time.monotonic()
            reached = await self._round()
            if reached is None:
                continue
            spent = time.monotonic() - started
            wait_s = min(max(TICK_S, 2 * spent), LATE_TICK_S) - spent if reached else RETRY_S
            await self._pause(wait_s)

    async def _pause(self, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                await self._urgent.wait()
        except TimeoutError:
            pass

    async def _round(self) -> bool | None:
        """Whether the log was reached; None where there was nothing to send, which must not cost a tick."""
        answers, self._dirty = self._dirty, set()
        ready = [
            (answer, batch) for answer in answers if answer.opened and (batch := answer.batch()) is not None
        ]
        if not ready:
            return None
        try:
            results = await self._log.append([batch for _, batch in ready])
        except ValkeyDown as error:
            logger.warning("log_unreachable", answers=len(ready), error=type(error).__name__)
            results = [None] * len(ready)
        for (answer, _), answered in zip(ready, results, strict=True):
            self._take(answer, answered)
        async with self._moved:
            self._moved.notify_all()
        return any(result is not None for result in results)

    def _take(self, answer: Answer, answered: Answered | None) -> None:
        answer.answered(answered)
        if answered is None or answered.word == "behind":
            self.poke(answer)
        elif answered.word in {"gone", "fenced"}:
            self._trouble(answer, answered)
