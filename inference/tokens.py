"""Exact token counts, asked of the engine itself, and a chat as token ids.

vLLM and llama.cpp both have `/tokenize`, with other fields: which one a replica speaks is asked once.
"""

import asyncio
from typing import Any, Literal, TypeVar

import msgspec

from inference import wire
from inference.connections import Connections
from inference.core.values import ChatMessage, ReplicaView
from inference.errors import Stalled, StreamCut

_COUNT_S = 10.0
Dialect = Literal["vllm", "llama.cpp"]
T = TypeVar("T")


class _Tokenized(msgspec.Struct):
    tokens: list[int]
    count: int | None = None


class _Count(msgspec.Struct):
    count: int


class _InputTokens(msgspec.Struct):
    input_tokens: int


class Tokens:
    """Counts over HTTP; raises inference's errors."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections
        self._dialects: dict[str, Dialect] = {}

    async def count_text(self, replica: ReplicaView, text: str) -> int:
        """Tokens of a bare text: no template, no special tokens added, none recognised."""
        if await self._dialect(replica) == "vllm":
            body = {"model": replica.model, "prompt": text, "add_special_tokens": False}
            return (await self._ask(replica, "/tokenize", body, _Count)).count
        body = {"content": text, "add_special": False, "parse_special": False}
        return len((await self._ask(replica, "/tokenize", body, _Tokenized)).tokens)

    async def count_chat(self, replica: ReplicaView, messages: list[ChatMessage]) -> int:
        """Tokens of the prompt that the model's own template makes of these messages."""
        if await self._dialect(replica) == "vllm":
            return (await self._ask(replica, "/tokenize", _templated(replica, messages), _Count)).count
        path = "/v1/chat/completions/input_tokens"
        return (await self._ask(replica, path, {"messages": messages}, _InputTokens)).input_tokens

    async def chat_ids(self, replica: ReplicaView, messages: list[ChatMessage]) -> list[int]:
        """The ids of that prompt; only vLLM gives them."""
        return (await self._ask(replica, "/tokenize", _templated(replica, messages), _Tokenized)).tokens

    async def _dialect(self, replica: ReplicaView) -> Dialect:
        """Each engine reads its own field of one request, and only vLLM answers with a count."""
        if replica.url not in self._dialects:
            probe = {"model": replica.model, "prompt": "a", "content": "a"}
            answer = await self._ask(replica, "/tokenize", probe, _Tokenized)
            self._dialects[replica.url] = "llama.cpp" if answer.count is None else "vllm"
        return self._dialects[replica.url]

    async def _ask(self, replica: ReplicaView, path: str, body: dict[str, Any], form: type[T]) -> T:
        try:
            async with asyncio.timeout(_COUNT_S):
                return await self._connections.ask(replica, path, wire.encoded(body), form)
        except TimeoutError:
            raise Stalled("count") from None
        except StreamCut:
            self._dialects.pop(replica.url, None)
            raise


def _templated(replica: ReplicaView, messages: list[ChatMessage]) -> dict[str, Any]:
    return {"model": replica.model, "messages": messages, "add_generation_prompt": True}
