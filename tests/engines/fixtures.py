"""Fixtures of the engines, real processes; a conftest.py imports those that its tests use."""

import asyncio
import time
from collections.abc import Callable, Iterator

import pytest

from tests.engines.llama import SmolLM2
from tests.engines.process import FakeEngine


@pytest.fixture(scope="session")
def fake_engine_process() -> Iterator[FakeEngine]:
    """One fake engine for the run; tests take `fake_engine`."""
    with FakeEngine(name="a") as engine:
        yield engine


@pytest.fixture
def fake_engine(fake_engine_process: FakeEngine) -> FakeEngine:
    """The fake engine as it was started: up, faultless, with nothing remembered."""
    if not fake_engine_process.alive:
        fake_engine_process.restart()
    fake_engine_process.reset()
    return fake_engine_process


@pytest.fixture(scope="session")
def second_fake_engine_process() -> Iterator[FakeEngine]:
    """Another replica for the run; tests take `second_fake_engine`."""
    with FakeEngine(name="b") as engine:
        yield engine


@pytest.fixture
def second_fake_engine(second_fake_engine_process: FakeEngine) -> FakeEngine:
    """Another replica, of the same tokenizer and words."""
    if not second_fake_engine_process.alive:
        second_fake_engine_process.restart()
    second_fake_engine_process.reset()
    return second_fake_engine_process


@pytest.fixture(scope="session")
def smollm2() -> Iterator[SmolLM2]:
    """The real engine, started by the first test that asks for it."""
    with SmolLM2() as engine:
        yield engine


async def eventually(condition: Callable[[], bool], within_s: float = 5.0) -> None:
    """Returns once the condition holds; fails if it does not in time."""
    until = time.monotonic() + within_s
    while not condition():
        assert time.monotonic() < until, "it did not come true in time"
        await asyncio.sleep(0.01)
