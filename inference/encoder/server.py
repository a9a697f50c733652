"""The encoder's HTTP server: `/v1/embeddings`, `/health`, `/metrics`, while one thread computes.

It is given the function that loads its model, so it imports no torch. Another model for the same thread
(moderation's classifier) comes the same way: a function handed in, a Batcher of its own, a route.
"""

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol

import structlog
from aiohttp import web

from inference.encoder import wire
from inference.encoder.batches import Batcher, ComputeFailed, Encoded, Expired, Full, Shape
from inference.encoder.metrics import Metrics

logger = structlog.get_logger(__name__)
LOADING_RETRY_S = 5
FINISH_S = 10.0
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Model(Protocol):
    """What computes; called on one thread only."""

    name: str
    dimensions: int

    def encode(self, texts: list[str]) -> list[Encoded]:
        """One vector a text, in order."""


class EncoderServer:
    """The application and what it holds; `working` loads, then computes, and ends only by failing."""

    def __init__(
        self,
        load: Callable[[], Model],
        limits: wire.Limits | None = None,
        shape: Shape | None = None,
    ) -> None:
        self._load = load
        self._limits = limits or wire.Limits()
        self._shape = shape or Shape()
        self._metrics = Metrics()
        self._worker = ThreadPoolExecutor(1, "encoder")
        self._model: Model | None = None
        self._batcher: Batcher | None = None
        self.working: asyncio.Task[None]

    def application(self) -> web.Application:
        """For aiohttp's runner, with `handler_cancellation` on: a caller that leaves drops its work."""
        app = web.Application(middlewares=[self._in_openai_form], client_max_size=self._limits.body_bytes)
        app.router.add_post(wire.PATH, self._embeddings)
        app.router.add_get("/health", self._health)
        app.router.add_get("/metrics", self._metrics_page)
        app.cleanup_ctx.append(self._while_serving)
        return app

    @property
    def is_ready(self) -> bool:
        """Whether the model is there."""
        return self._batcher is not None

    async def _while_serving(self, app: web.Application) -> AsyncIterator[None]:
        self.working = asyncio.create_task(self._work())
        yield
        self.working.cancel()
        await asyncio.wait({self.working})
        self._worker.shutdown(wait=False, cancel_futures=True)

    async def _work(self) -> None:
        self._model = await asyncio.get_running_loop().run_in_executor(self._worker, self._load)
        self._batcher = Batcher(self._model.encode, self._worker, self._metrics, self._shape)
        self._metrics.ready()
        logger.info("encoder.ready", model=self._model.name)
        await self._batcher.run()

    async def _embeddings(self, request: web.Request) -> web.Response:
        arrived = asyncio.get_running_loop().time()
        if self._model is None or self._batcher is None:
            raise wire.Problem(503, "The model is loading.", code="loading", retry_after_s=LOADING_RETRY_S)
        deadline = arrived + wire.parse_deadline(request.headers.get(wire.DEADLINE_HEADER), self._limits)
        asked = wire.parse(await request.read(), self._limits, self._model.name, self._model.dimensions)
        try:
            encoded = await self._batcher.submit(asked.texts, deadline)
        except Full as full:
            message = "Too much is waiting. Try again later."
            raise wire.Problem(503, message, code="overloaded", retry_after_s=full.retry_after_s) from None
        except Expired:
            raise wire.Problem(504, "The deadline passed.", code="deadline_exceeded") from None
        except ComputeFailed:
            raise wire.Problem(500, "The model failed.", code="model_failed") from None
        return web.Response(body=wire.render(asked, encoded), content_type="application/json")

    async def _health(self, request: web.Request) -> web.Response:
        if self._model is None:
            return web.json_response({"status": "loading"}, status=503)
        return web.json_response(
            {"status": "ready", "model": self._model.name, "dimensions": self._model.dimensions}
        )

    async def _metrics_page(self, request: web.Request) -> web.Response:
        return web.Response(body=self._metrics.page(), content_type="text/plain", charset="utf-8")

    @web.middleware
    async def _in_openai_form(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        try:
            response = await handler(request)
        except wire.Problem as problem:
            response = _refusal(problem)
        except web.HTTPRequestEntityTooLarge:
            message = f"The body is larger than {self._limits.body_bytes} bytes."
            response = _refusal(wire.Problem(413, message, code="too_long"))
        except web.HTTPException as error:
            response = _refusal(wire.Problem(error.status, f"{error.reason}: {request.path[:100]}"))
        if request.path == wire.PATH:
            self._metrics.answered(response.status)
        return response


def _refusal(problem: wire.Problem) -> web.Response:
    response = web.Response(body=problem.as_json(), status=problem.status, content_type="application/json")
    if problem.retry_after_s is not None:
        response.headers["Retry-After"] = str(problem.retry_after_s)
    return response


def run(host: str, port: int, load: Callable[[], Model]) -> None:
    """Serves until SIGTERM or SIGINT, finishing what was begun; raises what kept the model from loading."""
    server = EncoderServer(load)
    asyncio.run(_serve(server, host, port))
    if not server.is_ready:
        # Stopped while loading: nothing was served, and the loading thread would be joined for ten seconds.
        os._exit(0)


async def _serve(server: EncoderServer, host: str, port: int) -> None:
    runner = web.AppRunner(
        server.application(), handler_cancellation=True, shutdown_timeout=FINISH_S, access_log=None
    )
    await runner.setup()
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    try:
        site = web.TCPSite(runner, host, port)
        await site.start()
        logger.info("encoder.listening", addresses=[f"{name[0]}:{name[1]}" for name in runner.addresses])
        await _until(stop, server.working)
    finally:
        await runner.cleanup()


async def _until(stop: asyncio.Event, working: asyncio.Task[None]) -> None:
    stopped = asyncio.create_task(stop.wait())
    await asyncio.wait({stopped, working}, return_when=asyncio.FIRST_COMPLETED)
    stopped.cancel()
    if working.done():
        working.result()
