"""Opens an attempt in its answer's log, and opens it anew when the log is lost (protocol 3).

Only while Postgres has confirmed this dispatcher within the last second.
"""

import asyncio
import time
from collections.abc import Callable

import structlog

from inference.answer import Answer
from inference.keys import GRACE_TTL_S
from inference.seams import Rows, RowsDown
from inference.streams import Answered, Log, ValkeyDown

logger = structlog.get_logger(__name__)

FRESH_S = 1.0
RETRY_S = 0.25


class Lease:
    """When Postgres last confirmed this dispatcher."""

    def __init__(self) -> None:
        self._confirmed_at = float("-inf")
        self._confirmed = asyncio.Event()

    def confirm(self) -> None:
        """A heartbeat or claim succeeded just now."""
        self._confirmed_at = time.monotonic()
        self._confirmed.set()

    async def fresh(self) -> None:
        """Wait until it was confirmed within the last second."""
        while time.monotonic() - self._confirmed_at > FRESH_S:
            self._confirmed.clear()
            await self._confirmed.wait()


class Opening:
    """One answer's `open`, kept trying in the background: text waits in memory and in checkpoints meanwhile."""

    def __init__(
        self,
        log: Log,
        rows: Rows,
        lease: Lease,
        answer: Answer,
        opened: Callable[[Answer], None],
        fence: Callable[[], None],
    ) -> None:
        self._log, self._rows, self._lease = log, rows, lease
        self._answer = answer
        self._opened, self._fence = opened, fence
        self._task: asyncio.Task[None] | None = None

    def begin(self) -> None:
        """Open the attempt as it is."""
        self._task = asyncio.create_task(self._open())

    async def begin_where_read(self) -> bool:
        """Open before the stream begins; False when the log has grown since it was read: it must be read again.

        An owner that lost its lease writes on until this fences it, and its readers have seen that.
        """
        await self._lease.fresh()
        try:
            answered = await self._once()
        except ValkeyDown:
            answered = None
        if answered is not None and answered.word == "gone" and answered.number:
            return False
        if answered is None or answered.word not in {"ok", "dup"}:
            self.begin()
            return True
        self._answer.was_opened()
        self._opened(self._answer)
        return True

    def again(self, above: int) -> None:
        """Open as a new attempt above one that the log has seen; nothing if an opening is under way."""
        if self._task is None or self._task.done():
            self._answer.opened = False
            self._task = asyncio.create_task(self._reopen(above))

    def cancel(self) -> None:
        """Stop trying."""
        if self._task is not None:
            self._task.cancel()

    async def _open(self) -> None:
        while True:
            answered = await self._try()
            # Sent again it is `dup` at 0. Further on, the log is that of a claim of ours that Postgres lost.
            if answered.word in {"ok", "dup"} and answered.number == 0:
                self._answer.was_opened()
                return self._opened(self._answer)
            # `done`: the log ended though the row did not (Postgres lost that commit); the row will follow it.
            above = self._answer.attempt if answered.word == "dup" else answered.number
            if answered.word == "done" or not await self._renew(above):
                return None

    async def _reopen(self, above: int) -> None:
        if await self._renew(above):
            await self._open()

    async def _try(self) -> Answered:
        while True:
            await self._lease.fresh()
            try:
                return await self._once()
            except ValkeyDown as error:
                logger.warning("log_not_opened", error=type(error).__name__)
                await asyncio.sleep(RETRY_S)

    async def _once(self) -> Answered:
        answer = self._answer
        ttl_s = int(max(answer.claim.seconds_left, 0)) + GRACE_TTL_S
        v, x = answer.opening()
        request = answer.work.request.encoded()
        return await self._log.open(
            answer.pk, answer.attempt, answer.owner, v, x, request, ttl_s, answer.stands_on
        )

    async def _renew(self, above: int) -> bool:
        answer = self._answer
        while True:
            try:
                attempt = await self._rows.reclaim(answer.pk, answer.attempt, answer.owner, above)
                break
            except RowsDown:
                await asyncio.sleep(RETRY_S)
        if attempt is None:
            self._fence()
            return False
        self._lease.confirm()
        answer.renew(attempt)
        return True
