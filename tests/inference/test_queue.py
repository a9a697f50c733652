"""The waiting lines and the slots on a real Valkey: the fair head, and never more slots than a replica has."""

import asyncio
from collections.abc import AsyncIterator
from random import Random
from uuid import UUID, uuid4

import pytest
import redis.asyncio
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from inference import keys, queue
from inference.core.fair import Class, Entry
from inference.queue import Head, Queue, read_crowd, read_head, read_places
from tests.fair_line import Line

REPLICAS = ["r", "other"]
FAR_MS = 10**9


@pytest.fixture
async def store(valkey_url: str) -> AsyncIterator["redis.asyncio.Redis"]:
    async with redis.asyncio.Redis.from_url(valkey_url) as client:
        yield client


@pytest.fixture
def line(store: "redis.asyncio.Redis") -> Queue:
    return Queue(store, "m")


def entry(pk: UUID, at: int = 1, klass: Class = "interactive", sharer: str = "", prefix: str = "") -> Entry:
    return Entry(pk, klass, sharer or str(pk), "someone", 1, at, FAR_MS, prefix)


async def put(line: Queue, *entries: Entry, most: int = 1000) -> list[str]:
    return [word.decode() for word in await line.put(entries, most)]


async def look(line: Queue) -> Head:
    return read_head(await line.look(REPLICAS), REPLICAS)


async def claim(line: Queue, owner: UUID, pk: UUID | None, replica: str, limit: int) -> Head:
    return read_head(await line.claim(REPLICAS, owner, pk, replica, limit), REPLICAS)


async def claimed(line: Queue, owner: UUID, *, replica: str = "r", limit: int = 100) -> UUID | None:
    """Whoever is next, if there was room; somebody else's claim in between is tried over."""
    pk = (await look(line)).pk
    while pk is not None:
        head = await claim(line, owner, pk, replica, limit)
        if head.word in {"ok", "full"}:
            return pk if head.word == "ok" else None
        pk = head.pk
    return None


async def places(line: Queue) -> list[UUID]:
    return list(read_places(await line.view()))


async def slots(store: "redis.asyncio.Redis", replica: str = "r") -> set[str]:
    return {member.decode() for member in await store.zrange(keys.queue_slots("m", replica), 0, -1)}


async def expire_slots(store: "redis.asyncio.Redis", replica: str = "r") -> None:
    """As if SLOT_TTL_S had passed without a renewal."""
    name = keys.queue_slots("m", replica)
    for member in await store.zrange(name, 0, -1):
        await store.zincrby(name, -queue.SLOT_TTL_S, member)


async def test_first_come_first_served_and_put_again_keeps_its_place(line: Queue) -> None:
    pks, owner = [uuid4() for _ in range(4)], uuid4()
    came = ((300, pks[3]), (100, pks[1]), (200, pks[2]), (50, pks[0]), (999, pks[0]), (1, pks[3]))
    words = [await put(line, entry(pk, at)) for at, pk in came]
    assert words == [["ok"]] * 4 + [["dup"]] * 2
    assert await places(line) == pks
    assert [await claimed(line, owner) for _ in pks] == pks
    assert await claimed(line, owner) is None
    assert await places(line) == []


async def test_what_was_handed_back_keeps_its_one_place_in_another_class(line: Queue) -> None:
    """A sweep that saw the row before it was handed back puts it twice."""
    pk = uuid4()
    assert await put(line, entry(pk), entry(pk, klass="begun")) == ["ok", "dup"]
    assert await places(line) == [pk]


async def test_a_full_queue_refuses_what_is_new_and_takes_what_has_begun(line: Queue) -> None:
    pks = [uuid4() for _ in range(4)]
    assert await put(line, *(entry(pk, at) for at, pk in enumerate(pks[:3])), most=2) == ["ok", "ok", "full"]
    assert await put(line, entry(pks[0]), entry(pks[3], klass="begun"), most=2) == ["dup", "ok"]
    assert await places(line) == [pks[3], pks[0], pks[1]]
    assert read_crowd(await line.crowd()).waiting == 3


async def test_nothing_is_taken_out_while_no_slot_is_free(line: Queue) -> None:
    pks, owner = [uuid4() for _ in range(3)], uuid4()
    await put(line, *(entry(pk, at) for at, pk in enumerate(pks)))
    assert [await claimed(line, owner, limit=2) for _ in pks] == [pks[0], pks[1], None]
    assert await places(line) == [pks[2]]
    assert await claimed(line, owner, replica="other", limit=1) == pks[2]


async def test_only_the_head_that_was_looked_at_is_taken(line: Queue) -> None:
    first, second, owner = uuid4(), uuid4(), uuid4()
    await put(line, entry(first, 1, prefix="c1"), entry(second, 2, prefix="c|2"))
    assert await look(line) == Head("other", first, "c1", {"r": 0, "other": 0})
    assert await claim(line, owner, second, "r", 9) == Head("other", first, "c1", {"r": 0, "other": 0})
    assert await claim(line, owner, first, "other", 9) == Head("ok", second, "c|2", {"r": 0, "other": 1})
    assert await claim(line, owner, second, "other", 1) == Head("full", second, "c|2", {"r": 0, "other": 1})
    assert await claim(line, owner, second, "r", 1) == Head("ok", None, "", {"r": 1, "other": 1})


