"""The fake engine's inside: slots with a queue, and a record of every call for tests to read.

No HTTP in here.
"""

import asyncio
import time
from collections import Counter, deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, field
from typing import Any

from tests.engines.plan import Plan, Settings


class QueueFull(Exception):
    """More requests wait than the engine lets wait."""


@dataclass(slots=True)
class Job:
    """One call, whichever endpoint it came by."""

    way: str  # chat (fresh), text or ids (gone on with)
    user: str
    begun: str  # the answer that it goes on from
    prompt_tokens: int
    max_tokens: int
    messages: list[dict[str, str]] = field(default_factory=list)
    in_chat: bool = True
    gives_ids: bool = False
    gives_usage: bool = False
    usage_apart: bool = True  # in an event of its own; llama.cpp puts it into the last of a completion
    gives_usage_always: bool = False
    gives_timings: bool = False
    prompt_ids: list[int] = field(default_factory=list)


@dataclass(slots=True)
class Record:
    """What became of a call; times are time.monotonic, which processes of one machine share."""

    way: str
    user: str
    begun: str
    messages: list[dict[str, str]]
    prompt_tokens: int
    started: float
    first_token: float | None = None
    tokens: int = 0
    mismatch: bool = False  # the text to go on from is not the beginning of this answer
    ended: str | None = None  # finished, client_closed, refused, or the fault's name
    ended_at: float | None = None


class Machine:
    """Slots, queue, records."""

    def __init__(self, settings: Settings, plan: Plan) -> None:
        self.settings, self.plan = settings, plan
        self.running = self.waiting = self.calls = 0
        self.records: deque[Record] = deque(maxlen=500)
        self._seen: Counter[str] = Counter()
        self._queue: deque[asyncio.Future[None]] = deque()

    def begin(self, job: Job) -> Record:
        """Notes a call."""
        self.calls += 1
        self._seen[job.user] += 1
        record = Record(job.way, job.user, job.begun, job.messages, job.prompt_tokens, time.monotonic())
        self.records.append(record)
        return record

    def fires(self, plan: Plan, job: Job) -> bool:
        """Whether the plan's faults are for this call: going on is never a first attempt."""
        attempt = max(self._seen[job.user], 2 if job.begun else 1)
        return plan.on in ("", self.settings.name) and (not plan.times or attempt <= plan.times)

    @asynccontextmanager
    async def slot(self) -> AsyncIterator[None]:
        """A slot, in the order of arrival; raises QueueFull."""
        if self.running >= self.settings.slots:
            await self._wait()
        else:
            self.running += 1
        try:
            yield
        finally:
            self._leave()

    async def _wait(self) -> None:
        if self.settings.queue_limit and self.waiting >= self.settings.queue_limit:
            raise QueueFull
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._queue.append(turn)
        self.waiting += 1
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self._leave()
            raise
        finally:
            self.waiting -= 1

    def _leave(self) -> None:
        """Hands the slot to the next that still waits."""
        while self._queue and self.running <= self.settings.slots:
            turn = self._queue.popleft()
            if not turn.done():
                turn.set_result(None)
                return
        self.running -= 1

    def forget(self) -> None:
        """Clears what was seen, not what runs."""
        self.calls = 0
        self.records.clear()
        self._seen.clear()

    def report(self) -> dict[str, Any]:
        """All that tests may ask for."""
        return {
            "name": self.settings.name,
            "running": self.running,
            "waiting": self.waiting,
            "calls": self.calls,
            "requests": [asdict(record) for record in self.records],
        }
