"""One subscriber connection a process, shared by all readers of logs in it (protocol 6).

It forwards numbered entries as bytes; what a reader has seen, and what it may still be sent, is follower.py's.
"""

import asyncio
import time
from collections import defaultdict
from collections.abc import Callable
from typing import Any, Protocol
from uuid import UUID

import structlog
from redis.asyncio import Redis
from redis.asyncio.client import PubSub

from inference import keys
from inference.core.events import EntryId
from inference.places import Places
from inference.streams import Log, ValkeyDown

logger = structlog.get_logger(__name__)

SILENCE_S = 5.0
RETRY_S = 0.25


class Listener(Protocol):
    """One reader of one log."""

    pk: UUID
    last: EntryId
    heard_at: float

    def offer(self, entry: EntryId, v: bytes) -> None:
        """A live entry."""

    def must_read(self) -> None:
        """Something may have been missed."""


class Hub:
    """Subscribes to a log's channel while somebody listens; belongs to one event loop."""

    def __init__(self, valkey: Redis, subscriber: Redis) -> None:
        self.valkey = valkey
        self.log = Log(valkey)
        self.places = Places(valkey)
        self._subscriber = subscriber
        self._pubsub: PubSub | None = None
        self._listeners: dict[str, set[Listener]] = defaultdict(set)
        self._confirmed: dict[str, asyncio.Event] = {}
        self._tasks: list[asyncio.Task[None]] = []

    async def listen(self, listener: Listener) -> None:
        """Add a reader; returns once its channel is confirmed, or the connection is known to be away."""
        self._start()
        channel = keys.log_channel(listener.pk)
        self._listeners[channel].add(listener)
        confirmed = self._confirmed.get(channel)
        if confirmed is None:
            confirmed = self._confirmed[channel] = asyncio.Event()
            await self._send(lambda pubsub: pubsub.ssubscribe(channel))
        try:
            async with asyncio.timeout(RETRY_S):
                await confirmed.wait()
        except TimeoutError:
            logger.warning("subscription_unconfirmed")

    async def leave(self, listener: Listener) -> None:
        """Remove a reader; the last one ends the subscription."""
        channel = keys.log_channel(listener.pk)
        listeners = self._listeners.get(channel, set())
        listeners.discard(listener)
        if not listeners and channel in self._confirmed:
            self._listeners.pop(channel, None)
            del self._confirmed[channel]
            await self._send(lambda pubsub: pubsub.sunsubscribe(channel))

    async def close(self) -> None:
        """End its tasks; who still listens hears no more."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    @property
    def readers(self) -> int:
        """How many listen now."""
        return sum(len(listeners) for listeners in self._listeners.values())

    def _start(self) -> None:
        if not self._tasks:
            self._tasks = [asyncio.create_task(self._receive()), asyncio.create_task(self._check_silence())]

    async def _send(self, command: Callable[[PubSub], Any]) -> None:
        if self._pubsub is None:
            return
        try:
            await command(self._pubsub)
        except ValkeyDown:
            logger.warning("subscriber_lost_on_send")

    async def _receive(self) -> None:
        while True:
            try:
                async with self._subscriber.pubsub() as pubsub:
                    await self._resubscribe(pubsub)
                    await self._forward(pubsub)
            except ValkeyDown as error:
                logger.warning("subscriber_lost", error=type(error).__name__)
            self._pubsub = None
            for confirmed in self._confirmed.values():
                confirmed.clear()
            await asyncio.sleep(RETRY_S)

    async def _resubscribe(self, pubsub: PubSub) -> None:
        # One channel that is always there keeps the connection reading while nobody listens.
        await pubsub.subscribe("hub")
        self._pubsub = pubsub
        if self._confirmed:
            await pubsub.ssubscribe(*self._confirmed)

    async def _forward(self, pubsub: PubSub) -> None:
        async for message in pubsub.listen():
            channel = message["channel"].decode()
            match message["type"]:
                case "smessage":
                    raw_id, _, v = message["data"].partition(b" ")
                    entry = EntryId.parse(raw_id.decode())
                    for listener in tuple(self._listeners.get(channel, ())):
                        listener.offer(entry, v)
                case "ssubscribe" if channel in self._confirmed:
                    self._confirmed[channel].set()
                    for listener in tuple(self._listeners.get(channel, ())):
                        listener.must_read()

    async def _check_silence(self) -> None:
        """A lost last message has no successor to show the gap: ask for the heads of logs that are silent."""
        while True:
            await asyncio.sleep(SILENCE_S / 5)
            now = time.monotonic()
            silent = [
                listener
                for listeners in self._listeners.values()
                for listener in listeners
                if now - listener.heard_at > SILENCE_S
            ]
            if silent:
                await self._check(silent)

    async def _check(self, silent: list[Listener]) -> None:
        try:
            heads = await self.log.heads([listener.pk for listener in silent])
        except ValkeyDown:
            heads = [None] * len(silent)
        for listener, head in zip(silent, heads, strict=True):
            listener.heard_at = time.monotonic()
            if head != listener.last:
                listener.must_read()
