"""One reader of one answer: live entries while they follow without a gap, the log where they don't (protocol 6).

Pull-based, so that a slow reader holds nothing but its place: its buffer is bounded, and what overflows is read
again from the log, with deltas merged. Text is never kept here.
"""

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from typing import NamedTuple
from uuid import UUID

from inference.core.events import BEFORE_ALL, Delta, EntryId, decode, encode
from inference.core.reader import is_next
from inference.hub import Hub
from inference.seams import RowsDown
from inference.streams import Entry, ValkeyDown

BUFFER_EVENTS = 256
BUFFER_BYTES = 128 * 1024
ROW_POLL_S = 1.0

DONE = b'{"type":"done"'
DELTA = b'{"type":"delta"'
SNAPSHOT = b'{"type":"snapshot"'

# What Postgres has for a reader whose log is gone: entries newer than an id, the last one `done` if terminal.
# Raises RowsDown.
Fallback = Callable[[UUID, EntryId], Awaitable[list[Entry]]]


class Event(NamedTuple):
    """What a reader is sent: `n_from` where it covers several entries, `v` as it stands in the log."""

    id: EntryId
    v: bytes
    n_from: int | None = None

    @property
    def is_done(self) -> bool:
        """Whether this is the end."""
        return self.v.startswith(DONE)


class Follower:
    """Iterate it: events in order from `after`, until `done`."""

    def __init__(
        self, hub: Hub, pk: UUID, after: EntryId | None, fallback: Fallback, *, just_queued: bool = False
    ) -> None:
        self.pk = pk
        self.last = self._after = after or BEFORE_ALL
        self.heard_at = time.monotonic()
        self._hub, self._fallback = hub, fallback
        self._live: deque[Entry] = deque()
        self._live_bytes = 0
        self._reads = True
        # Its log begins in a moment and its row has nothing to tell: hear the one before asking the other.
        self._just_queued = just_queued
        self._ended = False
        self._wake = asyncio.Event()

    def offer(self, entry: EntryId, v: bytes) -> None:
        """Take a live entry; when the reader is too slow forget it, it is in the log."""
        self.heard_at = time.monotonic()
        self._live.append(Entry(entry, v))
        self._live_bytes += len(v)
        if len(self._live) > BUFFER_EVENTS or self._live_bytes > BUFFER_BYTES:
            self._forget()
        self._wake.set()

    def must_read(self) -> None:
        """Read the log before anything else."""
        self._reads = True
        self._wake.set()

    async def __aiter__(self) -> AsyncIterator[Event]:
        try:
            await self._hub.listen(self)
            while not self._ended:
                events = await self._next()
                _heed_cancellation()
                for event in events:
                    self.last = event.id
                    self._ended = event.is_done
                    yield event
        finally:
            await self._hub.leave(self)

    async def _next(self) -> Iterable[Event]:
        if self._reads:
            self._reads = False
            return await self._read()
        if not self._live:
            self._wake.clear()
            await self._wake.wait()
            return ()
        entry = self._live.popleft()
        self._live_bytes -= len(entry.v)
        if entry.id <= self.last:
            self._reads = self._reads or entry.v.startswith(DONE)
            return ()
        if is_next(self.last, entry.id) or entry.v.startswith(SNAPSHOT):
            return (Event(entry.id, entry.v),)
        self._reads = True
        return ()

    async def _read(self) -> list[Event]:
        """What the log has after `last`; without a log that follows, what the row has."""
        self._wake.clear()  # whoever is woken from here on has heard something newer than this read
        try:
            state = await self._hub.log.read(self.pk, self.last)
        except ValkeyDown:
            return await self._read_row()
        if not state.exists and self._just_queued:
            self._just_queued = False
            if not await self._hears():
                self._reads = True
            return []
        if not state.exists or not _follows(self.last, state.entries):
            return await self._read_row(log_exists=state.exists)
        assert state.last is not None  # noqa: S101 a log that exists has a head
        if state.done and not state.entries:
            self._ended = self.last == state.last == self._after
            # Not told so by the reader: it was shown more from the row than the log ever got.
            return [] if self._ended else await self._read_row(log_exists=True)
        # More than one read holds, or the head moved on in between: read again before going live.
        reached = state.entries[-1].id if state.entries else self.last
        self._reads = self._reads or reached < state.last
        return merged(state.entries)

    async def _read_row(self, *, log_exists: bool = False) -> list[Event]:
        try:
            entries = await self._fallback(self.pk, self.last)
        except RowsDown:
            entries = []  # nothing yet
        newer = [Event(entry.id, entry.v) for entry in entries if entry.id > self.last]
        # The reader had the end already: there is nothing to wait for.
        self._ended = bool(entries) and not newer
        if not entries and log_exists:
            await asyncio.sleep(ROW_POLL_S)
        elif not entries:
            await self._hears()
        self._reads = True
        return newer

    async def _hears(self) -> bool:
        """Whether something came within ROW_POLL_S: a queued answer's first entry must not wait for a poll."""
        try:
            async with asyncio.timeout(ROW_POLL_S):
                await self._wake.wait()
        except TimeoutError:
            return False
        return True

    def _forget(self) -> None:
        self._live.clear()
        self._live_bytes = 0
        self._reads = True


def _heed_cancellation() -> None:
    """Go if we were told to: in Python 3.11 asyncio.wait_for, which the client sends by, may forget it."""
    task = asyncio.current_task()
    if task is not None and task.cancelling():
        raise asyncio.CancelledError


def _follows(last: EntryId, entries: list[Entry]) -> bool:
    """Whether a log's entries after `last` begin where the reader is: next in its attempt, or a new attempt."""
    return (
        not entries or entries[0].id.n == 0 or is_next(last, entries[0].id) or entries[0].v.startswith(DONE)
    )


def merged(entries: Iterable[Entry]) -> list[Event]:
    """Runs of deltas of one part and attempt as one event each, bounded in size; all else as it stands."""
    events: list[Event] = []
    run: list[Entry] = []
    for entry in entries:
        if run and not _joins(run, entry):
            events.append(_joined(run))
            run = []
        run.append(entry)
    if run:
        events.append(_joined(run))
    return events


MERGED_BYTES = 16 * 1024


def _joins(run: list[Entry], entry: Entry) -> bool:
    deltas = entry.v.startswith(DELTA) and run[-1].v.startswith(DELTA)
    small = sum(len(part.v) for part in run) + len(entry.v) <= MERGED_BYTES
    return deltas and small and entry.id.attempt == run[-1].id.attempt and _part(entry) == _part(run[-1])


def _part(entry: Entry) -> int:
    event = decode(entry.v)
    return event.part if isinstance(event, Delta) else -1


def _joined(run: list[Entry]) -> Event:
    if len(run) == 1:
        return Event(run[0].id, run[0].v)
    deltas = [decode(entry.v) for entry in run]
    text = "".join(delta.text for delta in deltas if isinstance(delta, Delta))
    return Event(run[-1].id, encode(Delta(_part(run[0]), text)), run[0].id.n)
