"""The outermost layers of a request: health before all else, one log line a request, the web UI's files.

All are async without a hop to a thread, and sync for the test client. No text and no key in a path is logged: a line
has the route's pattern.
"""

import time
import uuid
from asyncio import to_thread
from collections.abc import Awaitable, Callable
from os import SEEK_END
from tempfile import SpooledTemporaryFile
from typing import Any, cast

import structlog
from asgiref.sync import async_to_sync, iscoroutinefunction, markcoroutinefunction
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from whitenoise.middleware import WhiteNoiseMiddleware

from config import health, metrics

logger = structlog.get_logger(__name__)

Answer = HttpResponseBase | Awaitable[HttpResponseBase]
HEALTH = {"/healthz": health.healthz, "/readyz": health.readyz, "/metrics": health.metrics}
NO_ROUTE = "none"


class _Layer:
    """A middleware that is async over an async chain and sync over a sync one."""

    sync_capable = async_capable = True

    def __init__(self, get_response: Callable[[HttpRequest], Any]) -> None:
        self.get_response = get_response
        self.is_async = _follow(self, get_response)


class Health(_Layer):
    """Answers probes before hosts, redirects and sessions matter: they come by address and in plain HTTP."""

    def __call__(self, request: HttpRequest) -> Answer:
        view = HEALTH.get(request.path)
        if view is None:
            return cast(Answer, self.get_response(request))
        return self._probed(view, request) if self.is_async else async_to_sync(self._probed)(view, request)

    async def _probed(
        self, view: Callable[[HttpRequest], Awaitable[HttpResponse]], request: HttpRequest
    ) -> HttpResponse:
        response = await view(request)
        _keep_django_silent(response)
        return response


class RequestLog(_Layer):
    """Binds a request id to every log line of the request, sends it back, says how the request ended."""

    def __call__(self, request: HttpRequest) -> Answer:
        if self.is_async:
            return self._in_turn(request)
        request_id, began = str(uuid.uuid4()), time.monotonic()
        with structlog.contextvars.bound_contextvars(request_id=request_id):
            response = self.get_response(request)
            _note(request, response, request_id, began)
        return cast(HttpResponseBase, response)

    async def _in_turn(self, request: HttpRequest) -> HttpResponseBase:
        request_id, began = str(uuid.uuid4()), time.monotonic()
        with structlog.contextvars.bound_contextvars(request_id=request_id):
            response = await self.get_response(request)
            _note(request, response, request_id, began)
        return cast(HttpResponseBase, response)


class BodyLength(_Layer):
    """A body sent in chunks has no Content-Length, and limits and parsers go by that: it gets the one it has."""

    def __call__(self, request: HttpRequest) -> Answer:
        body = getattr(request, "_stream", None)  # over ASGI all of it has come by now, in memory or on disk
        if isinstance(body, SpooledTemporaryFile) and not request.META.get("CONTENT_LENGTH"):
            body.seek(0, SEEK_END)
            if length := body.tell():
                request.META["CONTENT_LENGTH"] = str(length)
            body.seek(0)
        return cast(Answer, self.get_response(request))


def _keep_django_silent(response: HttpResponseBase) -> None:
    """Its own line on a refusal would hold the path, and come with each probe of a service that is not ready."""
    response._has_been_logged = True  # type: ignore[attr-defined]


def _follow(layer: Any, get_response: Callable[[HttpRequest], Any]) -> bool:
    is_async = iscoroutinefunction(get_response)
    if is_async:
        markcoroutinefunction(layer)
    return is_async


def _note(request: HttpRequest, response: HttpResponseBase, request_id: str, began: float) -> None:
    took_s = time.monotonic() - began
    route = request.resolver_match.route if request.resolver_match else NO_ROUTE
    metrics.answered(str(request.method), route, response.status_code, took_s)
    response["X-Request-ID"] = request_id
    _keep_django_silent(response)
    level = "error" if response.status_code >= 500 else "info"
    getattr(logger, level)(
        "request_finished",
        method=request.method,
        route=route,
        status=response.status_code,
        took_ms=round(took_s * 1000, 1),
    )


class StaticFiles(WhiteNoiseMiddleware):  # type: ignore[misc] # it has no types
    """whitenoise without a thread for what is no file, and without a sync stream where the server is async."""

    sync_capable = async_capable = True

    def __init__(self, get_response: Callable[[HttpRequest], Any]) -> None:
        super().__init__(get_response)
        self.is_async = _follow(self, get_response)

    def __call__(self, request: HttpRequest) -> Answer:
        return self._in_turn(request) if self.is_async else cast(Answer, super().__call__(request))

    async def _in_turn(self, request: HttpRequest) -> HttpResponseBase:
        found = self.find_file(request.path_info) if self.autorefresh else self.files.get(request.path_info)
        if found is None:
            return cast(HttpResponseBase, await self.get_response(request))
        return await to_thread(self._whole, found, request)

    def _whole(self, found: Any, request: HttpRequest) -> HttpResponseBase:
        streamed = self.serve(found, request)
        headers = dict(streamed.items())
        try:
            return HttpResponse(b"".join(streamed), status=streamed.status_code, headers=headers)
        finally:
            streamed.close()
