"""The waiting line and the slots on a real Valkey: order of arrival, and never more slots than a replica has."""

import asyncio
from collections.abc import AsyncIterator
from uuid import UUID, uuid4

import pytest
import redis.asyncio
from hypothesis import given
from hypothesis import strategies as st

from inference import keys, queue
from inference.queue import Queue


@pytest.fixture
async def store(valkey_url: str) -> AsyncIterator["redis.asyncio.Redis"]:
    async with redis.asyncio.Redis.from_url(valkey_url) as client:
        yield client


@pytest.fixture
def line(store: "redis.asyncio.Redis") -> Queue:
    return Queue(store, "m")


async def claimed(line: Queue, owner: UUID, *, replica: str = "r", limit: int = 100) -> UUID | None:
    raw = await line.claim(replica, owner, limit)
    return None if raw is None else UUID(raw.decode())


async def slots(store: "redis.asyncio.Redis", replica: str = "r") -> set[str]:
    return {member.decode() for member in await store.zrange(keys.queue_slots("m", replica), 0, -1)}


async def expire_slots(store: "redis.asyncio.Redis", replica: str = "r") -> None:
    """As if SLOT_TTL_S had passed without a renewal."""
    name = keys.queue_slots("m", replica)
    for member in await store.zrange(name, 0, -1):
        await store.zincrby(name, -queue.SLOT_TTL_S, member)


async def test_first_come_first_served_and_put_again_keeps_its_place(line: Queue) -> None:
    pks, owner = [uuid4() for _ in range(4)], uuid4()
    for at, pk in ((300, pks[3]), (100, pks[1]), (200, pks[2]), (50, pks[0]), (999, pks[0]), (1, pks[3])):
        await line.put(pk, at)
    assert [await line.place(pk) for pk in pks] == [0, 1, 2, 3]
    assert [await claimed(line, owner) for _ in pks] == pks
    assert await claimed(line, owner) is None
    assert await line.place(pks[0]) is None


async def test_nothing_is_taken_out_while_no_slot_is_free(line: Queue) -> None:
    pks, owner = [uuid4() for _ in range(3)], uuid4()
    for at, pk in enumerate(pks):
        await line.put(pk, at)
    assert [await claimed(line, owner, limit=2) for _ in pks] == [pks[0], pks[1], None]
    assert await line.place(pks[2]) == 0
    assert await claimed(line, owner, replica="other", limit=1) == pks[2]


async def test_a_slot_is_released_by_its_owner_only(store: "redis.asyncio.Redis", line: Queue) -> None:
    pk, winner, loser = uuid4(), uuid4(), uuid4()
    for owner in (loser, winner):
        await line.put(pk, 1)
        assert await claimed(line, owner) == pk
    await line.release(pk, loser, "r")
    assert await slots(store) == {f"{pk}:{winner}"}
    await line.release(pk, winner, "elsewhere")
    assert await slots(store) == {f"{pk}:{winner}"}
    await line.release(pk, winner, "r")
    await line.release(pk, winner, "r")
    assert await slots(store) == set()


async def test_slots_expire_by_the_servers_time_unless_renewed(
    store: "redis.asyncio.Redis", line: Queue
) -> None:
    pks, owner, other = [uuid4() for _ in range(3)], uuid4(), uuid4()
    for at, pk in enumerate(pks):
        await line.put(pk, at)
    assert [await claimed(line, who, limit=2) for who in (owner, other)] == pks[:2]
    now, _ = await store.time()
    scores = [score for _, score in await store.zrange(keys.queue_slots("m", "r"), 0, -1, withscores=True)]
    assert all(now + queue.SLOT_TTL_S - 1 <= score <= now + queue.SLOT_TTL_S for score in scores)
    await expire_slots(store)
    await line.renew("r", owner, [pks[0]])
    assert await claimed(line, owner, limit=1) is None
    assert await slots(store) == {f"{pks[0]}:{owner}"}
    assert await claimed(line, owner, limit=2) == pks[2]


