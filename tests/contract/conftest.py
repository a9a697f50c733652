"""The engines that have to keep the contract: the fake one in both dialects, and the real one."""

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass

import pytest

from inference.core.values import ChatMessage, Chunk, Patience, Progress, ReplicaView, Request, Way
from inference.engine import OpenAIEngine
from tests.engines import llama
from tests.engines.fixtures import (  # noqa: F401 fixtures are found by name
    fake_engine,
    fake_engine_process,
    second_fake_engine,
    second_fake_engine_process,
    smollm2,
)
from tests.engines.process import FakeEngine


@dataclass(frozen=True)
class Case:
    """One engine under test and what is known of it."""

    replica: ReplicaView
    context_length: int
    long_prompt: str  # its answer is longer than 40 tokens
    short_prompt: str  # its answer stops by itself within 200
    unicode_prompt: str  # its answer has characters of several tokens
    running: Callable[[], int]

    def request(self, prompt: str, max_tokens: int = 40) -> Request:
        """Asked at temperature 0."""
        return Request(self.replica.model, [ChatMessage("user", prompt)], max_tokens, temperature=0)


def replica_of(
    fake: FakeEngine, *, keeps: bool = True, continues: tuple[Way, ...] = ("ids", "text")
) -> ReplicaView:
    """The fake engine as the router sees it."""
    return ReplicaView("fake", fake.url, "fake", 4, continues=continues, keeps_connections=keeps)


@pytest.fixture(
    params=["fake vllm", "fake llama.cpp", pytest.param("smollm2", marks=pytest.mark.real_engine)]
)
def case(request: pytest.FixtureRequest) -> Case:
    """Each engine in turn."""
    if request.param == "smollm2":
        real: llama.SmolLM2 = request.getfixturevalue("smollm2")
        return Case(
            ReplicaView(
                "real", real.url, llama.MODEL, llama.SLOTS, continues=("text",), keeps_connections=False
            ),
            llama.CONTEXT_LENGTH,
            "Tell me a long story about a lighthouse and the sea.",
            "Say hi.",
            "Repeat after me: 🦀🦀🦀",
            real.running,
        )
    fake: FakeEngine = request.getfixturevalue("fake_engine")
    dialect = request.param.removeprefix("fake ")
    fake.control(dialect=dialect, context_length=2048)
    return Case(
        replica_of(fake, continues=("ids", "text") if dialect == "vllm" else ("text",)),
        2048,
        "Tell me [[tokens=5000 gap_ms=2]]",
        "Say hi [[tokens=8]]",
        "Say crabs [[tokens=30 crab_every=3]]",
        lambda: int(fake.report()["running"]),
    )


@pytest.fixture
async def engine() -> AsyncIterator[OpenAIEngine]:
    """The engine client with the patience of a test."""
    client = OpenAIEngine(lambda model: Patience(first_token_s=20, token_gap_s=10))
    yield client
    await client.close()


async def whole(
    engine: OpenAIEngine,
    replica: ReplicaView,
    request: Request,
    progress: Progress | None = None,
    way: Way | None = None,
) -> list[Chunk]:
    """Every chunk of one call."""
    return [chunk async for chunk in engine.stream(replica, request, progress or Progress(), way)]


def text_of(chunks: list[Chunk]) -> str:
    """The text of these chunks."""
    return "".join(chunk.text for chunk in chunks)


def tokens_of(chunks: list[Chunk]) -> int:
    """The tokens that these chunks took."""
    return sum(chunk.tokens for chunk in chunks)


def ids_of(chunks: list[Chunk]) -> list[int] | None:
    """All ids, or None where one is unknown."""
    ids: list[int] = []
    for chunk in chunks:
        if chunk.ids is None:
            return None
        ids += chunk.ids
    return ids


def progress_of(chunks: list[Chunk]) -> Progress:
    """What another attempt goes on from."""
    return Progress(text_of(chunks), ids_of(chunks), tokens_of(chunks))
