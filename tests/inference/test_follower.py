"""A reader of a log on a real Valkey, with a writer that loses what a network loses: nothing lost, nothing twice."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from uuid import UUID, uuid4

import pytest
import redis.asyncio

from inference import follower, hub, keys
from inference.core.events import BEFORE_ALL, ROW_DONE_N, EntryId, Open, Snapshot, text_parts
from inference.follower import Follower
from inference.hub import Hub
from tests.inference.following import Reading, Rows, Writer, cut_subscribers, hub_at

Follow = Callable[..., Awaitable[Reading]]


@pytest.fixture(autouse=True)
def _patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Silence is judged late, so that no test passes by it unless it says so; polls are quick."""
    monkeypatch.setattr(hub, "SILENCE_S", 3600.0)
    monkeypatch.setattr(hub, "RETRY_S", 0.05)
    monkeypatch.setattr(follower, "ROW_POLL_S", 0.01)


@pytest.fixture
async def store(valkey_url: str) -> AsyncIterator["redis.asyncio.Redis"]:
    async with redis.asyncio.Redis.from_url(valkey_url) as client:
        yield client


@pytest.fixture
async def center(valkey_url: str) -> AsyncIterator[Hub]:
    async with hub_at(valkey_url) as made:
        yield made


@pytest.fixture
def writer(store: "redis.asyncio.Redis") -> Writer:
    return Writer(store)


@pytest.fixture
def rows() -> Rows:
    return Rows()


@pytest.fixture
async def follow(center: Hub, writer: Writer, rows: Rows) -> AsyncIterator[Follow]:
    """Begins to read; `after` an id, or from the start."""
    readings: list[Reading] = []

    async def begin(after: EntryId | None = None) -> Reading:
        readings.append(Reading(Follower(center, writer.pk, after, rows)))
        return readings[-1]

    yield begin
    for reading in readings:
        reading.task.cancel()
        await asyncio.gather(reading.task, return_exceptions=True)


async def test_live_from_the_start_to_the_end(writer: Writer, follow: Follow) -> None:
    await writer.open()
    reading = await follow()
    for text in ("Hel", "lo", "", " 🦀"):
        await writer.say(text)
        await reading.has(writer.text)
    await writer.finish()
    await reading.ends()
    assert [str(event.id) for event in reading.events] == ["1-0", "1-1", "1-2", "1-3", "1-4", "1-5"]


async def test_joining_late_gets_what_was_said_merged(writer: Writer, follow: Follow) -> None:
    await writer.open()
    await writer.say(*"abcdef")
    reading = await follow()
    await reading.has("abcdef")
    assert [(str(event.id), event.n_from) for event in reading.events] == [("1-0", None), ("1-6", 1)]
    await writer.say("g")
    await reading.has("abcdefg")


async def test_joining_again_after_an_id(writer: Writer, follow: Follow) -> None:
    await writer.open()
    await writer.say(*"abcd")
    reading = await follow(EntryId(1, 2))
    await writer.finish()
    await reading.ends()
    assert reading.reader.text == "cd"


async def test_before_anything_was_written(writer: Writer, follow: Follow, rows: Rows) -> None:
    reading = await follow()
    await rows.asked.wait()
    await writer.open()
    await writer.say("a")
    await reading.has("a")


async def test_a_lost_publication_is_read_once_the_next_shows_the_gap(writer: Writer, follow: Follow) -> None:
    await writer.open()
    reading = await follow()
    await writer.say("a")
    await reading.has("a")
    await writer.say_unheard("b")
    await writer.say("c")
    await reading.has("abc")


async def test_a_lost_last_message_is_found_in_the_silence(
    writer: Writer, follow: Follow, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hub, "SILENCE_S", 0.05)
    await writer.open()
    reading = await follow()
    await writer.say("a")
    await reading.has("a")
    await writer.say_unheard("b")
    await reading.has("ab")


async def test_a_takeover_goes_on_where_the_text_stands(writer: Writer, follow: Follow) -> None:
    await writer.open()
    reading = await follow()
    await writer.say("ab")
    await reading.has("ab")
    await writer.open(Open(2, "resumed"))
    await writer.say("c")
    await writer.finish()
    await reading.ends()
    assert reading.reader.text == "abc"


