"""Asks an encoder, ours or another server with OpenAI's `/v1/embeddings`, for vectors.

Light: no torch, no numpy. One client belongs to one event loop.
"""

import asyncio
import base64
import math
from collections.abc import Sequence

import aiohttp
import msgspec

from inference.encoder import wire
from inference.errors import Refused, Unavailable

MODEL = "all-MiniLM-L6-v2"
TEXTS_AT_ONCE = 64
CONNECT_S = 1.0
# Below what servers keep, so that a connection is rarely one that was closed meanwhile.
KEPT_S = 30.0


class _Vector(msgspec.Struct):
    index: int
    embedding: str


class _Answer(msgspec.Struct):
    data: list[_Vector]


class _Error(msgspec.Struct):
    code: str | None = None


class _Refusal(msgspec.Struct):
    error: _Error


_answers = msgspec.json.Decoder(_Answer)
_refusals = msgspec.json.Decoder(_Refusal)


class EncoderClient:
    """Keeps its connections; `close` at the end."""

    def __init__(self, url: str, model: str = MODEL) -> None:
        self._url = url.rstrip("/") + wire.PATH
        self._model = model
        self._session: aiohttp.ClientSession | None = None

    async def embed(self, texts: Sequence[str], deadline_s: float) -> list[list[float]]:
        """One vector a text, in order, within `deadline_s`; the encoder drops what would come too late.

        Raises Unavailable (none in time, or no room now), and Refused for a request that is wrong in itself.
        """
        deadline = asyncio.get_running_loop().time() + deadline_s
        vectors: list[list[float]] = []
        try:
            async with asyncio.timeout_at(deadline):
                for start in range(0, len(texts), TEXTS_AT_ONCE):
                    vectors += await self._ask(texts[start : start + TEXTS_AT_ONCE], deadline)
        except TimeoutError:
            raise Unavailable("deadline") from None
        return vectors

    async def close(self) -> None:
        """Closes the connections."""
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def _ask(self, texts: Sequence[str], deadline: float) -> list[list[float]]:
        body = msgspec.json.encode({"model": self._model, "input": texts, "encoding_format": "base64"})
        try:
            status, retry_after, answer = await self._post_twice(body, deadline)
        except (aiohttp.ClientError, OSError) as error:
            raise Unavailable(type(error).__name__) from None
        if status == 200:
            return _vectors(answer, len(texts))
        if status >= 500 or status == 429:
            raise Unavailable(f"status_{status}", _seconds(retry_after))
        raise Refused(_code(answer) or f"status_{status}", status)

    async def _post_twice(self, body: bytes, deadline: float) -> tuple[int, str | None, bytes]:
        """A kept connection that was closed meanwhile is no fault, and asking again changes nothing."""
        try:
            return await self._post(body, deadline)
        except aiohttp.ClientConnectorError:
            raise
        except (aiohttp.ClientConnectionError, ConnectionError):
            return await self._post(body, deadline)

    async def _post(self, body: bytes, deadline: float) -> tuple[int, str | None, bytes]:
        left_ms = max(1, math.ceil((deadline - asyncio.get_running_loop().time()) * 1000))
        headers = {"Content-Type": "application/json", wire.DEADLINE_HEADER: str(left_ms)}
        async with self._pool().post(
            self._url, data=body, headers=headers, allow_redirects=False
        ) as response:
            return response.status, response.headers.get("Retry-After"), await response.read()

    def _pool(self) -> aiohttp.ClientSession:
        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=KEPT_S),
                timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_S),
                cookie_jar=aiohttp.DummyCookieJar(),
            )
        return self._session


def _vectors(answer: bytes, expected: int) -> list[list[float]]:
    try:
        data = sorted(_answers.decode(answer).data, key=lambda vector: vector.index)
        vectors = [wire.floats(base64.b64decode(vector.embedding, validate=True)) for vector in data]
    except (msgspec.DecodeError, ValueError):
        raise Unavailable("garbage") from None
    if [vector.index for vector in data] != list(range(expected)):
        raise Unavailable("garbage")
    return vectors


def _seconds(retry_after: str | None) -> float | None:
    return float(retry_after) if retry_after and retry_after.isascii() and retry_after.isdigit() else None


def _code(answer: bytes) -> str | None:
    try:
        return _refusals.decode(answer).error.code
    except msgspec.DecodeError:
        return None
