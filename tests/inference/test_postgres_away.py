"""A dispatcher whose Postgres gives no answer: what it may own it must not forget, its lease hides it from others."""

from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import Any
from uuid import UUID, uuid4

import pytest
import redis.asyncio

from inference import closing, dispatcher, keys
from inference.answer import Answer, Claim, Halt, Work
from inference.closing import Closer
from inference.core.fair import Entry
from inference.core.values import ChatMessage, Chunk, Progress, Request
from inference.dispatcher import Dispatcher
from inference.seams import RowsDown, Waiting

PK, OWNER = uuid4(), uuid4()
CLAIM = Claim(PK, 1, "m", "1", None, 0, False, 60.0)


class Flaky:
    """Rows and sink that fail twice before they answer."""

    def __init__(self) -> None:
        self.calls = 0
        self.stored: set[UUID] | None = set()

    def _answer(self, answer: Any) -> Any:
        self.calls += 1
        if self.calls < 3:
            raise RowsDown
        return answer

    async def claim(self, pk: UUID, owner: UUID) -> Claim:
        return self._answer(CLAIM)

    async def hand_back(self, pk: UUID, attempt: int, owner: UUID, *, failures: int) -> Waiting:
        return self._answer(Waiting("m", Entry(pk, "begun", "s", "u", 1, 7, 60_000)))

    async def checkpoint(self, owner: UUID, pieces: Any) -> set[UUID]:
        if self.stored is None:
            raise RowsDown
        return self.stored


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(closing, "RETRY_S", 0)
    monkeypatch.setattr(dispatcher, "RETRY_S", 0)


@pytest.fixture
async def store(valkey_url: str) -> AsyncIterator["redis.asyncio.Redis"]:
    async with redis.asyncio.Redis.from_url(valkey_url) as client:
        yield client


@pytest.fixture
def rows() -> Flaky:
    return Flaky()


@pytest.fixture
def one(rows: Flaky) -> Dispatcher:
    unused: Any = None
    registry: Any = SimpleNamespace(models=[])
    return Dispatcher(
        OWNER,
        rows=rows,  # type: ignore[arg-type]
        sink=rows,  # type: ignore[arg-type]
        load=unused,
        transform=unused,
        engine=unused,
        registry=registry,
        valkey=unused,
        subscriber=unused,
    )


async def test_a_claim_is_asked_for_until_it_is_known(one: Dispatcher, rows: Flaky) -> None:
    assert await one._claim(PK) is CLAIM
    assert rows.calls == 3


async def test_a_drain_ends_the_asking(one: Dispatcher, rows: Flaky) -> None:
    one.drain()
    assert await one._claim(PK) is None


async def test_a_hand_back_is_tried_until_it_is_done(store: "redis.asyncio.Redis", rows: Flaky) -> None:
    unused: Any = None
    closer = Closer(rows, unused, unused, store)  # type: ignore[arg-type]
    await closer.hand_back_claim(CLAIM, OWNER, 0)
    assert await store.hkeys(keys.queue_line("m", "begun")) == [str(PK).encode()]


@pytest.mark.parametrize(
    ("stored", "opened", "renewed", "expected"),
    [
        (set(), True, False, [Halt.FENCED]),
        ({PK}, True, False, []),
        (None, True, False, []),
        (set(), False, False, []),
        (set(), True, True, []),
    ],
)
async def test_what_postgres_no_longer_takes_is_another_ones(
    one: Dispatcher, rows: Flaky, stored: set[UUID] | None, opened: bool, renewed: bool, expected: list[Halt]
) -> None:
    """Unless it could not be asked, or our own new attempt is under way."""
    answer = Answer(CLAIM, OWNER, Work(Request("m", [ChatMessage("user", "x")], 10), Progress()))
    answer.opened = opened
    answer.add(Chunk(text="a", ids=[1], tokens=1))
    halts: list[Halt] = []
    attempt: Any = SimpleNamespace(answer=answer, halt=halts.append)
    one._attempts[PK] = attempt
    rows.stored = stored
    take = rows.checkpoint

    async def checkpoint(owner: UUID, pieces: Any) -> set[UUID]:
        if renewed:
            answer.renew(2)
            answer.opened = True
        return await take(owner, pieces)

    rows.checkpoint = checkpoint  # type: ignore[method-assign]
    await one._checkpoint()
    assert halts == expected
    assert (answer.piece() is None) == (stored == {PK})
