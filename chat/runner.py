"""What the dispatcher is given: load builds or recovers a request, transform guards the output, the sink records.

The one place where memory, inference, limits and rows meet; run_dispatcher wires it.
"""

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from uuid import UUID

import msgspec
import structlog
from psycopg.types.json import Jsonb

from accounts import limits
from chat import lifecycle, notices
from chat.lifecycle import Sink, encoded_counts, parts_text
from chat.statements import Statements
from inference import catalogue
from inference.answer import Claim, Work
from inference.catalogue import Model
from inference.core import recovery
from inference.core.events import BEFORE_ALL
from inference.core.recovery import NOTHING, Recovered
from inference.core.values import Chunk, Progress, ReplicaView, Request
from inference.engine import Engine
from inference.errors import ContextTooLong, Refused
from inference.seams import Outcome, Waiting
from inference.streams import Log, ValkeyDown
from memory import assembly
from memory.core.values import Budget, Turn
from memory.counting import EngineCounter
from memory.errors import ContextError, MessageTooLong

# A message has at least about this many tokens with its template, so no more of them fit a context.
LEAST_MESSAGE_TOKENS = 4
# An answer taken over is not shown before Valkey is there; away for longer, it is taken for lost.
LOG_WAIT_S = 10.0
LOG_RETRY_S = 0.25

logger = structlog.get_logger(__name__)


class Loader:
    """`inference.seams.Load`."""

    def __init__(self, statements: Statements, engine: Engine, log: Log) -> None:
        self._run = statements.run
        self._engine = engine
        self._log = log

    async def __call__(self, claim: Claim, owner: UUID, replica: ReplicaView | None) -> Work:
        """The frozen request, and all that was released before. Raises Refused, Unavailable, RowsDown."""
        if claim.attempt == 1:
            found, saved, in_log, request = NOTHING, NOTHING, False, None
        else:
            found, saved, in_log, request = await self._recover(claim)
        request = claim.request or request
        if request is None:
            request = await self._assemble(claim, owner, replica)
        if found is NOTHING:
            standing = claim.standing.rstrip()
            return Work(request, Progress(text=standing), opens_with_text=bool(standing))
        length, ids = recovery.common(found.progress, saved.progress)
        stands_on = found.last if in_log else None
        return Work(request, found.progress, length, ids, not in_log, stands_on, found.end)

    async def _recover(self, claim: Claim) -> tuple[Recovered, Recovered, bool, Request | None]:
        """What stands, what of it is in checkpoints, whether the log has it, and the request it froze."""
        rows = await self._run("chunks", pk=claim.pk)
        saved = recovery.from_checkpoints([(row[0], row[1], row[2]) for row in rows])
        logged, request = await self._logged(claim)
        best = max(logged, saved, key=lambda source: source.last)
        return best, saved, best is logged, request

    async def _logged(self, claim: Claim) -> tuple[Recovered, Request | None]:
        """What the log has, read again while Valkey hesitates: readers may have seen more than the checkpoints hold."""
        give_up_at = time.monotonic() + min(LOG_WAIT_S, max(claim.seconds_left, 0))
        while True:
            try:
                state = await self._log.read(claim.pk, BEFORE_ALL, count=None)
                if not state.exists:
                    return NOTHING, None
                raw = await self._log.request(claim.pk)
                request = msgspec.json.decode(raw, type=Request) if raw else None
                return recovery.from_log(state.entries), request
            except ValkeyDown as error:
                logger.warning("load_waits_for_log", error=type(error).__name__)
                if time.monotonic() > give_up_at:
                    return NOTHING, None
                await asyncio.sleep(LOG_RETRY_S)

    async def _assemble(self, claim: Claim, owner: UUID, replica: ReplicaView | None) -> Request:
        model = catalogue.current().find(claim.model)
        if model is None:
            raise Refused("model_gone")
        if replica is None:
            return Request(model=claim.model, messages=[], max_tokens=model.max_tokens)
        request, counts = await self._prompt(claim, model, replica)
        await self._run(
            "freeze",
            pk=claim.pk,
            attempt=claim.attempt,
            owner=owner,
            request=Jsonb(msgspec.to_builtins(request)),
            counts=encoded_counts(counts),
            model=claim.model,
        )
        return request

    async def _prompt(
        self, claim: Claim, model: Model, replica: ReplicaView
    ) -> tuple[Request, dict[UUID, int]]:
        counter = EngineCounter(self._engine, replica)
        limit = model.context_length // LEAST_MESSAGE_TOKENS
        rows = await self._run("branch", leaf=claim.message, limit=limit, model=claim.model)
        turns = [Turn(pk, role, parts_text(parts), tokens) for pk, role, parts, tokens in reversed(rows[1:])]
        budget = Budget(model.context_length, model.max_tokens)
        if claim.standing:
            standing_tokens = await counter.text(claim.standing)
            budget = Budget(model.context_length, model.max_tokens, budget.margin_tokens + standing_tokens)
        try:
            built = await assembly.build(counter, model.system_prompt or "", turns, budget)
        except MessageTooLong as error:
            raise ContextTooLong(error.tokens, error.limit_tokens) from error
        except ContextError as error:
            raise Refused("nothing_to_answer") from error
        request = Request(
            model=claim.model,
            messages=built.context.messages,
            max_tokens=model.max_tokens,
            temperature=model.sampling.temperature,
            top_p=model.sampling.top_p,
            prompt_tokens=built.context.prompt_tokens,
        )
        return request, {pk: tokens for pk, tokens in built.counted.items() if isinstance(pk, UUID)}


async def transform(
    policy_version: str, visible: str, chunks: AsyncIterator[Chunk]
) -> AsyncGenerator[Chunk, None]:
    """`inference.seams.Transform`: everything passes until output is moderated."""
    async for chunk in chunks:
        yield chunk


class ClosingSink(Sink):
    """`inference.seams.Sink`, whole."""

    async def renew(self, reservations: Sequence[str]) -> None:
        """Keep what running answers have reserved."""
        limits.renew(reservations)

    async def close(self, pk: UUID, outcome: Outcome) -> list[Waiting]:
        """Settle the reservation, tell the person's sockets, name who waited. May run twice."""
        rows = await self._run("close", pk=pk)
        if not rows:
            return []
        user_pk, client_id, conversation = rows[0][:3]
        usage = outcome.usage or {}
        limits.settle(
            limits.reservation_name(user_pk, client_id),
            prompt_tokens=usage.get("prompt_tokens", 0),
            completion_tokens=usage.get("completion_tokens", 0),
        )
        if conversation is not None:
            await notices.conversation_changed(user_pk, conversation)
        return await lifecycle.waiting(self._run, [row[3] for row in rows if row[3] is not None])
