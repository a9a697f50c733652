"""The answers that one socket follows: a task each, sending as the socket's credit allows."""

import asyncio
from collections.abc import Awaitable, Callable
from uuid import UUID

import structlog

from chat import events
from chat.live import hub
from chat.live.credit import Credit
from chat.live.tail import entries_after
from inference.core.events import EntryId
from inference.follower import Follower
from inference.streams import ValkeyDown

logger = structlog.get_logger(__name__)

PLACE_S = 1.0
MOST = 64


class TooManySubscriptions(Exception):
    """One socket follows MOST answers at the most."""


class Subscriptions:
    """Belongs to one socket; `send` writes one text frame, `broke` ends it: a reader must never wait for nothing."""

    def __init__(
        self,
        send: Callable[[str], Awaitable[None]],
        credit: Credit,
        broke: Callable[[], Awaitable[None]],
    ) -> None:
        self._send, self._credit, self._broke = send, credit, broke
        self._tasks: dict[UUID, asyncio.Task[None]] = {}

    def follow(
        self, generation: UUID, after: EntryId | None, *, model: str, just_queued: bool = False
    ) -> None:
        """Send its events after an id; following it already, begin again from there."""
        self.drop(generation)
        if len(self._tasks) >= MOST:
            raise TooManySubscriptions
        follower = Follower(hub.current(), generation, after, entries_after, just_queued=just_queued)
        task = asyncio.create_task(self._run(follower, model))
        self._tasks[generation] = task
        task.add_done_callback(lambda done: self._ended(generation, done))

    def drop(self, generation: UUID) -> None:
        """Send no more of it."""
        task = self._tasks.pop(generation, None)
        if task is not None:
            task.cancel()

    async def close(self) -> None:
        """End them all."""
        tasks = list(self._tasks.values())
        for generation in list(self._tasks):
            self.drop(generation)
        await asyncio.gather(*tasks, return_exceptions=True)

    def _ended(self, generation: UUID, task: asyncio.Task[None]) -> None:
        if self._tasks.get(generation) is task:
            del self._tasks[generation]
        if not task.cancelled() and task.exception() is not None:
            logger.error("subscription_broke", exc_info=task.exception())

    async def _run(self, follower: Follower, model: str) -> None:
        try:
            await self._forward(follower, model)
        except Exception:
            await self._broke()
            raise

    async def _forward(self, follower: Follower, model: str) -> None:
        generation = follower.pk
        placing = asyncio.create_task(self._tell_place(generation, model))
        stream = aiter(follower)
        try:
            async for event in stream:
                placing.cancel()
                await self._credit.room()
                seq = self._credit.spend(len(event.v))
                await self._send(
                    events.event_frame(str(generation), str(event.id), event.n_from, seq, event.v)
                )
        finally:
            placing.cancel()
            await stream.aclose()  # type: ignore[attr-defined]

    async def _tell_place(self, generation: UUID, model: str) -> None:
        places = hub.current().places
        while True:
            await asyncio.sleep(PLACE_S)
            try:
                place = await places.of(model, generation)
            except ValkeyDown:
                continue
            if place is not None:
                await self._send(events.place_frame(str(generation), place.place, place.wait_s))
