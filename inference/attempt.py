"""One attempt at one answer: load, open, stream, end (protocol 4.2 to 4.7).

What it must not do: decide who owns an answer (Postgres does), or touch anything once fenced.
"""

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from dataclasses import dataclass
from uuid import UUID

import structlog

from inference import metrics
from inference.answer import Answer, Claim, Halt, Work
from inference.closing import Closer
from inference.core import resuming
from inference.core.resuming import How
from inference.core.values import SUCCESS, Chunk, Progress, ReplicaView, Usage, Way
from inference.engine import Engine
from inference.errors import ContextTooLong, InferenceError, Refused, StreamCut, Unavailable
from inference.opening import Lease, Opening
from inference.registry import Registry
from inference.seams import Load, Outcome, Rows, RowsDown, Transform
from inference.streams import Log
from inference.ticker import Ticker

logger = structlog.get_logger(__name__)

MAX_FAILURES = 3
# Read and open are milliseconds apart, an old owner's ticks 20: it is passed soon.
MOST_READS = 20
SETTLE_S = 2.0
RETRY_S = 0.25


class NotOurs(Exception):
    """Another owner has it: drop all, touch nothing."""


@dataclass(frozen=True, slots=True)
class Parts:
    """What every attempt of a dispatcher shares."""

    owner: UUID
    rows: Rows
    load: Load
    transform: Transform
    engine: Engine
    log: Log
    ticker: Ticker
    registry: Registry
    closer: Closer
    lease: Lease


