"""Two replicas behind one queue: conversations stay where their cache is."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.engines.process import FakeEngine
from tests.rig import Rig, catalogue_text, stores_environment


@pytest.fixture(scope="module")
def _engines() -> Iterator[list[FakeEngine]]:
    with (
        FakeEngine(gap_ms=5, first_ms=10, tokens=10) as one,
        FakeEngine(gap_ms=5, first_ms=10, tokens=10) as two,
    ):
        yield [one, two]


@pytest.fixture
def engines(_engines: list[FakeEngine]) -> list[FakeEngine]:
    for engine in _engines:
        engine.reset()
    return _engines


@pytest.fixture
def rig(transactional_db: None, engines: list[FakeEngine], tmp_path: Path) -> Iterator[Rig]:
    """The product over both engines."""
    catalogue = tmp_path / "catalogue.toml"
    catalogue.write_text(catalogue_text([engine.url for engine in engines], first_token_timeout_s=20))
    with Rig(stores_environment(), catalogue, tmp_path, LEASE_S=1) as rig:
        rig.ensure("web", "d1")
        yield rig


def told(engine: FakeEngine) -> set[str]:
    """The last user messages that an engine was asked to answer."""
    return {request["user"] for request in engine.report()["requests"]}


async def test_a_conversation_stays_at_its_replica_and_others_go_to_both(rig: Rig, join, engines):
    client = await join()
    homes = []
    for number in range(8):
        turn = await client.send(f"first {number}")
        await client.ended(turn["generation"])
        for again in ("second", "third"):
            turn = await client.send(
                f"{again} {number}", conversation=turn["conversation"], parent=turn["answer"]
            )
            await client.ended(turn["generation"])
        asked = {f"{word} {number}" for word in ("first", "second", "third")}
        homes += [engine.url for engine in engines if asked <= told(engine)]
    # On a machine that is too busy to say in time that it is well, one or two may have moved.
    assert len(homes) >= 6
    assert len(set(homes)) == 2
