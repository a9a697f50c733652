"""The engines, behind one small interface: an answer as chunks, exact counts, health.

Which replica, when and how often is decided elsewhere; only a kept connection gone stale is tried again here.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable
from typing import Protocol

import aiohttp

from inference import wire
from inference.connections import Connections
from inference.core import sse
from inference.core.values import ChatMessage, Chunk, Patience, Progress, ReplicaView, Request, Usage, Way
from inference.errors import Stalled, StreamCut
from inference.reply import AnswerReader
from inference.tokens import Tokens

# After the last chunk a kept connection is worth waiting for the end of its body, but not long.
_DRAIN_S = 0.25


class Engine(Protocol):
    """What the dispatcher needs of an engine."""

    def stream(
        self, replica: ReplicaView, request: Request, progress: Progress, way: Way | None
    ) -> AsyncGenerator[Chunk, None]:
        """The answer as chunks of whole characters, the last with finish reason and usage.

        Raises inference's errors. Close it (`contextlib.aclosing`) and the engine stops at once.
        """
        ...

    async def count_tokens(self, replica: ReplicaView, text: str) -> int:
        """Tokens of a bare text."""
        ...

    async def count_chat(self, replica: ReplicaView, messages: list[ChatMessage]) -> int:
        """Tokens of the prompt that the model's template makes of these messages."""
        ...

    async def healthy(self, replica: ReplicaView) -> bool:
        """Whether the replica says so within a second; a hung engine may say so too."""
        ...

    async def close(self) -> None:
        """Closes every connection."""
        ...


class OpenAIEngine:
    """vLLM and llama.cpp over their OpenAI-compatible servers; belongs to one event loop."""

    def __init__(self, patience: Callable[[str], Patience] | None = None) -> None:
        self._patience = patience or (lambda model: Patience())
        self._connections = Connections()
        self._tokens = Tokens(self._connections)

    async def stream(
        self, replica: ReplicaView, request: Request, progress: Progress, way: Way | None
    ) -> AsyncGenerator[Chunk, None]:
        """See Engine. `way` None is a fresh answer; with "text" the text must not end in white space."""
        way = wire.going_on(progress, way)
        left = request.max_tokens - progress.tokens
        if left <= 0:
            yield Chunk(finish_reason="length", usage=Usage())
            return
        patience = self._patience(request.model)
        due = _now() + patience.first_token_s
        response = await self._open(replica, request, progress, way, left, due)
        try:
            reader, flow = AnswerReader(), _Flow(response, due, patience.token_gap_s)
            while not reader.complete and (events := await flow.events(reader)) is not None:
                for data in events:
                    if (chunk := reader.take(data)) is not None:
                        yield chunk
            yield reader.end()
            if replica.keeps_connections:
                await _drain(response)
        finally:
            response.close()

    async def count_tokens(self, replica: ReplicaView, text: str) -> int:
        """See Engine."""
        return await self._tokens.count_text(replica, text)

    async def count_chat(self, replica: ReplicaView, messages: list[ChatMessage]) -> int:
        """See Engine."""
        return await self._tokens.count_chat(replica, messages)

    async def healthy(self, replica: ReplicaView) -> bool:
        """See Engine."""
        return await self._connections.healthy(replica)

    async def close(self) -> None:
        """See Engine."""
        await self._connections.close()

    async def _open(
        self,
        replica: ReplicaView,
        request: Request,
        progress: Progress,
        way: Way | None,
        left: int,
        due: float,
    ) -> aiohttp.ClientResponse:
        try:
            async with asyncio.timeout_at(due):
                if way == "ids":
                    prompt = await self._tokens.chat_ids(replica, request.messages) + (progress.ids or [])
                    body = wire.completion_body(replica, request, prompt, left)
                    return await self._connections.post(replica, "/v1/completions", body)
                body = wire.chat_body(replica, request, progress if way == "text" else None, left)
                return await self._connections.post(replica, "/v1/chat/completions", body)
        except TimeoutError:
            raise Stalled("first_token") from None


class _Flow:
    """One response's events and how long the next may take."""

    def __init__(self, response: aiohttp.ClientResponse, due: float, gap_s: float) -> None:
        self._content = response.content
        self._parser = sse.Parser()
        self._due, self._gap_s, self._signs = due, gap_s, 0

    async def events(self, reader: AnswerReader) -> list[bytes] | None:
        """The data of the events that come next, None at the end.

        The gap counts from here: the time that the caller takes over a chunk is not the engine's.
        """
        if reader.signs != self._signs:
            self._signs, self._due = reader.signs, _now() + self._gap_s
        try:
            block = await self._block()
            return self._parser.feed(block) if block else None
        except ValueError:
            raise StreamCut("garbage") from None
        except StreamCut:
            if reader.finish_reason is None:
                raise
        return None  # after the finish reason whatever happens is an end

    async def _block(self) -> bytes:
        try:
            async with asyncio.timeout_at(self._due):
                return await self._content.readany()
        except TimeoutError:
            raise Stalled("token_gap" if self._signs else "first_token") from None
        except (aiohttp.ClientError, OSError):
            raise StreamCut("connection") from None


async def _drain(response: aiohttp.ClientResponse) -> None:
    try:
        async with asyncio.timeout(_DRAIN_S):
            while await response.content.readany():
                pass
    except (aiohttp.ClientError, OSError):
        return


def _now() -> float:
    return asyncio.get_running_loop().time()