async def test_flushed_in_mid_stream_the_renewal_brings_all(
    writer: Writer, follow: Follow, rows: Rows
) -> None:
    await writer.open()
    reading = await follow()
    await writer.say("ab")
    await reading.has("ab")
    await writer.flush()
    writer.text += "cd"
    await writer.open(Snapshot(text_parts("abcd")))
    await writer.say("e")
    await reading.has("abcde")
    assert not rows.asked.is_set()


async def test_while_the_log_is_away_the_checkpoints_are_shown(
    writer: Writer, follow: Follow, rows: Rows
) -> None:
    await writer.open()
    reading = await follow()
    await writer.say("ab")
    await reading.has("ab")
    await writer.flush()
    reading.source.must_read()
    await rows.asked.wait()
    rows.save(EntryId(1, 7), "abcd")
    await reading.has("abcd")
    writer.text = "abcdef"
    await writer.open(Snapshot(text_parts(writer.text)))
    await writer.say("g")
    await writer.finish()
    await reading.ends()
    assert reading.reader.text == "abcdefg"


async def test_without_log_and_rows_it_waits_for_either(writer: Writer, follow: Follow, rows: Rows) -> None:
    await writer.open()
    reading = await follow()
    await writer.say("ab")
    await reading.has("ab")
    rows.away = True
    await writer.flush()
    reading.source.must_read()
    await rows.asked.wait()
    rows.end(1, "abcd")
    rows.away = False
    await reading.ends()
    assert reading.reader.text == "abcd"


async def test_the_log_gone_for_good_the_row_ends_it(writer: Writer, follow: Follow, rows: Rows) -> None:
    await writer.open()
    reading = await follow()
    await writer.say("ab")
    await reading.has("ab")
    await writer.flush()
    rows.end(1, "abcd")
    reading.source.must_read()
    await reading.ends()
    assert (reading.reader.text, str(reading.reader.last)) == ("abcd", f"1-{ROW_DONE_N}")
    again = await follow(reading.reader.last)
    await again.ends()
    assert again.events == []


async def test_a_log_that_begins_too_late_is_not_read(writer: Writer, follow: Follow, rows: Rows) -> None:
    """An older replica lost its beginning: entries that do not follow are never shown."""
    await writer.open()
    await writer.say(*"abc")
    await writer._valkey.xdel(keys.log_entries(writer.pk), "1-0", "1-1")
    rows.end(1, "abc")
    reading = await follow()
    await reading.ends()
    assert reading.reader.text == "abc"


async def test_a_slow_reader_costs_bounded_memory_and_gets_all_merged(writer: Writer, follow: Follow) -> None:
    await writer.open()
    reading = await follow()
    await reading.has("")
    reading.may_go_on.clear()
    other = await follow()
    for n in range(12):
        await writer.say(*(f"{n}.{m} " for m in range(100)))
    await other.has(writer.text)
    assert len(reading.source._live) <= follower.BUFFER_EVENTS
    assert reading.source._live_bytes <= follower.BUFFER_BYTES
    reading.may_go_on.set()
    await reading.has(writer.text)
    assert len(reading.events) < 20
    await writer.say("!")
    await reading.has(writer.text)


async def test_few_large_events_are_bounded_by_bytes(writer: Writer, follow: Follow) -> None:
    await writer.open()
    reading = await follow()
    await reading.has("")
    reading.may_go_on.clear()
    other = await follow()
    for _ in range(5):
        await writer.say("x" * 40_000)
    await other.has(writer.text)
    assert reading.source._live_bytes <= follower.BUFFER_BYTES
    reading.may_go_on.set()
    await reading.has(writer.text)


@pytest.mark.parametrize("burst", [1, follower.BUFFER_EVENTS + 1])
async def test_what_comes_during_a_read_is_not_forgotten(
    center: Hub, writer: Writer, follow: Follow, monkeypatch: pytest.MonkeyPatch, burst: int
) -> None:
    """Even when it overflows the buffer, or the connection was lost meanwhile, and nothing comes after it."""
    await writer.open()
    other = await follow()
    await other.has("")
    read, slow = center.log.read, asyncio.Event()

    async def read_slowly(pk: UUID, after: EntryId, count: int | None = None) -> object:
        state = await read(pk, after, count)
        if after == BEFORE_ALL and not slow.is_set():
            slow.set()
            await writer.say(*("x" * burst))
            await other.has(writer.text)
            if burst == 1:
                reading.source._live.clear()
                reading.source.must_read()
        return state

    monkeypatch.setattr(center.log, "read", read_slowly)
    reading = await follow()
    await reading.has("x" * burst)


