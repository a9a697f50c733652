"""Fixtures of the browser tests: the product's own processes, Chromium, people with pages.

A page that writes an error to its console, breaks its content security policy or throws fails its test.
"""

import shutil
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path

import pytest
import pytest_asyncio
from asgiref.sync import sync_to_async
from playwright.async_api import Browser, async_playwright, expect

from tests.browser.person import Person
from tests.engines.process import FakeEngine
from tests.factories import accounts
from tests.rig import ROOT, Rig, catalogue_text, stores_environment

CHROMIUM = shutil.which("chromium")
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
WAIT_MS = 20_000
VIEWPORT = {"width": 1280, "height": 800}

Join = Callable[..., Awaitable[Person]]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """All tests of this folder are browser tests on one event loop, which is the browser's."""
    for item in items:
        if item.path.parent.name == "browser":
            item.add_marker(pytest.mark.browser)
            item.add_marker(pytest.mark.asyncio(loop_scope="session"), append=False)


@pytest.fixture(scope="session")
def _built() -> None:
    if not (ROOT / "frontend" / "dist" / "index.html").exists():
        pytest.fail("The web UI is not built: run `make frontend`.")


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
    _built: None,
    django_db_setup: None,
    _engine_process: FakeEngine,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Rig]:
    folder = tmp_path_factory.mktemp("product")
    catalogue = folder / "catalogue.toml"
    # A model of its own: another test's dispatchers on these stores must not answer for it.
    text = catalogue_text(
        [_engine_process.url], max_tokens=1024, first_token_timeout_s=3, token_gap_timeout_s=2
    )
    catalogue.write_text(text.replace('"fake"', '"browser"'))
    with Rig(stores_environment(), catalogue, folder, LEASE_S=1) as rig:
        yield rig


@pytest.fixture
def rig(transactional_db: None, engine: FakeEngine, _product: Rig) -> Iterator[Rig]:
    """The product over that engine, one web and one dispatcher running; its rows go after the test."""
    _product.ensure("web", "d1")
    yield _product
    sys.stdout.write(_product.logs())  # shown when the test failed


@pytest.fixture(scope="session")
def _verifying_product(_product: Rig, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rig]:
    folder = tmp_path_factory.mktemp("verifying")
    catalogue = Path(_product.environment["CATALOGUE"])
    with Rig(stores_environment(), catalogue, folder, EMAIL_VERIFICATION="mandatory") as rig:
        yield rig


@pytest.fixture
def verifying(rig: Rig, _verifying_product: Rig) -> Rig:
    """A web process that wants addresses confirmed, as production does; mail goes to its log."""
    _verifying_product.ensure("web")
    return _verifying_product


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def chromium() -> AsyncIterator[Browser]:
    """One headless Chromium for the run."""
    if CHROMIUM is None:
        pytest.fail("This needs Chromium: apt-get install chromium")
    expect.set_options(timeout=WAIT_MS)
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        await browser.close()


@pytest_asyncio.fixture(loop_scope="session")
async def visit(rig: Rig, chromium: Browser) -> AsyncIterator[Join]:
    """Makes people with a browser of their own, signed out: `await visit()`."""
    people: list[Person] = []

    async def make(url: str | None = None) -> Person:
        context = await chromium.new_context(viewport=VIEWPORT, base_url=url or rig.url())
        context.set_default_timeout(WAIT_MS)
        people.append(await Person(context).begin())
        return people[-1]

    yield make
    try:
        for person in people:
            await person.check_nothing_broke()
    finally:
        for person in people:
            await person.context.close()


@pytest_asyncio.fixture(loop_scope="session")
async def join(visit: Join, rig: Rig) -> Join:
    """Makes people who are signed in."""

    async def make(email: str = "") -> Person:
        person = await visit()
        token = await sync_to_async(lambda: accounts.session_token(accounts.make_user(email)))()
        await person.sign_in_with(token, rig.url())
        return person

    return make
