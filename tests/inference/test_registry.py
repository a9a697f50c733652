"""Which replica comes next after one failed: nobody waits for a probe that is far away, nobody is sent back at once."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from inference.core.values import ReplicaView
from inference.registry import Registry
from tests.engines.fixtures import eventually

REPLICAS = [
    ReplicaView(pk=name, url=f"http://{name}", model="m", version="1", max_running=4) for name in ("a", "b")
]


@asynccontextmanager
async def watched(well: set[str]) -> AsyncIterator[Registry]:
    """A registry whose replicas are well while their names are in the set."""

    async def healthy(replica: ReplicaView) -> bool:
        return replica.pk in well

    registry = Registry(REPLICAS, healthy)
    watching = asyncio.create_task(registry.watch())
    try:
        await eventually(lambda: len(names(registry)) == len(well))
        yield registry
    finally:
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)


def names(registry: Registry) -> list[str]:
    """Replicas in the order in which they are chosen while each takes all that it can."""
    slots, order = {"a": 0, "b": 0}, list[str]()
    while (chosen := registry.choose("m", "", slots)) is not None:
        order.append(chosen.pk)
        slots[chosen.pk] = chosen.max_running
    return order


async def test_a_replica_that_failed_is_out_until_it_is_well():
    well = {"a", "b"}
    async with watched(well) as registry:
        well.remove("a")
        registry.failed(REPLICAS[0])
        assert names(registry) == ["b"]
        well.add("a")
        await eventually(lambda: len(names(registry)) == 2)


async def test_one_that_is_well_again_is_probed_at_once_and_taken_last():
    async with watched({"a", "b"}) as registry:
        registry.took(REPLICAS[1])
        assert names(registry) == ["a", "b"]
        registry.changed.clear()
        registry.failed(REPLICAS[0])
        await asyncio.wait_for(registry.changed.wait(), 1)  # the next probe of a ready one was 5 s away
        assert names(registry) == ["b", "a"]


async def test_its_own_word_on_when_to_come_back_is_kept():
    async with watched({"a", "b"}) as registry:
        registry.failed(REPLICAS[0], retry_after_s=60)
        registry.failed(REPLICAS[1])
        await eventually(lambda: bool(names(registry)))
        assert names(registry) == ["b"]