async def test_renewing_makes_no_slot_anew(store: "redis.asyncio.Redis", line: Queue) -> None:
    await line.renew("r", uuid4(), [uuid4()])
    await line.renew("r", uuid4(), [])
    assert await slots(store) == set()


async def test_putting_and_releasing_wake_the_dispatchers(store: "redis.asyncio.Redis", line: Queue) -> None:
    async with store.pubsub() as channel:
        await channel.subscribe(keys.queue_channel("m"))
        assert (await channel.get_message(timeout=5))["type"] == "subscribe"
        await line.put(uuid4(), 1)
        assert (await channel.get_message(timeout=5))["data"] == b"put"
        await line.release(uuid4(), uuid4(), "r")
        assert (await channel.get_message(timeout=5))["data"] == b"free"


async def test_many_at_once_take_each_entry_once_and_no_slot_too_many(
    store: "redis.asyncio.Redis", line: Queue
) -> None:
    pks = [uuid4() for _ in range(30)]
    for at, pk in enumerate(pks):
        await line.put(pk, at)
    owners = [uuid4() for _ in range(40)]
    taken = await asyncio.gather(*(claimed(line, owner, limit=7) for owner in owners))
    assert sorted(filter(None, taken)) == sorted(pks[:7])
    assert len(await slots(store)) == 7


class Model:
    """The line and its slots as section 5 of the protocol says."""

    def __init__(self) -> None:
        self.waiting: dict[int, int] = {}
        self.slots: dict[tuple[int, int], bool] = {}

    def claim(self, who: int, limit: int) -> int | None:
        self.slots = {slot: alive for slot, alive in self.slots.items() if alive}
        if len(self.slots) >= limit or not self.waiting:
            return None
        head = min(self.waiting, key=lambda n: (self.waiting[n], str(PKS[n])))
        del self.waiting[head]
        self.slots[head, who] = True
        return head


PKS = [UUID(int=n) for n in range(5)]
OWNERS = [UUID(int=100 + n) for n in range(3)]
numbers, owners = st.integers(0, 4), st.integers(0, 2)
steps = st.one_of(
    st.tuples(st.just("put"), numbers, st.integers(0, 3)),
    st.tuples(st.just("claim"), owners, st.integers(1, 3)),
    st.tuples(st.just("release"), numbers, owners),
    st.tuples(st.just("renew"), numbers, owners),
    st.tuples(st.just("expire"), st.just(0), st.just(0)),
    st.tuples(st.just("lose"), st.just(0), st.just(0)),
)


async def step(
    store: "redis.asyncio.Redis", line: Queue, model: Model, name: str, one: int, two: int
) -> None:
    match name:
        case "put":
            await line.put(PKS[one], two)
            model.waiting.setdefault(one, two)
        case "claim":
            head = model.claim(one, two)
            assert await claimed(line, OWNERS[one], limit=two) == (None if head is None else PKS[head])
        case "release":
            await line.release(PKS[one], OWNERS[two], "r")
            model.slots.pop((one, two), None)
        case "renew":
            await line.renew("r", OWNERS[two], [PKS[one]])
            if (one, two) in model.slots:
                model.slots[one, two] = True
        case "expire":
            await expire_slots(store)
            model.slots = dict.fromkeys(model.slots, False)
        case "lose":
            await store.flushdb()
            model.waiting.clear()
            model.slots.clear()
    assert await slots(store) == {f"{PKS[pk]}:{OWNERS[who]}" for pk, who in model.slots}
    order = sorted(model.waiting, key=lambda n: (model.waiting[n], str(PKS[n])))
    assert [await line.place(PKS[n]) for n in order] == list(range(len(order)))


@given(st.lists(steps, max_size=30))
def test_any_order(valkey_url: str, history: list[tuple[str, int, int]]) -> None:
    async def play() -> None:
        async with redis.asyncio.Redis.from_url(valkey_url) as store:
            await store.flushdb()
            line, model = Queue(store, "m"), Model()
            for name, one, two in history:
                await step(store, line, model, name, one, two)

    asyncio.run(play())
