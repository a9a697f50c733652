"""The websocket /ws/v1/: one socket a tab, every conversation on it (docs/api.md).

Parse, call one function of chat, answer. It holds no answer and no text: only places in logs.
"""

import asyncio
import re
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict
from typing import Any
from uuid import UUID

import structlog
from channels.db import database_sync_to_async
from channels.generic.websocket import AsyncWebsocketConsumer
from django.conf import settings

from accounts import authentication
from accounts.errors import NotAuthenticated
from chat import access, events, notices, turns
from chat.errors import BadFrame, ChatError, FieldError, Invalid, describe, from_exception
from chat.live import door, metrics
from chat.live.credit import CREDIT_BYTES, CREDIT_EVENTS, Credit
from chat.live.subscriptions import MOST, Subscriptions, TooManySubscriptions
from chat.text import CLIENT_ID
from chat.writing import Turn
from inference.core.events import EntryId

logger = structlog.get_logger(__name__)

# Proxies cut what is silent for 30 s; ours and their clocks may differ.
PING_S = 15
SILENCE_S = 60
RECHECK_S = 30
DOUBT_S = 3
SOCKETS_A_PERSON = 50

SIGNED_OUT, ORIGIN, PING_LOST, TOO_MANY, TOO_LARGE, RESTART = 4401, 4403, 4408, 4409, 1009, 1012

_sockets: Counter[UUID] = Counter()


