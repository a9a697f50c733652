"""Fixtures of the black-box tests: an engine, the product's processes, people with tokens."""

import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from asgiref.sync import sync_to_async

from tests.engines.process import FakeEngine
from tests.factories import accounts
from tests.rig import Client, Rig, catalogue_text


@pytest.fixture(scope="session")
def _engine_process() -> Iterator[FakeEngine]:
    with FakeEngine(gap_ms=5, first_ms=10, tokens=40) as engine:
        yield engine


@pytest.fixture
def engine(_engine_process: FakeEngine) -> FakeEngine:
    """The fault-injecting engine, as if just started."""
    _engine_process.reset()
    return _engine_process


@pytest.fixture
def rig(
    stores_environment: dict[str, str], engine: FakeEngine, tmp_path: Path, request: pytest.FixtureRequest
) -> Iterator[Rig]:
    """The product over that engine; nothing runs yet."""
    catalogue = tmp_path / "catalogue.toml"
    catalogue.write_text(catalogue_text([engine.url], first_token_timeout_s=5, token_gap_timeout_s=2))
    with Rig(stores_environment, catalogue, tmp_path, LEASE_S=1) as rig:
        yield rig
    sys.stdout.write(rig.logs())  # shown when the test failed


@pytest.fixture
async def join(rig: Rig) -> AsyncIterator[Callable[..., Awaitable[Client]]]:
    """Makes clients: `await join()` is a new person, `await join(web="web2", like=client)` the same elsewhere."""
    clients: list[Client] = []

    async def make(web: str = "web", like: Client | None = None) -> Client:
        token = like.token if like is not None else await sync_to_async(_token)()
        clients.append(Client(rig.url(web), token))
        return clients[-1]

    yield make
    for client in clients:
        await client.close()


def _token() -> Any:
    return accounts.session_token(accounts.make_user())
