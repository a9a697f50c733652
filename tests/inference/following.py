"""A writer of a log, what Postgres has of it, and a client of a follower that lets no gap pass."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from uuid import UUID, uuid4

import redis.asyncio

from inference import follower, keys
from inference.core.events import (
    ROW_DONE_N,
    ROW_SNAPSHOT_N,
    Delta,
    Done,
    EntryId,
    Event,
    Open,
    Snapshot,
    decode,
    encode,
    text_parts,
)
from inference.core.reader import Action, Reader
from inference.follower import Follower
from inference.hub import Hub
from inference.seams import RowsDown
from inference.streams import Batch, Entry, Log

WAIT_S = 10.0


class Writer:
    """The one who writes an answer; `unheard` goes to the log while its publication is lost."""

    def __init__(self, valkey: "redis.asyncio.Redis") -> None:
        self._valkey, self._log = valkey, Log(valkey)
        self.pk, self.owner = uuid4(), uuid4()
        self.attempt, self.n, self.text = 0, -1, ""

    async def open(self, event: Event | None = None) -> None:
        self.attempt, self.n = self.attempt + 1, 0
        v = encode(event or Open(len(self.text), "start"))
        assert (await self._log.open(self.pk, self.attempt, self.owner, v, b"", b"{}", 600)).word == "ok"

    async def say(self, *texts: str) -> None:
        entries = [(encode(Delta(0, text)), b"") for text in texts]
        batch = Batch(self.pk, self.attempt, self.owner, self.n + 1, entries)
        (answered,) = await self._log.append([batch])
        assert answered is not None
        assert answered.word == "ok"
        self.n, self.text = batch.n_to, self.text + "".join(texts)

    async def say_unheard(self, text: str) -> None:
        self.n, self.text = self.n + 1, self.text + text
        name = f"{self.attempt}-{self.n}"
        await self._valkey.xadd(keys.log_entries(self.pk), {"v": encode(Delta(0, text)), "x": b""}, id=name)
        await self._valkey.hset(keys.log_hash(self.pk), "n", str(self.n))

    async def finish(self, state: str = "complete") -> None:
        event = encode(Done(state, len(self.text)))
        purge = state == "blocked"
        await self._log.finish(self.pk, self.attempt, self.owner, None, event, purge=purge)

    async def flush(self) -> None:
        await self._valkey.delete(
            keys.log_hash(self.pk), keys.log_entries(self.pk), keys.log_request(self.pk)
        )

    @property
    def done(self) -> EntryId:
        return EntryId(self.attempt, self.n + 1)


class Reading:
    """A client of a follower: takes its events by the reader rule, and must never meet a gap."""

    def __init__(self, source: Follower) -> None:
        self.source, self.reader = source, Reader(last=source.last)
        self.events: list[follower.Event] = []
        self.may_go_on = asyncio.Event()
        self.may_go_on.set()
        self._moved = asyncio.Event()
        self.task = asyncio.create_task(self._run())
        self.task.add_done_callback(lambda _: self._moved.set())

    async def _run(self) -> None:
        async for event in self.source:
            self.events.append(event)
            assert self.reader.take(event.id, decode(event.v), event.n_from) not in {Action.GAP, Action.DROP}
            self._moved.set()
            await self.may_go_on.wait()

    async def has(self, text: str) -> None:
        """Wait until exactly this is shown, after one event at least."""
        await self._until(lambda: bool(self.events) and self.reader.text == text)

    async def ends(self) -> None:
        """Wait for the end of the iteration; its task shows what went wrong."""
        async with asyncio.timeout(WAIT_S):
            await self.task

    async def _until(self, holds: Callable[[], bool]) -> None:
        async with asyncio.timeout(WAIT_S):
            while not holds():
                if self.task.done():
                    self.task.result()
                    raise AssertionError(f"it ended with {self.reader.text!r}")
                self._moved.clear()
                await self._moved.wait()


class Rows:
    """What Postgres has: a text that was saved, or an end."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self.asked = asyncio.Event()
        self.away = False

    async def __call__(self, pk: UUID, last: EntryId) -> list[Entry]:
        self.asked.set()
        if self.away:
            raise RowsDown
        return [entry for entry in self.entries if entry.id > last or entry.v.startswith(follower.DONE)]

    def save(self, entry: EntryId, text: str) -> None:
        self.entries = [Entry(entry, encode(Snapshot(text_parts(text))))]

    def end(self, attempt: int, text: str) -> None:
        self.save(EntryId(attempt, ROW_SNAPSHOT_N), text)
        self.entries.append(Entry(EntryId(attempt, ROW_DONE_N), encode(Done("complete", len(text)))))


@asynccontextmanager
async def hub_at(url: str) -> AsyncIterator[Hub]:
    """A hub with connections of its own, whose tasks end with it."""
    async with redis.asyncio.Redis.from_url(url) as client, redis.asyncio.Redis.from_url(url) as subscriber:
        made = Hub(client, subscriber)
        yield made
        await made.close()


async def cut_subscribers(valkey: "redis.asyncio.Redis") -> None:
    """End the subscriber's connection to this worker's database (other workers use the same server)."""
    mine = str(valkey.get_connection_kwargs().get("db", 0))
    found = [client for client in await valkey.client_list("pubsub") if client["db"] == mine]
    assert found
    for client in found:
        await valkey.client_kill_filter(client["id"])
