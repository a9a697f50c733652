"""One Postgres and one Valkey for the run; every xdist worker has databases of its own."""

import os
import shutil
from collections.abc import Iterator
from urllib.parse import urlsplit

import hypothesis
import pytest
import redis
from django.conf import settings
from django.db import connections

from tests.stores import Stores

_running = pytest.StashKey[Stores]()

# The same examples in every run and few enough to wait for; HYPOTHESIS_PROFILE=deep looks for new ones at length.
_PATIENT = {"deadline": None, "suppress_health_check": list(hypothesis.HealthCheck), "database": None}
hypothesis.settings.register_profile("check", max_examples=50, derandomize=True, **_PATIENT)
hypothesis.settings.register_profile("deep", max_examples=400, **_PATIENT)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "check"))


def pytest_configure(config: pytest.Config) -> None:
    """Starts the stores in the process that chose their addresses: xdist's controller, or the only one."""
    if not settings.STARTS_STORES or config.option.collectonly or config.option.help:
        return
    database_port = urlsplit(settings.DATABASE_URL).port
    valkey_port = urlsplit(settings.VALKEY_URL).port
    assert database_port
    assert valkey_port
    config.stash[_running] = Stores(database_port, valkey_port).start()


def pytest_unconfigure(config: pytest.Config) -> None:
    """Stops them, after an interruption too (a killed pytest takes them along: config/embedded/leash.py)."""
    stores = config.stash.get(_running, None)
    if stores is not None:
        stores.stop()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Browser tests need Chromium: without it they are skipped with a word on how to get it, in CI they fail."""
    if shutil.which("chromium") or os.environ.get("CI") == "true":
        return
    missing = pytest.mark.skip(reason="needs Chromium: apt-get install chromium")
    for item in items:
        if item.get_closest_marker("browser"):
            item.add_marker(missing)


@pytest.fixture(scope="session")
def django_db_keepdb() -> bool:
    """The server goes at the end, so nothing need be dropped, which a stray connection would prevent."""
    return settings.STARTS_STORES or "PYTEST_XDIST_WORKER" in os.environ


@pytest.fixture(scope="session", autouse=True)
def _closed_pools() -> Iterator[None]:
    yield
    for connection in connections.all(initialized_only=True):
        connection.close()
        connection.close_pool()


@pytest.fixture(scope="session")
def valkey_client() -> Iterator["redis.Redis"]:
    with redis.Redis.from_url(settings.VALKEY_URL) as client:
        yield client


@pytest.fixture(autouse=True)
def _empty_valkey(request: pytest.FixtureRequest) -> None:
    """Every test begins with nothing queued; the pure ones don't care."""
    if request.path.parent.name not in {"pure", "architecture"}:
        request.getfixturevalue("valkey_client").flushdb()


@pytest.fixture
def valkey_url() -> str:
    """This worker's Valkey database, empty at the start of the test."""
    return str(settings.VALKEY_URL)