class Attempt:
    """Runs one claim; `halt` ends it from outside."""

    def __init__(self, parts: Parts, claim: Claim, replica: ReplicaView | None) -> None:
        self._parts = parts
        self._claim = claim
        self._replica = replica
        self._halted: Halt | None = None
        self._pump: asyncio.Task[None] | None = None
        self._opening: Opening | None = None
        self._started = time.monotonic()
        self._usage: Usage | None = None
        self._finish_reason: str | None = None
        self._how = How.FRESH
        self._reads = 0
        self.answer: Answer | None = None

    @property
    def reservation(self) -> str:
        """What was set aside for it."""
        return self._claim.reservation

    def halt(self, why: Halt) -> None:
        """End the stream now: the engine's connection is closed at once. The first reason stands."""
        if self._halted is None or why is Halt.FENCED:
            self._halted = why
        if self.answer is not None:
            self.answer.halted = self._halted
        if self._pump is not None:
            self._pump.cancel()

    async def run(self) -> None:
        """From the claim to the end, a hand-back, or nothing at all when it is not ours any more."""
        try:
            await self._run()
        except NotOurs:
            metrics.FENCED.inc()
            logger.info("fenced")
        finally:
            if self._opening is not None:
                self._opening.cancel()
            if self.answer is not None:
                self._parts.ticker.forget(self.answer)
                released = self.answer.tokens - self.answer.work.progress.tokens
                metrics.TOKENS.labels(self._claim.model).inc(released)

    def renew(self, above: int) -> None:
        """The log is gone: open it again as a new attempt; the engine's stream goes on meanwhile."""
        if self._opening is not None:
            self._opening.again(above)

    async def _run(self) -> None:
        parts = self._parts
        try:
            work = await self._load()
        except (Unavailable, StreamCut) as error:
            return await self._hand_back_unloaded(error)
        except Refused as error:
            return await self._finish(Outcome("failed", None, error_code=_code(error)))
        self.answer = answer = Answer(self._claim, parts.owner, work)
        answer.halted = self._halted
        outcome = self._without_engine(work)
        if outcome is not None:
            return await self._finish(outcome)
        self._opening = Opening(parts.log, parts.rows, parts.lease, answer, self._opened, self._fence)
        if work.stands_on is None or self._reads >= MOST_READS:
            self._opening.begin()
        elif not await self._opening.begin_where_read():
            self._reads += 1
            return await self._run()
        await self._end(answer, await self._stream(answer, work))

    async def _load(self) -> Work:
        while True:
            try:
                return await self._parts.load(self._claim, self._parts.owner, self._replica)
            except RowsDown:
                logger.warning("load_waits_for_postgres")
                await asyncio.sleep(RETRY_S)

    async def abandon(self) -> None:
        """After a fault of our own: let another attempt try, or after too many end it in words."""
        failures = self._claim.failures + 1
        if failures >= MAX_FAILURES:
            text = self.answer.text if self.answer is not None else None
            await self._finish(Outcome("failed", text, error_code="engine_failed"))
        elif self.answer is not None:
            await self._parts.closer.hand_back(self.answer, failures)
        else:
            await self._parts.closer.hand_back_claim(self._claim, self._parts.owner, failures)

    def _without_engine(self, work: Work) -> Outcome | None:
        """The end, where no engine is needed to reach it (protocol 4.3, 4.5)."""
        text, tokens = work.progress.text, work.progress.tokens
        usage = {"prompt_tokens": work.request.prompt_tokens, "completion_tokens": tokens}
        if work.end is not None:
            state = work.end.get("state") or "complete"
            reason, code = work.end.get("reason"), work.end.get("error_code")
            return Outcome(state, text, tokens, reason, code, work.end.get("usage") or usage)
        if self._claim.stop_requested or self._halted is Halt.STOP:
            return Outcome("stopped", text, tokens, usage=usage)
        if self._claim.seconds_left <= 0:
            return Outcome("failed", text, tokens, error_code="deadline", usage=usage)
        if self._replica is None:
            return Outcome("failed", text, tokens, error_code="engine_unavailable", usage=usage)
        if tokens >= work.request.max_tokens:
            return Outcome("complete", text, tokens, "length", usage=usage)
        same = self._replica.version == self._claim.model_version
        if not same and self.answer is not None:
            self.answer.forget_ids()
        self._how = resuming.choose(self._replica.continues, work.request, work.progress, same_version=same)
        if self._how is How.NEVER:
            return Outcome("failed", text, tokens, error_code="interrupted", usage=usage)
        return None

    async def _stream(self, answer: Answer, work: Work) -> InferenceError | None:
        """Stream until the engine ends, fails, or we are halted; what went wrong, if anything."""
        self._pump = asyncio.create_task(self._pour(answer, work))
        if self._halted is not None:
            self._pump.cancel()
        try:
            async with asyncio.timeout(self._claim.seconds_left):
                await self._pump
        except asyncio.CancelledError:
            if self._halted is None:
                raise
        except TimeoutError:
            self._finish_reason = "deadline"
        except InferenceError as error:
            return error
        return None

    async def _pour(self, answer: Answer, work: Work) -> None:
        assert self._replica is not None  # noqa: S101 a claim without a replica ends before it streams
        how = self._how
        way: Way | None = "ids" if how is How.IDS else "text" if how is How.TEXT else None
        progress = work.progress if way else Progress()
        chunks = self._parts.engine.stream(self._replica, work.request, progress, way)
        # Closed at once when we are halted: the engine stops when its connection ends.
        async with aclosing(chunks), aclosing(self._shown(answer, chunks)) as shown:
            async for chunk in shown:
                self._usage = chunk.usage or self._usage
                self._finish_reason = chunk.finish_reason or self._finish_reason
                self._release(answer, chunk)

    def _shown(self, answer: Answer, chunks: AsyncIterator[Chunk]) -> AsyncGenerator[Chunk, None]:
        return self._parts.transform(self._claim.policy_version, answer.text, chunks)

    def _release(self, answer: Answer, chunk: Chunk) -> None:
        is_first = answer.tokens == answer.work.progress.tokens
        if answer.add(chunk):
            if is_first:
                metrics.FIRST_TOKEN.labels(answer.claim.model).observe(time.monotonic() - self._started)
            self._parts.ticker.poke(answer, urgent=is_first)

    async def _end(self, answer: Answer, error: InferenceError | None) -> None:
        if self._halted is Halt.FENCED:
            raise NotOurs
        if self._halted is None and error is None and self._finish_reason in SUCCESS:
            usage = self._settled_usage(answer)
            answer.end(str(self._finish_reason), usage)
            await self._settle(answer)
            outcome = Outcome("complete", answer.text, answer.tokens, self._finish_reason, None, usage)
            return await self._finish(outcome)
        if self._halted is Halt.STOP:
            return await self._finish_early(answer, "stopped", None)
        if self._finish_reason == "deadline":
            return await self._finish_early(answer, "failed", "deadline")
        if isinstance(error, Refused):
            return await self._finish_early(answer, "failed", _code(error))
        await self._give_up(answer, error)

    async def _finish_early(self, answer: Answer, state: str, error_code: str | None) -> None:
        answer.release()
        await self._settle(answer)
        usage = self._settled_usage(answer)
        await self._finish(Outcome(state, answer.text, answer.tokens, None, error_code, usage))

    async def _give_up(self, answer: Answer, error: InferenceError | None) -> None:
        """Drained, or the engine failed: somebody else goes on, or after too many failures nobody does."""
        answer.drop_held()
        progressed = answer.length > len(answer.work.progress.text)
        failures = 0 if progressed else self._claim.failures
        self._doubt_replica(error)
        if isinstance(error, StreamCut) and not progressed:
            failures += 1
        if failures >= MAX_FAILURES:
            code = "interrupted" if answer.length else "engine_failed"
            return await self._finish_early(answer, "failed", code)
        metrics.HANDED_BACK.labels(type(error).__name__ if error else str(self._halted)).inc()
        logger.info("handed_back", error=type(error).__name__ if error else None, failures=failures)
        await self._settle(answer)
        await self._parts.closer.hand_back(answer, failures)

    async def _hand_back_unloaded(self, error: Unavailable | StreamCut) -> None:
        """The engine failed while its tokens were counted."""
        self._doubt_replica(error)
        failures = self._claim.failures + isinstance(error, StreamCut)
        if failures >= MAX_FAILURES:
            return await self._finish(Outcome("failed", None, error_code="engine_failed"))
        await self._parts.closer.hand_back_claim(self._claim, self._parts.owner, failures)

    def _doubt_replica(self, error: InferenceError | None) -> None:
        """Whoever goes on takes another replica, or waits for this one's next probe: it may be down for all."""
        if self._replica is not None and isinstance(error, Unavailable | StreamCut):
            retry_after_s = error.retry_after_s if isinstance(error, Unavailable) else None
            self._parts.registry.failed(self._replica, retry_after_s or 0.0)

    async def _finish(self, outcome: Outcome) -> None:
        attempt = self.answer.attempt if self.answer is not None else self._claim.attempt
        settled = self.answer is not None and self.answer.settled
        number = self.answer.number + 1 if self.answer is not None and settled else None
        if not await self._parts.closer.finish(self._claim, attempt, self._parts.owner, number, outcome):
            raise NotOurs
        metrics.FINISHED.labels(outcome.state, outcome.error_code or "").inc()
        logger.info(
            "answer_finished", state=outcome.state, error_code=outcome.error_code, tokens=outcome.tokens
        )

    async def _settle(self, answer: Answer) -> None:
        await self._parts.ticker.settle(answer, SETTLE_S)
        if answer.halted is Halt.FENCED:
            raise NotOurs

    def _settled_usage(self, answer: Answer) -> dict[str, int]:
        """Prompt tokens once, as the engine counted them; completion tokens are the answer's own."""
        prompt = answer.work.request.prompt_tokens
        if self._usage is not None and self._usage.prompt_tokens:
            again = answer.work.progress.tokens if self._how in {How.IDS, How.TEXT} else 0
            prompt = max(0, self._usage.prompt_tokens - again)
        return {"prompt_tokens": prompt, "completion_tokens": answer.tokens}

    def _opened(self, answer: Answer) -> None:
        self._parts.ticker.poke(answer)

    def _fence(self) -> None:
        self.halt(Halt.FENCED)


def _code(error: Refused) -> str:
    """The documented word for a refusal; the engine's own goes to the log."""
    logger.info("engine_refused", code=error.code)
    return "context_too_long" if isinstance(error, ContextTooLong) else "engine_refused"