class ChatConsumer(AsyncWebsocketConsumer):
    """One socket's life: door, hello, messages, watch, close."""

    person: door.Person | None = None
    doubted_until = 0.0

    async def connect(self) -> None:
        """Accept first, so that a refusal has its code."""
        await self.accept()
        try:
            self.person = await _in_thread(door.identify, self.scope)
        except NotAuthenticated:
            return await self.close(SIGNED_OUT)
        except door.OriginRefused:
            return await self.close(ORIGIN)
        if _sockets[self.person.pk] >= SOCKETS_A_PERSON:
            self.person = None
            return await self.close(TOO_MANY)
        _sockets[self.person.pk] += 1
        metrics.SOCKETS.inc()
        self.heard_at = time.monotonic()
        self.credit = Credit()
        self.subscriptions = Subscriptions(self._send_text, self.credit, self._restart)
        await self._join()
        self.watching = asyncio.create_task(self._watch())
        hello = {"ping_s": PING_S, "credit_events": CREDIT_EVENTS, "credit_bytes": CREDIT_BYTES}
        await self._answer("hello", **hello, max_frame_bytes=settings.MAX_FRAME_BYTES)

    async def disconnect(self, code: int) -> None:
        """Free everything; answers go on without us."""
        if self.person is None:
            return
        _sockets[self.person.pk] -= 1
        metrics.SOCKETS.dec()
        if not _sockets[self.person.pk]:
            del _sockets[self.person.pk]
        self.watching.cancel()
        await self.subscriptions.close()

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        """One frame."""
        if self.person is None:
            return
        self.heard_at = time.monotonic()
        if len(text_data or bytes_data or "") > settings.MAX_FRAME_BYTES:
            return await self.close(TOO_LARGE)
        message: events.ClientMessage | None = None
        try:
            if text_data is None:
                raise BadFrame("Send text frames: this one is binary.")
            message = events.decode(text_data)
            await self._take(message)
        except Exception as error:
            known = from_exception(error)
            if known is None:
                raise
            await self._refuse(message, known)

    async def conversation_changed(self, event: dict[str, Any]) -> None:
        """A notice from notices.py."""
        await self._answer("changed", conversation=event["conversation"])

    async def sessions_ended(self, event: dict[str, Any]) -> None:
        """A notice from notices.py: a session of this person ended, perhaps this one.

        Django says so just before it deletes the session, so the next looks follow at once.
        """
        self.doubted_until = time.monotonic() + DOUBT_S
        await self._leave_if_signed_out()

    async def _take(self, message: events.ClientMessage) -> None:
        match message:
            case events.Ping():
                await self._answer("pong")
            case events.Ack():
                self.credit.acknowledge(message.seq)
            case events.Subscribe():
                await self._subscribe(message)
            case events.Unsubscribe():
                self.subscriptions.drop(message.generation)
            case events.Stop():
                state = await _in_thread(turns.stop, self._pk, message.generation)
                await self._answer("stopping", generation=str(message.generation), state=state)
            case _:
                turn = await _in_thread(self._begin(message))
                await self._answer("accepted", ref=message.ref, **_keys(turn))
                self._follow(turn.generation, None, turn.model, just_queued=turn.state == "queued")

    def _begin(
        self, message: events.Send | events.Edit | events.Regenerate | events.Continue
    ) -> Callable[[], Turn]:
        client_id = _client_id(message.client_id)
        match message:
            case events.Send(conversation=conversation, parent=parent, text=text, model=model):
                return lambda: turns.begin(
                    self._pk,
                    client_id=client_id,
                    conversation=conversation,
                    parent=parent,
                    text=text,
                    model=model,
                )
            case events.Edit(message=pk, text=text, model=model):
                return lambda: turns.edit(self._pk, client_id=client_id, message=pk, text=text, model=model)
            case events.Regenerate(message=pk, model=model):
                return lambda: turns.regenerate(self._pk, client_id=client_id, message=pk, model=model)
            case events.Continue(message=pk):
                return lambda: turns.resume(self._pk, client_id=client_id, message=pk)

    async def _subscribe(self, message: events.Subscribe) -> None:
        try:
            after = None if message.after is None else EntryId.parse(message.after)
        except ValueError as error:
            raise Invalid(errors=(FieldError("after", str(error)),)) from error
        row = await _in_thread(access.generation, self._pk, message.generation)
        self._follow(row.pk, after, row.model)

    def _follow(
        self, generation: UUID, after: EntryId | None, model: str, *, just_queued: bool = False
    ) -> None:
        try:
            self.subscriptions.follow(generation, after, model=model, just_queued=just_queued)
        except TooManySubscriptions as error:
            reason = "This socket follows too many answers; unsubscribe some first."
            raise Invalid(errors=(FieldError("generation", reason, MOST),)) from error

    async def _refuse(self, message: events.ClientMessage | None, error: ChatError) -> None:
        problem = describe(error)
        problem.pop("type")
        turn = isinstance(message, events.Send | events.Edit | events.Regenerate | events.Continue)
        ref = getattr(message, "ref", None)
        await self._answer("refused" if turn else "error", ref=ref, **problem)

    async def _watch(self) -> None:
        """Close when the other side is silent for too long, or its session ended."""
        checked_at = time.monotonic()
        while True:
            await asyncio.sleep(1)
            now = time.monotonic()
            if now - self.heard_at > SILENCE_S:
                return await self.close(PING_LOST)
            if now - checked_at > RECHECK_S or now < self.doubted_until:
                checked_at = now
                await self._leave_if_signed_out()

    async def _leave_if_signed_out(self) -> None:
        assert self.person is not None  # noqa: S101 whoever is watched or told has come in
        if not await _in_thread(authentication.session_alive, self.person.session_key, self.person.pk):
            await self.close(SIGNED_OUT)

    async def _restart(self) -> None:
        """Let the client come back and subscribe again: a fault of ours must not leave it waiting."""
        await self.close(RESTART)

    async def _join(self) -> None:
        try:
            await self.channel_layer.group_add(notices.group(self._pk), self.channel_name)
        except (OSError, TimeoutError) as error:
            logger.warning("notices_unreachable", error=type(error).__name__)

    @property
    def _pk(self) -> UUID:
        assert self.person is not None  # noqa: S101 receive ignores frames before the door
        return self.person.pk

    async def _answer(self, kind: str, **fields: Any) -> None:
        present = {name: value for name, value in fields.items() if value is not None or name == "message"}
        await self._send_text(events.encode({"type": kind, **present}))

    async def _send_text(self, text: str) -> None:
        await self.send(text_data=text)


def _client_id(client_id: str) -> str:
    if not re.fullmatch(CLIENT_ID, client_id):
        reason = "It should have 8 to 64 characters: letters, digits and any of . _ : -"
        raise Invalid(errors=(FieldError("client_id", reason, 64),))
    return client_id


def _keys(turn: Turn) -> dict[str, Any]:
    return {name: str(value) if value is not None else None for name, value in asdict(turn).items()}


async def _in_thread(function: Callable[..., Any], *arguments: Any) -> Any:
    return await database_sync_to_async(function, thread_sensitive=False)(*arguments)
