"""Exact token counts by the engine's own tokenizer, and what is worth remembering of them.

Engines are asked through a protocol; no store, no Django. Whoever owns the turns' rows keeps their counts.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Sequence
from typing import Protocol

from inference.core.values import ChatMessage, ReplicaView
from memory.core.values import Overhead

PROBE = "Hello"
LONG_PROBE = " ".join([PROBE] * 40)
AT_ONCE = 8
KEPT_TEXTS = 512


class Counter(Protocol):
    """The tokenizer and the chat template of one model."""

    @property
    def model(self) -> str:
        """Names the tokenizer: counts hold for one name only."""

    async def text(self, text: str) -> int:
        """Tokens of a bare text."""

    async def chat(self, messages: list[ChatMessage]) -> int:
        """Tokens of a whole prompt, as the engine would run it."""


class CountingEngine(Protocol):
    """What is needed of inference's engine."""

    async def count_tokens(self, replica: ReplicaView, text: str) -> int:
        """Tokens of a bare text."""

    async def count_chat(self, replica: ReplicaView, messages: list[ChatMessage]) -> int:
        """Tokens of a prompt through the chat template."""


class EngineCounter:
    """Counts on the replica that will answer; raises what the engine raises."""

    def __init__(self, engine: CountingEngine, replica: ReplicaView) -> None:
        self._engine = engine
        self._replica = replica

    @property
    def model(self) -> str:
        """The replica's model."""
        return self._replica.model

    async def text(self, text: str) -> int:
        """Tokens of a bare text."""
        return await self._engine.count_tokens(self._replica, text)

    async def chat(self, messages: list[ChatMessage]) -> int:
        """Tokens of a whole prompt."""
        return await self._engine.count_chat(self._replica, messages)


class KnownCounts:
    """What is counted once a process: a model's template, and texts that come again (system messages)."""

    def __init__(self) -> None:
        self._overheads: dict[tuple[str, bool], Overhead] = {}
        self._texts: OrderedDict[tuple[str, str], int] = OrderedDict()

    async def overhead(self, counter: Counter, *, with_system: bool) -> Overhead:
        """What the model's template adds, with or without a system message; measured on first use."""
        key = (counter.model, with_system)
        if key not in self._overheads:
            self._overheads[key] = await measure(counter, with_system=with_system)
        return self._overheads[key]

    async def text(self, counter: Counter, text: str) -> int:
        """Tokens of a text that is likely to be asked for again; none for an empty one, without asking."""
        if not text:
            return 0
        key = (counter.model, text)
        if key not in self._texts:
            self._texts[key] = await counter.text(text)
        self._texts.move_to_end(key)
        while len(self._texts) > KEPT_TEXTS:
            self._texts.popitem(last=False)
        return self._texts[key]


async def measure(counter: Counter, *, with_system: bool) -> Overhead:
    """The template's overhead, from prompts of one, three and five turns: exact where it is linear.

    The last two turns are long ones: a template that makes more of a text than its bare tokens is not linear.
    Some templates add a system message of their own where there is none, so the two cases are measured apart.
    """
    system = [ChatMessage("system", PROBE)] if with_system else []
    pair = [ChatMessage("assistant", PROBE), ChatMessage("user", PROBE)]
    long_pair = [ChatMessage("assistant", LONG_PROBE), ChatMessage("user", LONG_PROBE)]
    first = [*system, ChatMessage("user", PROBE)]
    probe, long_probe, one, three, five = await asyncio.gather(
        counter.text(PROBE),
        counter.text(LONG_PROBE),
        counter.chat(first),
        counter.chat(first + pair),
        counter.chat(first + pair + long_pair),
    )
    steps = (three - one - 2 * probe, five - three - 2 * long_probe)
    per_message = max(0, *steps) / 2
    return Overhead(one - len(first) * probe - per_message, per_message, linear=steps[0] == steps[1])


async def count_all(counter: Counter, texts: Sequence[str]) -> list[int]:
    """Counts of many texts, a few at a time; on the first failure the rest is not asked for."""
    gate = asyncio.Semaphore(AT_ONCE)

    async def one(text: str) -> int:
        async with gate:
            return await counter.text(text)

    tasks = [asyncio.create_task(one(text)) for text in texts]
    try:
        return await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
