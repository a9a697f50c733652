"""The dispatcher: claims answers, runs them, keeps its lease, sweeps up after others (protocol 4).

A long-lived asyncio process, no Celery task. It is given what it must load, transform and record (seams.py);
it holds no client socket, and no answer belongs to it longer than its lease.
"""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from uuid import UUID

import structlog
from redis.asyncio import Redis

from inference import keys, metrics
from inference.answer import Answer, Claim, Halt, Piece
from inference.attempt import Attempt, Parts
from inference.closing import Closer
from inference.core.values import ReplicaView
from inference.engine import Engine
from inference.opening import Lease
from inference.queue import Queue, read_head
from inference.registry import Registry
from inference.seams import Load, Outcome, Rows, RowsDown, Sink, Transform
from inference.streams import Answered, Log, ValkeyDown
from inference.ticker import Ticker

logger = structlog.get_logger(__name__)

BEAT_S = 1.0
RETRY_S = 0.25
POLL_S = 1.0
DRAIN_S = 5.0


class Dispatcher:
    """Runs answers until `drain`. `lease_s` must be the one that `rows` judges the dead by."""

    def __init__(
        self,
        owner: UUID,
        *,
        rows: Rows,
        load: Load,
        transform: Transform,
        sink: Sink,
        engine: Engine,
        registry: Registry,
        valkey: Redis,
        subscriber: Redis,
        lease_s: float = 3.0,
    ) -> None:
        self.owner = owner
        self._rows, self._sink = rows, sink
        self._valkey, self._subscriber = valkey, subscriber
        self._registry = registry
        self._lease_s = lease_s
        # A lease is missed by three heartbeats, never by one that is a moment late.
        self._beat_s = min(BEAT_S, lease_s / 3)
        self._log = Log(valkey)
        self._ticker = Ticker(self._log, self._trouble)
        self._closer = Closer(rows, sink, self._log, valkey)
        self._lease = Lease()
        self._parts = Parts(
            owner, rows, load, transform, engine, self._log, self._ticker, registry, self._closer, self._lease
        )
        # None while the claim is under way; a halt that comes meanwhile waits in _early.
        self._attempts: dict[UUID, Attempt | None] = {}
        self._early: dict[UUID, Halt] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._places: dict[UUID, ReplicaView] = {}
        self._wake = {model: asyncio.Event() for model in registry.models}
        self._beating_since: float | None = None
        self._beat_at = float("-inf")
        self._draining = asyncio.Event()

    async def run(self) -> None:
        """Work until drained; then every answer has been handed back and the row is gone."""
        await self._register()
        loops = [
            self._ticker.run(),
            self._registry.watch(),
            self._every(self._beat_s, self._beat, jitter=False),
            # Apart from the heartbeat: a Valkey that hangs must not make us look dead.
            self._every(self._beat_s, self._renew, jitter=False),
            self._every(BEAT_S, self._checkpoint, jitter=False),
            self._every(BEAT_S, self._sweep, jitter=True),
            self._listen(),
            self._wake_on_recovery(),
            *(self._claim_for(model) for model in self._wake),
        ]
        background = [asyncio.create_task(loop) for loop in loops]
        drained = asyncio.create_task(self._draining.wait())
        try:
            # A loop that ends has failed: better to die and be replaced than to run without it.
            done, _ = await asyncio.wait({drained, *background}, return_when=asyncio.FIRST_COMPLETED)
            await self._hand_over()
            for task in done:
                task.result()
        finally:
            for task in [*background, drained]:
                task.cancel()
            await asyncio.gather(*background, drained, return_exceptions=True)

    def drain(self) -> None:
        """Claim nothing more and hand every answer over, inside DRAIN_S."""
        self._draining.set()

    async def _hand_over(self) -> None:
        self._draining.set()
        logger.info("draining", answers=len(self._attempts))
        for pk in list(self._attempts):
            self._halt(pk, Halt.DRAIN)
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=DRAIN_S)
        try:
            await self._rows.leave(self.owner)
        except RowsDown:
            logger.warning("leave_failed")

    # --- claiming ---

    async def _claim_for(self, model: str) -> None:
        queue, wake = Queue(self._valkey, model), self._wake[model]
        while not self._draining.is_set():
            wake.clear()
            try:
                await self._claim_all(queue, model)
            except ValkeyDown as error:
                logger.warning("queue_unreachable", error=type(error).__name__)
                await asyncio.sleep(POLL_S / 4)
            await _wait(wake, POLL_S)
        await asyncio.Event().wait()

    async def _claim_all(self, queue: Queue, model: str) -> None:
        """Take whoever is next as long as a replica has room."""
        replicas = self._registry.replicas(model)
        head = read_head(await queue.look(replicas), replicas)
        while head.pk is not None and not self._draining.is_set():
            pk, replica = head.pk, self._registry.choose(model, head.prefix, head.slots)
            if replica is None:
                return
            raw = await queue.claim(replicas, self.owner, pk, replica.pk, replica.max_running)
            head = read_head(raw, replicas)
            if head.word == "ok":
                self._start(pk, replica)

    def _start(self, pk: UUID, replica: ReplicaView | None) -> None:
        if pk in self._attempts:
            return
        self._attempts[pk] = None
        if replica is not None:
            self._registry.took(replica)
            self._places[pk] = replica
        task = asyncio.create_task(self._run(pk, replica))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _run(self, pk: UUID, replica: ReplicaView | None) -> None:
        structlog.contextvars.bind_contextvars(generation=str(pk))
        metrics.RUNNING.inc()
        try:
            claim = await self._claim(pk)
            if claim is not None:
                attempt = self._attempts[pk] = Attempt(self._parts, claim, replica)
                if pk in self._early:
                    attempt.halt(self._early[pk])
                await attempt.run()
        except Exception:
            # While we live our lease hides its row from the sweeps of others: give it up ourselves.
            logger.exception("attempt_broke")
            await self._abandon(pk)
        finally:
            metrics.RUNNING.dec()
            self._attempts.pop(pk, None)
            self._early.pop(pk, None)
            await self._release(pk, replica)

    async def _claim(self, pk: UUID) -> Claim | None:
        # It may be ours though the reply was lost, and then our lease hides it from every sweep: ask again.
        while not self._draining.is_set():
            try:
                claim = await self._rows.claim(pk, self.owner)
            except RowsDown:
                logger.warning("claim_waits_for_postgres")
                await asyncio.sleep(RETRY_S)
                continue
            self._lease.confirm()
            return claim
        return None

    async def _release(self, pk: UUID, replica: ReplicaView | None) -> None:
        self._places.pop(pk, None)
        if replica is None:
            return
        self._registry.gave_back(replica)
        try:
            await Queue(self._valkey, replica.model).release(pk, self.owner, replica.pk)
        except ValkeyDown:
            logger.warning("slot_left_to_expire")
        self._wake[replica.model].set()

    # --- the lease, checkpoints, the sweep ---

    async def _register(self) -> None:
        while True:
            try:
                await self._rows.register(self.owner)
                return self._lease.confirm()
            except RowsDown:
                logger.warning("waiting_for_postgres")
                await asyncio.sleep(BEAT_S)

    async def _beat(self) -> None:
        started = time.monotonic()
        try:
            stops = await self._rows.heartbeat(self.owner)
        except RowsDown:
            self._beating_since = None
            logger.warning("heartbeat_failed")
            return
        self._lease.confirm()
        if self._beating_since is None or started - self._beat_at > self._lease_s:
            self._beating_since = started
        self._beat_at = started
        for pk in stops:
            self._halt(pk, Halt.STOP)

    async def _renew(self) -> None:
        await self._sink.renew([a.reservation for a in self._attempts.values() if a is not None])
        by_replica: dict[str, tuple[ReplicaView, list[UUID]]] = {}
        for pk, replica in self._places.items():
            by_replica.setdefault(replica.pk, (replica, []))[1].append(pk)
        try:
            for replica, pks in by_replica.values():
                await Queue(self._valkey, replica.model).renew(replica.pk, self.owner, pks)
        except ValkeyDown:
            logger.warning("slots_not_renewed")

    async def _checkpoint(self) -> None:
        answers = [a.answer for a in self._attempts.values() if a is not None and a.answer is not None]
        pieces = [
            (answer, piece) for answer in answers if answer.may_save and (piece := answer.piece()) is not None
        ]
        if not pieces:
            return
        try:
            stored: set[UUID] | None = await self._sink.checkpoint(self.owner, [piece for _, piece in pieces])
        except RowsDown:
            metrics.CHECKPOINT_FAILED.inc()
            logger.warning("checkpoint_failed", answers=len(pieces))
            stored = None
        for answer, piece in pieces:
            if stored is None or piece.pk not in stored:
                answer.unsave(piece)
                self._lost(answer, piece, known=stored is not None)
            self._ticker.poke(answer)

    def _lost(self, answer: Answer, piece: Piece, *, known: bool) -> None:
        """Postgres took no checkpoint: another has the answer, unless a new attempt of our own is under way."""
        attempt = self._attempts.get(answer.pk)
        if (
            known
            and answer.opened
            and answer.attempt == piece.attempt
            and attempt
            and attempt.answer is answer
        ):
            attempt.halt(Halt.FENCED)

    async def _sweep(self) -> None:
        if not self._may_judge():
            return
        try:
            swept = await self._rows.sweep()
            for pk in swept.expired:
                await self._expire(pk)
        except RowsDown:
            logger.warning("sweep_failed")
            return
        await self._closer.put(swept.requeue)
        for unclosed in swept.unclosed:
            await self._closer.close_again(unclosed)
        for pk in swept.overdue:
            self._start(pk, None)

    def _may_judge(self) -> bool:
        """After an outage or a pause everybody's heartbeat may be old: who was cut off as well must not judge."""
        now = time.monotonic()
        steady = self._beating_since is not None and now - self._beating_since >= 2 * self._lease_s
        return steady and now - self._beat_at <= self._lease_s

    async def _expire(self, pk: UUID) -> None:
        outcome = Outcome("failed", None, error_code="engine_unavailable")
        if await self._sink.finish(pk, 0, None, outcome):
            metrics.FINISHED.labels(outcome.state, outcome.error_code).inc()
            await self._closer.close(pk, 0, None, None, outcome, 0)

    async def _abandon(self, pk: UUID) -> None:
        attempt = self._attempts.get(pk)
        try:
            if attempt is not None:
                await attempt.abandon()
        except Exception:
            # The row is stuck under our lease: end the lease.
            logger.exception("abandon_broke")
            self.drain()

    # --- signals from outside ---

    def _trouble(self, answer: Answer, answered: Answered) -> None:
        attempt = self._attempts.get(answer.pk)
        if attempt is None or attempt.answer is not answer:
            return
        if answered.word == "gone":
            attempt.renew(answered.number)
        else:
            attempt.halt(Halt.FENCED)

    def _halt(self, pk: UUID, why: Halt) -> None:
        attempt = self._attempts.get(pk)
        if attempt is not None:
            attempt.halt(why)
        elif pk in self._attempts:
            self._early[pk] = why

    async def _listen(self) -> None:
        channels = {keys.queue_channel(model): wake for model, wake in self._wake.items()}
        mine = keys.dispatcher_channel(self.owner)
        while True:
            try:
                async with self._subscriber.pubsub(ignore_subscribe_messages=True) as subscriber:
                    await subscriber.subscribe(mine, *channels)
                    for wake in self._wake.values():
                        wake.set()
                    async for message in subscriber.listen():
                        channel = message["channel"].decode()
                        if channel == mine:
                            self._halt(UUID(message["data"].decode()), Halt.STOP)
                        else:
                            channels[channel].set()
            except ValkeyDown as error:
                logger.warning("listener_lost", error=type(error).__name__)
                await asyncio.sleep(BEAT_S / 4)

    async def _wake_on_recovery(self) -> None:
        while True:
            await self._registry.changed.wait()
            self._registry.changed.clear()
            for wake in self._wake.values():
                wake.set()

    async def _every(self, seconds: float, step: Callable[[], Awaitable[None]], *, jitter: bool) -> None:
        while True:
            started = time.monotonic()
            await step()
            pause_s = seconds * random.uniform(0.5, 1.5) if jitter else seconds  # noqa: S311 not for secrets
            await asyncio.sleep(max(0.0, pause_s - (time.monotonic() - started)))


async def _wait(event: asyncio.Event, timeout_s: float) -> None:
    try:
        async with asyncio.timeout(timeout_s):
            await event.wait()
    except TimeoutError:
        pass