async def test_the_wait_is_the_pace_of_releases_times_the_place(
    store: "redis.asyncio.Redis", line: Queue
) -> None:
    pks, owner = [uuid4() for _ in range(5)], uuid4()
    await put(line, *(entry(pk, at) for at, pk in enumerate(pks)))
    assert read_places(await line.view())[pks[4]] == queue.Place(4, None)
    running = [await claimed(line, owner) for _ in range(2)]
    for pk in running:
        assert pk is not None
        await line.release(pk, owner, "r")
        await store.hincrby(keys.queue_pace("m"), "last", -2000)  # as if it were two seconds later
    waits = [place.wait_s for place in read_places(await line.view()).values()]
    assert waits == [pytest.approx(2.0 * n, abs=0.4) for n in (1, 2, 3)]
    assert read_crowd(await line.crowd()).wait_s == pytest.approx(8.0, abs=0.4)


async def test_a_slot_is_released_by_its_owner_only(store: "redis.asyncio.Redis", line: Queue) -> None:
    pk, winner, loser = uuid4(), uuid4(), uuid4()
    for owner in (loser, winner):
        await put(line, entry(pk))
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
    await put(line, *(entry(pk, at) for at, pk in enumerate(pks)))
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
        await put(line, entry(uuid4()))
        assert (await channel.get_message(timeout=5))["data"] == b"put"
        await line.release(uuid4(), uuid4(), "r")
        assert (await channel.get_message(timeout=5))["data"] == b"free"


async def test_many_at_once_take_each_entry_once_and_no_slot_too_many(
    store: "redis.asyncio.Redis", line: Queue
) -> None:
    pks = [uuid4() for _ in range(30)]
    await put(line, *(entry(pk, at) for at, pk in enumerate(pks)))
    owners = [uuid4() for _ in range(40)]
    taken = await asyncio.gather(*(claimed(line, owner, limit=7) for owner in owners))
    assert sorted(filter(None, taken)) == sorted(pks[:7])
    assert len(await slots(store)) == 7


PKS = [UUID(int=n) for n in range(40)]
OWNERS = [UUID(int=100 + n) for n in range(3)]
KLASSES: list[Class] = ["interactive", "interactive", "interactive", "batch", "batch", "api", "begun"]
NAMES = ["put"] * 12 + ["claim"] * 8 + ["release", "renew", "expire", "age", "age"]


def some_entry(random: Random) -> Entry:
    """Now and then one is past its deadline as soon as it was put."""
    return Entry(
        random.choice(PKS),
        random.choice(KLASSES),
        random.choice("ABC"),
        random.choice("xy"),
        random.choice([1, 3]),
        random.randrange(4),
        random.choice([FAR_MS] * 8 + [-1000]),
        random.choice(["", "c|1"]),
    )


def some_history(random: Random) -> list[tuple[str, Entry | int, int]]:
    """Long enough that each class has its queue; a plain random one finds more here than one that can be shrunk."""
    history: list[tuple[str, Entry | int, int]] = []
    for name in ["put"] * 15 + random.choices(NAMES, k=50) + ["lose"] * random.randrange(2):
        if name == "put":
            history.append((name, some_entry(random), random.choice([8, 100, 100])))
        elif name == "claim":
            history.append((name, random.randrange(3), random.choice([3, 100, 100])))
        else:
            history.append((name, random.randrange(40), random.randrange(3)))
    return history


class Both:
    """The scripts beside the plain rule; every step is done on both and leaves the same."""

    def __init__(self, store: "redis.asyncio.Redis") -> None:
        self.store, self.line = store, Queue(store, "m")
        self.rule, self.slots = Line(), dict[tuple[UUID, UUID], bool]()

    async def step(self, name: str, one: Entry | int, two: int) -> None:
        await getattr(self, name)(one, two)
        assert await slots(self.store) == {f"{pk}:{owner}" for pk, owner in self.slots}
        assert await places(self.line) == self.rule.places()

    async def put(self, one: Entry, most: int) -> None:
        assert await put(self.line, one, most=most) == [self.rule.put(one, most)]

    async def claim(self, who: int, limit: int) -> None:
        self.slots = {slot: alive for slot, alive in self.slots.items() if alive}
        head = self.rule.head()
        expected = head if head is not None and len(self.slots) < limit else None
        taken = await claimed(self.line, OWNERS[who], limit=limit)
        assert taken == (None if expected is None else expected.entry.pk)
        if expected is not None:
            self.rule.take(expected)
            self.slots[expected.entry.pk, OWNERS[who]] = True
            self.rule.head()  # the script looks at the next one, and drops what is late on the way

    async def release(self, pk: int, who: int) -> None:
        await self.line.release(PKS[pk], OWNERS[who], "r")
        self.slots.pop((PKS[pk], OWNERS[who]), None)

    async def renew(self, pk: int, who: int) -> None:
        await self.line.renew("r", OWNERS[who], [PKS[pk]])
        if (PKS[pk], OWNERS[who]) in self.slots:
            self.slots[PKS[pk], OWNERS[who]] = True

    async def expire(self, *_: int) -> None:
        await expire_slots(self.store)
        self.slots = dict.fromkeys(self.slots, False)

    async def age(self, *_: int) -> None:
        """As if everybody had waited for a minute."""
        turns = keys.queue_turns("m")
        for klass in await self.store.hkeys(turns):
            await self.store.hincrby(turns, klass.decode(), -60_000)
        self.rule.turns = {klass: at - 60_000 for klass, at in self.rule.turns.items()}

    async def lose(self, *_: int) -> None:
        await self.store.flushdb()
        self.rule, self.slots = Line(), {}


@settings(phases=[Phase.generate])
@given(st.integers(0, 2**32))
def test_the_scripts_do_what_the_rule_says(valkey_url: str, seed: int) -> None:
    async def play() -> None:
        async with redis.asyncio.Redis.from_url(valkey_url) as store:
            await store.flushdb()
            both = Both(store)
            for name, one, two in some_history(Random(seed)):
                await both.step(name, one, two)

    asyncio.run(play())
