"""The encoder's client: vectors in order, in time, or inference's own errors."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from aiohttp import web

from inference.encoder.client import TEXTS_AT_ONCE, EncoderClient
from inference.encoder.wire import Limits
from inference.errors import Refused, Unavailable
from tests.inference.encoders import served


@asynccontextmanager
async def client_of(url: str, model: str = "all-MiniLM-L6-v2") -> AsyncIterator[EncoderClient]:
    client = EncoderClient(url, model)
    try:
        yield client
    finally:
        await client.close()


@asynccontextmanager
async def answering(status: int, body: bytes, headers: dict[str, str] | None = None) -> AsyncIterator[str]:
    """A server that always says this."""

    async def handler(request: web.Request) -> web.Response:
        return web.Response(status=status, body=body, headers=headers)

    app = web.Application()
    app.router.add_post("/v1/embeddings", handler)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        yield "http://{}:{}/".format(*runner.addresses[0][:2])
    finally:
        await runner.cleanup()


async def test_vectors_in_order_over_several_requests() -> None:
    texts = ["x" * (size + 1) for size in range(2 * TEXTS_AT_ONCE + 5)]
    async with served() as encoder, client_of(encoder.url) as client:
        vectors = await client.embed(texts, 10)
        assert vectors == [[float(len(text)), 0.5, -0.10000000149011612] for text in texts]
        assert await client.embed([], 10) == []


async def test_nobody_there() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        async with client_of(f"http://127.0.0.1:{taken.getsockname()[1]}") as client:
            with pytest.raises(Unavailable) as refusal:
                await client.embed(["x"], 5)
    assert refusal.value.reason == "ClientConnectorError"


async def test_too_late_and_the_encoder_does_not_go_on() -> None:
    async with served() as encoder, client_of(encoder.url) as client:
        encoder.model.go.clear()
        first = asyncio.create_task(client.embed(["first"], 10))
        assert await asyncio.to_thread(encoder.model.busy.wait, 10)
        with pytest.raises(Unavailable):
            await client.embed(["late"], 0.05)
        await encoder.waiting(0)
        encoder.model.go.set()
        await first
        await client.embed(["next"], 10)
        assert encoder.model.batches == [["first"], ["next"]]


async def test_an_encoder_that_never_answers() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        async with client_of(f"http://127.0.0.1:{silent.getsockname()[1]}") as client:
            with pytest.raises(Unavailable) as refusal:
                await client.embed(["x"], 0.05)
    assert refusal.value.reason == "deadline"


@pytest.mark.parametrize(
    ("status", "headers", "retry_after_s"),
    [
        (503, {"Retry-After": "7"}, 7.0),
        (429, {"Retry-After": "Wed, 21 Oct"}, None),
        (504, {}, None),
        (500, {}, None),
    ],
)
async def test_not_now(status: int, headers: dict[str, str], retry_after_s: float | None) -> None:
    async with answering(status, b"{}", headers) as url, client_of(url) as client:
        with pytest.raises(Unavailable) as refusal:
            await client.embed(["x"], 5)
    assert (refusal.value.reason, refusal.value.retry_after_s) == (f"status_{status}", retry_after_s)


async def test_a_request_that_is_wrong_in_itself() -> None:
    async with served(limits=Limits(text_characters=3)) as encoder:
        async with client_of(encoder.url, "another") as client:
            with pytest.raises(Refused) as refusal:
                await client.embed(["x"], 5)
            assert (refusal.value.code, refusal.value.status) == ("model_not_found", 404)
        async with client_of(encoder.url) as client:
            with pytest.raises(Refused) as refusal:
                await client.embed(["long"], 5)
            assert (refusal.value.code, refusal.value.status) == ("too_long", 413)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<html>",
        b'{"data": []}',
        b'{"data": [{"index": 0, "embedding": "!"}]}',
        b'{"data": [{"index": 0, "embedding": "AAA="}]}',
        b'{"data": [{"index": 1, "embedding": "AAAAAA=="}]}',
        b'{"data": [{"index": 0, "embedding": [0.5]}]}',
    ],
)
async def test_garbage_is_no_vector(body: bytes) -> None:
    async with answering(200, body) as url, client_of(url) as client:
        with pytest.raises(Unavailable) as refusal:
            await client.embed(["x"], 5)
    assert refusal.value.reason == "garbage"


async def test_a_kept_connection_that_was_closed_is_asked_again() -> None:
    """The server hangs up on each connection after its first answer, without having said so."""
    connections = 0

    async def once(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal connections
        connections += 1
        await reader.readuntil(b"\r\n\r\n")
        body = b'{"data": [{"index": 0, "embedding": "AAAAPw=="}]}'
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
        await reader.readuntil(b"\r\n\r\n")
        writer.close()

    async with await asyncio.start_server(once, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        async with client_of(f"http://127.0.0.1:{port}") as client:
            assert await client.embed(["x"], 5) == [[0.5]]
            assert await client.embed(["x"], 5) == [[0.5]]
    assert connections == 2
