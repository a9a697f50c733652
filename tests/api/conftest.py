"""Fixtures of the black-box tests: an engine, the product's processes, people with tokens."""

import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any

import pytest
from asgiref.sync import sync_to_async

from tests.engines.process import FakeEngine
from tests.factories import accounts
from tests.rig import Client, Rig, catalogue_text, stores_environment


@pytest.fixture(scope="session")
def _engine_process() -> Iterator[FakeEngine]:
    with FakeEngine(gap_ms=5, first_ms=10, tokens=40, seeded=True) as engine:
        yield engine


@pytest.fixture
def engine(_engine_process: FakeEngine) -> FakeEngine:
    """The fault-injecting engine, as if just started."""
    _engine_process.reset()
    return _engine_process


@pytest.fixture(scope="session")
def _product(
    django_db_setup: None, _engine_process: FakeEngine, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Rig]:
    """The product's processes are started once a run: a start takes seconds, a test should not."""
    folder = tmp_path_factory.mktemp("product")
    catalogue = folder / "catalogue.toml"
    urls = [_engine_process.url]
    catalogue.write_text(catalogue_text(urls, first_token_timeout_s=3, token_gap_timeout_s=2))
    with Rig(stores_environment(), catalogue, folder, LEASE_S=1) as rig:
        yield rig


@pytest.fixture
def rig(transactional_db: None, engine: FakeEngine, _product: Rig) -> Iterator[Rig]:
    """The product over that engine, one web and one dispatcher running; its rows go after the test."""
    _product.ensure("web", "d1")
    yield _product
    sys.stdout.write(_product.logs())  # shown when the test failed
    _product.end_others("web", "d1")


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
