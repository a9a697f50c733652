"""What each log script answers to whom, case by case."""

from collections.abc import AsyncIterator
from uuid import UUID, uuid4

import pytest
import redis.asyncio

from inference import keys
from inference.core.events import BEFORE_ALL, EntryId
from inference.streams import Answered, Batch, Log

A, B = uuid4(), uuid4()


class One:
    """One answer's log, written to by hand."""

    def __init__(self, valkey: "redis.asyncio.Redis") -> None:
        self.log, self.valkey, self.pk = Log(valkey), valkey, uuid4()

    async def open(self, attempt: int, owner: UUID = A, stands_on: EntryId | None = None) -> Answered:
        return await self.log.open(self.pk, attempt, owner, b"open", b"x", b"request", 60, stands_on)

    async def append(self, attempt: int, n: int, *texts: bytes, owner: UUID = A) -> Answered:
        batch = Batch(self.pk, attempt, owner, n, [(text, b"x") for text in texts])
        (answered,) = await self.log.append([batch])
        assert answered is not None
        return answered

    async def finish(
        self, attempt: int, n: int | None, owner: UUID | None = A, *, purge: bool = False
    ) -> Answered:
        return await self.log.finish(self.pk, attempt, owner, n, b"done", purge=purge)

    async def written(self) -> list[tuple[str, bytes]]:
        state = await self.log.read(self.pk, BEFORE_ALL)
        return [(str(entry.id), entry.v) for entry in state.entries]


@pytest.fixture
async def one(valkey_url: str) -> AsyncIterator[One]:
    async with redis.asyncio.Redis.from_url(valkey_url) as valkey:
        yield One(valkey)


async def test_open(one: One) -> None:
    assert await one.open(2) == ("ok", 0)
    assert await one.open(2) == ("dup", 0)
    assert await one.open(2, B) == ("fenced", 2)
    assert await one.open(1) == ("fenced", 2)
    assert await one.open(3, B) == ("ok", 0)
    assert await one.open(2) == ("fenced", 3)
    await one.finish(3, None, B)
    assert await one.open(3, B) == ("done", 3)
    assert await one.open(4) == ("done", 3)
    assert await one.open(3) == ("fenced", 3)
    assert await one.written() == [("2-0", b"open"), ("3-0", b"open"), ("3-1", b"done")]


async def test_an_open_that_keeps_text_stands_on_the_entry_it_read(one: One) -> None:
    """Else the log would begin, or go on, with a text that it does not have."""
    assert await one.open(2, stands_on=EntryId(1, 3)) == ("gone", 0)
    assert await one.written() == []
    await one.open(1)
    await one.append(1, 1, b"a", b"b")
    assert await one.open(2, B, EntryId(1, 3)) == ("gone", 1)
    assert await one.open(2, B, EntryId(1, 1)) == ("gone", 1)
    assert await one.open(2, B, EntryId(1, 2)) == ("ok", 0)
    assert await one.open(2, B, EntryId(1, 2)) == ("dup", 0)
    assert await one.append(1, 3, b"c") == ("fenced", 2)


async def test_append(one: One) -> None:
    assert await one.append(1, 1, b"a") == ("gone", 0)
    await one.open(1)
    assert await one.append(1, 1, b"a", b"b") == ("ok", 2)
    assert await one.append(1, 1, b"a", b"b") == ("dup", 2)
    assert await one.append(1, 4, b"d") == ("behind", 2)
    assert await one.append(1, 3, b"c", owner=B) == ("fenced", 1)
    assert await one.append(2, 1, b"c", owner=B) == ("gone", 0)
    assert await one.append(1, 3, b"c") == ("ok", 3)
    assert await one.written() == [("1-0", b"open"), ("1-1", b"a"), ("1-2", b"b"), ("1-3", b"c")]


@pytest.mark.parametrize("purge", [False, True])
async def test_nothing_follows_done_though_its_owner_sends_it(one: One, purge: bool) -> None:
    """A batch that was under way while the answer ended; withdrawn text would be back in the log."""
    await one.open(1)
    await one.append(1, 1, b"a")
    await one.finish(1, None, purge=purge)
    assert await one.append(1, 2, b"b", b"c") == ("fenced", 1)
    assert await one.append(1, 3, b"c") == ("fenced", 1)
    assert await one.written() == [("1-0", b"open"), ("1-1", b"a")] * (not purge) + [("1-2", b"done")]
    assert await one.valkey.exists(keys.log_request(one.pk)) == (not purge)


async def test_finish(one: One) -> None:
    assert await one.finish(1, None) == ("none", 0)
    assert await one.valkey.dbsize() == 0
    await one.open(1)
    await one.append(1, 1, b"a")
    assert await one.finish(1, 4) == ("behind", 1)
    assert await one.finish(1, 2, B) == ("fenced", 1)
    assert await one.finish(0, None, None) == ("fenced", 1)
    assert await one.finish(1, 2) == ("ok", 2)
    assert await one.finish(1, 2) == ("dup", 2)
    assert await one.finish(2, None, B) == ("dup", 2)
    assert await one.written() == [("1-0", b"open"), ("1-1", b"a"), ("1-2", b"done")]
    for name in (keys.log_hash(one.pk), keys.log_entries(one.pk), keys.log_request(one.pk)):
        assert 0 < await one.valkey.ttl(name) <= keys.FINISHED_TTL_S


async def test_finish_takes_over_an_older_attempt(one: One) -> None:
    await one.open(1)
    await one.append(1, 1, b"a")
    assert await one.finish(3, 9, B) == ("ok", 0)
    assert await one.written() == [("1-0", b"open"), ("1-1", b"a"), ("3-0", b"done")]
    assert await one.append(1, 2, b"b") == ("fenced", 3)


async def test_scripts_that_valkey_forgot_are_loaded_again(one: One) -> None:
    await one.open(1)
    await one.valkey.script_flush()
    assert await one.append(1, 1, b"a") == ("ok", 1)
    await one.valkey.script_flush()
    assert await one.finish(1, 2) == ("ok", 2)
