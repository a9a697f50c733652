"""`GET generations/{pk}/events`: an answer's events as text/event-stream (docs/api.md).

No acknowledgements here and no back-pressure below, so a response ends after RESPONSE_BYTES and the client returns.
"""

import asyncio
import uuid
from collections.abc import AsyncIterator

from channels.db import database_sync_to_async
from django.http import HttpRequest, HttpResponseBase, JsonResponse, StreamingHttpResponse
from django.views.decorators.http import require_GET
from rest_framework.request import Request
from rest_framework.views import APIView

from chat import access
from chat.errors import ChatError, FieldError, Invalid, NotSignedIn, describe, from_exception
from chat.live import hub
from chat.live.tail import entries_after
from inference.core.events import EntryId
from inference.follower import Event, Follower

RESPONSE_BYTES = 128 * 1024
PING_S = 15.0
PING = b": ping\n\n"
RETRY = b"retry: 1000\n\n"


@require_GET
async def events(request: HttpRequest, pk: uuid.UUID) -> HttpResponseBase:
    """The events after `Last-Event-ID`, from the first without one."""
    try:
        after = _last_event_id(request)
        # Its connection goes back to the pool now: Django would keep it to the end of the stream.
        await database_sync_to_async(_allow)(request, pk)
    except Exception as error:
        known = from_exception(error)
        if known is None:
            raise
        return _refusal(known)
    follower = Follower(hub.current(), pk, after, entries_after)
    return StreamingHttpResponse(
        _body(follower),
        content_type="text/event-stream",
        headers={"Cache-Control": "no-cache, no-transform", "X-Accel-Buffering": "no"},
    )


def _allow(request: HttpRequest, pk: uuid.UUID) -> None:
    user = Request(request, authenticators=APIView().get_authenticators()).user
    if not user.is_authenticated or user.pk is None:
        raise NotSignedIn
    access.generation(user.pk, pk)


def _last_event_id(request: HttpRequest) -> EntryId | None:
    raw = request.headers.get("Last-Event-ID", "").strip()
    if not raw:
        return None
    try:
        return EntryId.parse(raw)
    except ValueError as error:
        raise Invalid(errors=(FieldError("Last-Event-ID", str(error)),)) from error


def _refusal(error: ChatError) -> JsonResponse:
    return JsonResponse(describe(error), status=error.status, content_type="application/problem+json")


async def _body(follower: Follower) -> AsyncIterator[bytes]:
    yield RETRY
    sent = 0
    stream = aiter(follower)
    upcoming: asyncio.Task[Event] | None = None
    try:
        while sent < RESPONSE_BYTES:
            upcoming = upcoming or asyncio.ensure_future(anext(stream))
            done, _ = await asyncio.wait({upcoming}, timeout=PING_S)
            if not done:
                yield PING
                continue
            try:
                event, upcoming = upcoming.result(), None
            except StopAsyncIteration:
                return
            frame = _frame(event)
            sent += len(frame)
            yield frame
            if event.is_done:
                return
    finally:
        if upcoming is not None:
            upcoming.cancel()
            await asyncio.gather(upcoming, return_exceptions=True)
        await stream.aclose()  # type: ignore[attr-defined]


def _frame(event: Event) -> bytes:
    kind = event.v[len(b'{"type":"') :].partition(b'"')[0]
    # A merged delta covers several entries: the data says from which, as on the websocket.
    data = event.v if event.n_from is None else event.v[:-1] + b',"from":%d}' % event.n_from
    return b"id: %s\nevent: %s\ndata: %s\n\n" % (str(event.id).encode(), kind, data)
