"""An encoder server in the test's own process, with a model that the test holds back and looks into."""

import asyncio
import struct
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

import aiohttp
from aiohttp import web

from inference.encoder import wire
from inference.encoder.batches import Encoded, Shape
from inference.encoder.server import EncoderServer
from inference.encoder.wire import Limits

WAIT_S = 10


class HeldModel:
    """Vectors made of a text's length; computes only while `go` is set, and keeps what it computed."""

    name = "all-MiniLM-L6-v2"
    dimensions = 3

    def __init__(self) -> None:
        self.go = threading.Event()
        self.go.set()
        self.busy = threading.Event()
        self.batches: list[list[str]] = []

    def encode(self, texts: list[str]) -> list[Encoded]:
        """One vector a text."""
        self.batches.append(texts)
        self.busy.set()
        assert self.go.wait(WAIT_S)
        if "poison" in texts:
            raise ArithmeticError("poison")
        return [Encoded(vector_of(text), len(text.split())) for text in texts]


def vector_of(text: str) -> bytes:
    """The bytes of (length, 0.5, -0.1) as float32, written down without the code under test."""
    return struct.pack("<3f", len(text), 0.5, -0.1)


@dataclass(frozen=True, slots=True)
class Served:
    """A running server, its model, and a session to talk to it."""

    url: str
    model: HeldModel
    server: EncoderServer
    session: aiohttp.ClientSession

    async def post(self, deadline_ms: int | None = None, **body: object) -> tuple[int, dict, dict]:
        """Status, JSON and headers of one request."""
        headers = {wire.DEADLINE_HEADER: str(deadline_ms)} if deadline_ms is not None else {}
        asked = {"model": self.model.name, **body}
        async with self.session.post(self.url + wire.PATH, json=asked, headers=headers) as response:
            return response.status, await response.json(), dict(response.headers)

    async def metric(self, name: str) -> float:
        """A series without labels, as Prometheus reads it."""
        async with self.session.get(f"{self.url}/metrics") as response:
            lines = (await response.text()).splitlines()
        return next(float(line.split()[-1]) for line in lines if line.startswith(f"{name} "))

    async def waiting(self, texts: int) -> None:
        """Until so many texts are in the queue."""
        await until(lambda: self.metric("parley_encoder_waiting_texts"), texts)


async def until(read: Callable, expected: object) -> None:
    """Polls for a condition; fails with what was read last."""
    seen = None
    try:
        async with asyncio.timeout(WAIT_S):
            while (seen := await read()) != expected:  # noqa: ASYNC110, read over HTTP
                await asyncio.sleep(0.005)
    except TimeoutError:
        raise AssertionError(f"waited for {expected!r}, last seen {seen!r}") from None


@asynccontextmanager
async def served(
    model: HeldModel | None = None,
    load: Callable[[], HeldModel] | None = None,
    limits: Limits | None = None,
    shape: Shape | None = None,
) -> AsyncIterator[Served]:
    """A server on a free port, ready unless `load` is given."""
    model = model or HeldModel()
    server = EncoderServer(load or (lambda: model), limits, shape)
    runner = web.AppRunner(server.application(), handler_cancellation=True, shutdown_timeout=1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    host, port = runner.addresses[0][:2]
    async with aiohttp.ClientSession() as session:
        running = Served(f"http://{host}:{port}", model, server, session)
        try:
            if load is None:
                await until(running_status(running), 200)
            yield running
        finally:
            model.go.set()
            await runner.cleanup()


def running_status(running: Served) -> Callable:
    """Reads the status of `/health`."""

    async def status() -> int:
        async with running.session.get(f"{running.url}/health") as response:
            return response.status

    return status