async def test_a_lost_subscriber_connection_loses_and_repeats_nothing(
    store: "redis.asyncio.Redis", writer: Writer, follow: Follow
) -> None:
    await writer.open()
    first, second = await follow(), await follow()
    for n in range(5):
        await writer.say(f"{n} ")
        await first.has(writer.text)
        await cut_subscribers(store)
        await writer.say("gone ")
        await first.has(writer.text)
        await second.has(writer.text)
    await writer.finish()
    await first.ends()
    await second.ends()


@pytest.mark.parametrize("state", ["complete", "blocked"])
async def test_a_log_that_ended_ends_at_once(writer: Writer, follow: Follow, rows: Rows, state: str) -> None:
    await writer.open()
    await writer.say("ab")
    await writer.finish(state)
    reading = await follow()
    await reading.ends()
    assert reading.reader.text == ("ab" if state == "complete" else "")
    again = await follow(writer.done)
    await again.ends()
    assert again.events == []
    assert not rows.asked.is_set()


async def test_a_reader_ahead_of_a_log_that_ended_takes_the_row(
    writer: Writer, follow: Follow, rows: Rows
) -> None:
    """It saw an attempt that Postgres and Valkey forgot; the answer was made again below it."""
    await writer.open()
    await writer.say("ab")
    await writer.finish()
    rows.end(1, "ab")
    for entry in rows.entries:
        rows.entries[rows.entries.index(entry)] = entry._replace(id=EntryId(3, entry.id.n))
    reading = await follow(EntryId(3, 5))
    await reading.ends()
    assert reading.reader.text == "ab"


async def test_a_done_below_what_the_checkpoints_showed_still_ends_it(
    writer: Writer, follow: Follow, rows: Rows
) -> None:
    """While Valkey was away more was saved and shown than the log ever got before the answer ended."""
    await writer.open()
    reading = await follow()
    await writer.say("a")
    await reading.has("a")
    await writer.flush()
    rows.save(EntryId(2, 4), "abcd")
    reading.source.must_read()
    await reading.has("abcd")
    writer.text = "abcd"
    await writer.open(Snapshot(text_parts("abcd")))
    rows.end(2, "abcd")
    await writer.finish()
    await reading.ends()
    assert (reading.reader.text, reading.reader.done is not None) == ("abcd", True)


async def test_the_last_to_leave_ends_the_subscription(
    store: "redis.asyncio.Redis", center: Hub, writer: Writer, follow: Follow
) -> None:
    await writer.open()
    for _ in range(5):
        readings = [await follow(), await follow()]
        for reading in readings:
            await reading.has(writer.text)
        assert center.readers == 2
        await writer.say("a")
        for reading in readings:
            await reading.has(writer.text)
            reading.task.cancel()
            await asyncio.gather(reading.task, return_exceptions=True)
        assert center.readers == 0
    last = await follow()
    await last.has(writer.text)
    await writer.say("!")
    await last.has(writer.text)


async def test_who_goes_before_it_began_is_forgotten(center: Hub, writer: Writer, follow: Follow) -> None:
    await writer.open()
    for steps in range(12):
        reading = await follow()
        for _ in range(steps):
            await asyncio.sleep(0)
        reading.task.cancel()
        await asyncio.gather(reading.task, return_exceptions=True)
        assert center.readers == 0
    last = await follow()
    await writer.say("a")
    await last.has("a")


async def test_without_valkey_the_row_is_read(unused_tcp_port: int, rows: Rows) -> None:
    rows.end(2, "text")
    async with hub_at(f"redis://127.0.0.1:{unused_tcp_port}") as away:
        reading = Reading(Follower(away, uuid4(), None, rows))
        await reading.ends()
    assert reading.reader.text == "text"
