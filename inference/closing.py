"""How an answer leaves its dispatcher: finished and closed, or handed back (protocol 4.7, 2).

The row first, then the log's `done`, the slot, settlement and follow-up work; each closing step may run twice.
"""

import asyncio
import time
from collections.abc import Sequence
from typing import Any
from uuid import UUID

import structlog

from inference import catalogue
from inference.answer import Answer, Claim
from inference.core.events import Done, encode
from inference.core.fair import Entry
from inference.queue import Queue
from inference.seams import Outcome, Rows, RowsDown, Sink, Unclosed, Waiting
from inference.streams import Log, ValkeyDown

logger = structlog.get_logger(__name__)

RETRY_S = 0.25
CLOSE_S = 5.0


class Closer:
    """Ends and hand-backs, for one dispatcher."""

    def __init__(self, rows: Rows, sink: Sink, log: Log, valkey: Any) -> None:
        self._rows, self._sink, self._log, self._valkey = rows, sink, log, valkey

    async def finish(
        self, claim: Claim, attempt: int, owner: UUID | None, number: int | None, outcome: Outcome
    ) -> bool:
        """Commit the end, waiting for Postgres as long as it takes, then close; False: it was not ours any more."""
        while True:
            try:
                won = await self._sink.finish(claim.pk, attempt, owner, outcome)
                break
            except RowsDown:
                logger.warning("finish_waits_for_postgres")
                await asyncio.sleep(RETRY_S)
        if won:
            length = len(outcome.text) if outcome.text is not None else len(claim.standing)
            # Readers wait for `done`, and the sweep looks only after as long.
            give_up_at = time.monotonic() + CLOSE_S
            while not await self.close(claim.pk, attempt, owner, number, outcome, length):
                if time.monotonic() > give_up_at:
                    logger.warning("close_left_to_sweep")
                    break
                await asyncio.sleep(RETRY_S)
        return won

    async def close(
        self, pk: UUID, attempt: int, owner: UUID | None, number: int | None, outcome: Outcome, length: int
    ) -> bool:
        """`done` to the log, then what follows; False where a store is away. The sweep does it again."""
        event = Done(outcome.state, length, outcome.finish_reason, outcome.usage, outcome.error_code)
        purge = outcome.state == "blocked"
        try:
            answered = await self._log.finish(pk, attempt, owner, number, encode(event), purge=purge)
            if answered.word in {"behind", "fenced"}:
                # The row is terminal, and the log follows it: past a gap, past an attempt that Postgres lost.
                above = attempt if answered.word == "behind" else answered.number + 1
                await self._log.finish(pk, above, owner, None, encode(event), purge=purge)
            waiting = await self._sink.close(pk, outcome)
            await self.put(waiting)
        except (*ValkeyDown, RowsDown) as error:
            logger.warning("close_failed", error=type(error).__name__)
            return False
        return True

    async def close_again(self, unclosed: Unclosed) -> None:
        """The same, for a row that ended without it."""
        await self.close(
            unclosed.pk, unclosed.attempt, unclosed.owner, None, unclosed.outcome, unclosed.length
        )

    async def hand_back(self, answer: Answer, failures: int) -> None:
        """Checkpoint what stands and queue it for anyone; nothing when it was not ours any more."""
        piece = answer.piece()
        if piece is not None:
            try:
                await self._sink.checkpoint(answer.owner, [piece])
            except RowsDown:
                logger.warning("checkpoint_failed_at_hand_back")
        await self._hand_back(answer.pk, answer.attempt, answer.owner, failures)

    async def hand_back_claim(self, claim: Claim, owner: UUID, failures: int) -> None:
        """Queue a claim that never came to run."""
        await self._hand_back(claim.pk, claim.attempt, owner, failures)

    async def put(self, waiting: Sequence[Waiting]) -> None:
        """Into their queues; the sweep does it again where Valkey is away or a queue is full."""
        by_model: dict[str, list[Entry]] = {}
        for item in waiting:
            by_model.setdefault(item.model, []).append(item.entry)
        try:
            for model, entries in by_model.items():
                await Queue(self._valkey, model).put(entries, catalogue.queue_limit(model))
        except ValkeyDown as error:
            logger.warning("put_left_to_sweep", error=type(error).__name__)

    async def _hand_back(self, pk: UUID, attempt: int, owner: UUID, failures: int) -> None:
        # While we live our lease hides the row from every sweep: given up half it would be stuck.
        while True:
            try:
                waiting = await self._rows.hand_back(pk, attempt, owner, failures=failures)
                break
            except RowsDown:
                logger.warning("hand_back_waits_for_postgres")
                await asyncio.sleep(RETRY_S)
        if waiting is not None:
            await self.put([waiting])
