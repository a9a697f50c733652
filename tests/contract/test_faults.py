"""Each way in which an engine breaks, over real connections: the right error, and what came before it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing

import msgspec
import pytest

from inference.core.values import ChatMessage, Chunk, Patience, Progress, Request, Way
from inference.engine import OpenAIEngine
from inference.errors import InferenceError, Refused, Stalled, StreamCut, Unavailable
from tests.contract.conftest import ids_of, progress_of, replica_of, text_of, tokens_of, whole
from tests.engines import words
from tests.engines.fixtures import eventually
from tests.engines.process import FakeEngine


def asking(user: str, **more: object) -> Request:
    return msgspec.structs.replace(Request("fake", [ChatMessage("user", user)], 1000), **more)


@pytest.fixture
async def hasty() -> AsyncIterator[OpenAIEngine]:
    """A client that waits a quarter of a second."""
    client = OpenAIEngine(lambda model: Patience(first_token_s=0.25, token_gap_s=0.25))
    yield client
    await client.close()


async def collect(engine: OpenAIEngine, fake: FakeEngine, request: Request, chunks: list[Chunk]) -> None:
    async for chunk in engine.stream(replica_of(fake), request, Progress(), None):
        chunks.append(chunk)


async def broken(engine: OpenAIEngine, fake: FakeEngine, user: str) -> tuple[str, InferenceError]:
    """What came, and the error that ended it."""
    text = ""
    try:
        async for chunk in engine.stream(replica_of(fake), asking(user), Progress(), None):
            assert chunk.finish_reason is None
            text += chunk.text
    except InferenceError as error:
        return text, error
    raise AssertionError("the answer did not break")


@pytest.mark.parametrize(
    ("fault", "words_before", "reason"),
    [
        ("cut_at=5", 5, "connection"),
        ("cut_at=0", 0, "connection"),
        ("drop", 0, "connection"),
        ("error_at=0", 0, "error"),
        ("error_at=5", 5, "error"),
        ("abort_at=0", 0, "abort"),
        ("abort_at=5", 5, "abort"),
        ("odd_at=5", 5, "error"),
        ("end_at=5", 5, "eof"),
        ("end_at=20", 20, "eof"),
        ("status=500", 0, "status_500"),
    ],
)
async def test_a_broken_answer_keeps_what_came(
    engine: OpenAIEngine, fake_engine: FakeEngine, fault: str, words_before: int, reason: str
) -> None:
    text, error = await broken(engine, fake_engine, f"hello [[{fault}]]")
    assert text == words.answer(words_before)
    assert type(error) is StreamCut
    assert error.reason == reason
    assert len(fake_engine.calls_for(f"hello [[{fault}]]")) == 1


async def test_a_dead_engine_cuts_then_is_unavailable_then_serves_again(
    engine: OpenAIEngine, fake_engine: FakeEngine
) -> None:
    text, error = await broken(engine, fake_engine, "hello [[die_at=7 gap_ms=1]]")
    assert text == words.answer(7)
    assert isinstance(error, StreamCut)
    assert fake_engine.wait() == 9
    _, error = await broken(engine, fake_engine, "hello")
    assert isinstance(error, Unavailable)
    assert error.retry_after_s is None
    assert not await engine.healthy(replica_of(fake_engine))
    fake_engine.start()
    assert text_of(await whole(engine, replica_of(fake_engine), asking("hello"))) == words.answer(20)


@pytest.mark.parametrize(
    ("fault", "words_before", "reason"),
    [
        ("stall_at=5", 5, "token_gap"),
        ("stall_at=0", 0, "first_token"),
        ("headers_ms=60000", 0, "first_token"),
        ("first_ms=60000", 0, "first_token"),
    ],
)
async def test_a_silent_engine_is_left_and_told(
    hasty: OpenAIEngine, fake_engine: FakeEngine, fault: str, words_before: int, reason: str
) -> None:
    user = f"hello [[{fault}]]"
    text, error = await broken(hasty, fake_engine, user)
    assert text == words.answer(words_before)
    assert isinstance(error, Stalled)
    assert error.reason == reason
    await eventually(lambda: fake_engine.calls_for(user)[0]["ended"] == "client_closed")
    assert fake_engine.report()["running"] == 0


async def test_a_short_stall_is_waited_for(hasty: OpenAIEngine, fake_engine: FakeEngine) -> None:
    chunks = await whole(hasty, replica_of(fake_engine), asking("hello [[stall_at=5 stall_s=0.1]]"))
    assert text_of(chunks) == words.answer(20)


async def test_a_slow_reader_is_not_a_silent_engine(hasty: OpenAIEngine, fake_engine: FakeEngine) -> None:
    text = ""
    async for chunk in hasty.stream(replica_of(fake_engine), asking("hello [[gap_ms=5]]"), Progress(), None):
        if not text:
            await asyncio.sleep(0.6)  # longer than the gap that the engine may take
        text += chunk.text
    assert text == words.answer(20)


@pytest.mark.parametrize(
    ("fault", "retry_after_s"),
    [
        ("status=503 retry_after=7", 7),
        ("status=503", None),
        ("status=429 retry_after=2", 2),
        ("status=502", None),
    ],
)
async def test_a_busy_engine_is_unavailable_and_fine_later(
    engine: OpenAIEngine, fake_engine: FakeEngine, fault: str, retry_after_s: float | None
) -> None:
    user = f"hello [[{fault} times=2]]"
    for calls in (1, 2):
        with pytest.raises(Unavailable) as refused:
            await whole(engine, replica_of(fake_engine), asking(user))
        assert refused.value.retry_after_s == retry_after_s
        assert len(fake_engine.calls_for(user)) == calls
    assert text_of(await whole(engine, replica_of(fake_engine), asking(user))) == words.answer(20)


async def test_a_loading_engine_is_unavailable_and_not_healthy(
    engine: OpenAIEngine, fake_engine: FakeEngine
) -> None:
    fake_engine.control(loading=True)
    assert not await engine.healthy(replica_of(fake_engine))
    _, error = await broken(engine, fake_engine, "hello")
    assert isinstance(error, Unavailable)
    fake_engine.control(loading=False)
    assert await engine.healthy(replica_of(fake_engine))


async def test_health_that_hangs_is_none(engine: OpenAIEngine, fake_engine: FakeEngine) -> None:
    fake_engine.control(health_ms=60_000)
    assert not await asyncio.wait_for(engine.healthy(replica_of(fake_engine)), 5)


async def test_a_full_queue_is_unavailable_and_leaving_the_queue_frees_it(
    engine: OpenAIEngine, fake_engine: FakeEngine
) -> None:
    fake_engine.control(slots=1, queue_limit=1)
    replica = replica_of(fake_engine)
    running = engine.stream(replica, asking("running [[tokens=100000 gap_ms=5]]"), Progress(), None)
    await anext(running)
    waiting = asyncio.create_task(whole(engine, replica, asking("waiting")))
    await eventually(lambda: fake_engine.report()["waiting"] == 1)
    with pytest.raises(Unavailable):
        await whole(engine, replica, asking("one too many"))
    waiting.cancel()
    await eventually(lambda: fake_engine.report()["waiting"] == 0)
    await running.aclose()
    assert text_of(await whole(engine, replica, asking("hello"))) == words.answer(20)


@pytest.mark.parametrize("keeps", [True, False])
async def test_a_stop_reaches_the_engine_at_once(
    engine: OpenAIEngine, fake_engine: FakeEngine, keeps: bool
) -> None:
    user = "hello [[tokens=100000 gap_ms=20]]"
    tokens = 0
    async with aclosing(
        engine.stream(replica_of(fake_engine, keeps=keeps), asking(user, max_tokens=10_000), Progress(), None)
    ) as stream:
        async for chunk in stream:
            tokens += chunk.tokens
            if tokens == 5:
                break
    await eventually(lambda: fake_engine.report()["running"] == 0)
    (call,) = fake_engine.calls_for(user)
    assert call["ended"] == "client_closed"
    assert call["tokens"] <= 5 + 10


async def test_cancelling_the_reader_reaches_the_engine(
    engine: OpenAIEngine, fake_engine: FakeEngine
) -> None:
    user = "hello [[first_ms=60000]]"
    reading = asyncio.create_task(whole(engine, replica_of(fake_engine), asking(user)))
    await eventually(lambda: fake_engine.report()["running"] == 1)
    reading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reading
    await eventually(lambda: fake_engine.report()["running"] == 0)
    assert fake_engine.calls_for(user)[0]["ended"] == "client_closed"


@pytest.mark.parametrize("dialect", ["vllm", "llama.cpp"])
@pytest.mark.parametrize(
    "form",
    [
        "bytewise",
        "bytewise crlf",
        "crlf",
        "comments",
        "multiline",
        "multiline crlf comments bytewise",
        "empty_deltas",
        "bad_line_at=3",
        "nul_at=3",
        "split=surrogates",
        "split=surrogates bytewise",
        "split=bytes",
        "split=bytes bytewise",
        "split=empty",
    ],
)
async def test_every_form_of_a_stream_gives_the_same_answer(
    engine: OpenAIEngine, fake_engine: FakeEngine, form: str, dialect: str
) -> None:
    fake_engine.control(dialect=dialect)
    user = f"hello [[tokens=8 crab_every=2 {form}]]"
    replica = replica_of(fake_engine, continues=("ids", "text") if dialect == "vllm" else ("text",))
    chunks = await whole(engine, replica, asking(user))
    expected = words.answer(8, crab_every=2)
    assert text_of(chunks) == expected
    assert [chunk.text for chunk in chunks if words.CRAB in chunk.text] == [words.CRAB] * 4
    assert tokens_of(chunks) == len(words.encode(expected)) == 16
    assert chunks[-1].finish_reason == "stop"
    if dialect == "vllm":
        assert ids_of(chunks) == words.encode(expected)


@pytest.mark.parametrize("form", ["usage=false", "done=false", "usage=false done=false"])
async def test_an_answer_without_usage_or_done_is_whole_by_its_finish_reason(
    engine: OpenAIEngine, fake_engine: FakeEngine, form: str
) -> None:
    chunks = await whole(engine, replica_of(fake_engine), asking(f"hello [[{form}]]"))
    assert text_of(chunks) == words.answer(20)
    assert chunks[-1].finish_reason == "stop"
    assert (chunks[-1].usage is None) == ("usage=false" in form)
    assert tokens_of(chunks) == 20


async def test_a_kept_connection_gone_stale_is_no_fault(
    engine: OpenAIEngine, fake_engine: FakeEngine
) -> None:
    fake_engine.control(close_after=True)
    for n in range(4):
        assert text_of(await whole(engine, replica_of(fake_engine), asking(f"hello {n}"))) == words.answer(20)
    assert fake_engine.report()["calls"] == 4


async def test_a_kept_connection_that_breaks_under_the_request_is_tried_once_more(
    engine: OpenAIEngine, fake_engine: FakeEngine
) -> None:
    await whole(engine, replica_of(fake_engine), asking("first"))
    user = "hello [[drop]]"
    assert text_of(await whole(engine, replica_of(fake_engine), asking(user))) == words.answer(20)
    assert [call["ended"] for call in fake_engine.calls_for(user)] == ["drop", "finished"]
    await whole(engine, replica_of(fake_engine), asking("warm again"))
    user = "again [[drop always]]"
    with pytest.raises(StreamCut):
        await whole(engine, replica_of(fake_engine), asking(user))
    assert len(fake_engine.calls_for(user)) == 2


@pytest.mark.parametrize("way", ["ids", "text"])
@pytest.mark.parametrize("cut", [1, 3, 6, 11])
@pytest.mark.parametrize("fault", ["cut", "abort", "error", "end"])
async def test_another_replica_goes_on_where_one_broke(
    engine: OpenAIEngine,
    fake_engine: FakeEngine,
    second_fake_engine: FakeEngine,
    way: Way,
    cut: int,
    fault: str,
) -> None:
    request = asking(f"hello [[crab_every=3 seeded {fault}_at={cut}]]")
    before: list[Chunk] = []
    with pytest.raises(StreamCut):
        await collect(engine, fake_engine, request, before)
    rest = await whole(engine, replica_of(second_fake_engine), request, progress_of(before), way)
    expected = words.answer(20, words.seed_of(request.messages[-1].content), crab_every=3)
    assert text_of(before) + text_of(rest) == expected
    assert tokens_of(before) + tokens_of(rest) == len(words.encode(expected))
    (call,) = second_fake_engine.calls_for(request.messages[-1].content)
    assert (call["way"], call["begun"], call["mismatch"]) == (way, text_of(before), False)


async def test_with_stop_strings_no_ids_are_kept(engine: OpenAIEngine, fake_engine: FakeEngine) -> None:
    """The engine holds text back but not ids, so they would not belong together."""
    chunks = await whole(engine, replica_of(fake_engine), asking("hello", stop=["END"]))
    assert text_of(chunks) == words.answer(20)
    assert ids_of(chunks[:-1]) is None


async def test_a_fault_may_be_one_engines_own(engine: OpenAIEngine, fake_engine: FakeEngine) -> None:
    assert text_of(await whole(engine, replica_of(fake_engine), asking("hi [[drop on=b]]"))) == words.answer(
        20
    )
    _, error = await broken(engine, fake_engine, "hi [[cut_at=3 on=a]]")
    assert isinstance(error, StreamCut)


@pytest.mark.parametrize("dialect", ["vllm", "llama.cpp"])
async def test_no_error_quotes_the_prompt(
    engine: OpenAIEngine, fake_engine: FakeEngine, dialect: str
) -> None:
    fake_engine.control(dialect=dialect, context_length=50)
    with pytest.raises(Refused) as refused:
        await whole(engine, replica_of(fake_engine), asking("my secret " * 100))
    assert "secret" not in repr(refused.value) + str(vars(refused.value))
    assert refused.value.__cause__ is None


async def test_fifty_readers_that_leave_take_their_load_along(
    engine: OpenAIEngine, fake_engine: FakeEngine
) -> None:
    fake_engine.control(slots=20)
    readers = [
        asyncio.create_task(
            whole(engine, replica_of(fake_engine), asking(f"hello {n} [[tokens=100000 gap_ms=20]]"))
        )
        for n in range(50)
    ]
    await eventually(lambda: fake_engine.report()["running"] == 20 and fake_engine.report()["waiting"] == 30)
    for reader in readers:
        reader.cancel()
    await asyncio.gather(*readers, return_exceptions=True)
    await eventually(
        lambda: fake_engine.report()["running"] + fake_engine.report()["waiting"] == 0, within_s=2
    )
