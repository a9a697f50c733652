"""Micro-batches for one worker thread: a bounded queue, the nearest deadline first, nothing computed in vain.

Knows texts and encoded texts, no HTTP and no model.
"""

import asyncio
import heapq
import itertools
import math
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from typing import NamedTuple

import structlog

from inference.encoder.metrics import Metrics

logger = structlog.get_logger(__name__)


class Encoded(NamedTuple):
    """A text's vector, float32 little-endian, and the tokens that the model read of it."""

    vector: bytes
    tokens: int


class Full(Exception):
    """No room in the queue; `retry_after_s` is when there should be some."""

    def __init__(self, retry_after_s: int) -> None:
        super().__init__(f"the queue is full, try again in {retry_after_s} s")
        self.retry_after_s = retry_after_s


class Expired(Exception):
    """The deadline came before the result."""


class ComputeFailed(Exception):
    """The model raised; it is in the log."""


@dataclass(frozen=True, slots=True)
class Shape:
    """How work is cut.

    A batch is padded to its longest text, so `padded_characters` bounds the time it takes (about 0.1 s), and
    with it how long an urgent text waits for the batch before it. The model reads no more than about
    `read_characters` of a text, so no more of it counts.
    """

    batch_texts: int = 8
    padded_characters: int = 1_500
    read_characters: int = 1_000
    window_s: float = 0.002
    queue_texts: int = 256


@dataclass(eq=False, slots=True)
class _Job:
    """One request: the future is done, or given up, as a whole."""

    results: list[Encoded | None]
    future: asyncio.Future[None] = field(default_factory=lambda: asyncio.get_running_loop().create_future())


class _Piece(NamedTuple):
    """One text of a job; ordered by deadline, then by arrival."""

    deadline: float
    arrival: int
    place: int
    text: str
    job: _Job


class Batcher:
    """Runs `compute` on the worker, batch by batch, for as long as `run` runs."""

    def __init__(
        self,
        compute: Callable[[list[str]], Sequence[Encoded]],
        worker: Executor,
        metrics: Metrics,
        shape: Shape,
    ) -> None:
        self._compute = compute
        self._worker = worker
        self._metrics = metrics
        self._shape = shape
        self._queue: list[_Piece] = []
        self._arrivals = itertools.count()
        self._filled = asyncio.Event()
        self._batch_s = 0.05

    async def submit(self, texts: Sequence[str], deadline: float) -> list[Encoded]:
        """The texts encoded, in order, by `deadline` (loop's clock); raises Full, Expired, ComputeFailed.

        A caller that goes away takes its texts out of the queue.
        """
        if len(self._queue) + len(texts) > self._shape.queue_texts:
            raise Full(self._retry_after_s())
        job = _Job([None] * len(texts))
        for place, text in enumerate(texts):
            heapq.heappush(self._queue, _Piece(deadline, next(self._arrivals), place, text, job))
        self._changed()
        try:
            async with asyncio.timeout_at(deadline):
                await job.future
        except TimeoutError:
            raise Expired from None
        finally:
            self._forget(job)
        return [result for result in job.results if result is not None]

    async def run(self) -> None:
        """Until cancelled."""
        while True:
            await self._filled.wait()
            if len(self._queue) < self._shape.batch_texts:
                await asyncio.sleep(self._shape.window_s)
            if batch := self._take():
                await self._encode(batch)

    def _take(self) -> list[_Piece]:
        batch: list[_Piece] = []
        longest = 0
        while self._queue and len(batch) < self._shape.batch_texts:
            longest = max(longest, min(len(self._queue[0].text), self._shape.read_characters))
            if batch and longest * (len(batch) + 1) > self._shape.padded_characters:
                break
            batch.append(heapq.heappop(self._queue))
        self._changed()
        return batch

    async def _encode(self, batch: list[_Piece]) -> None:
        began = time.perf_counter()
        texts = [piece.text for piece in batch]
        try:
            results = await asyncio.get_running_loop().run_in_executor(self._worker, self._compute, texts)
        except Exception:
            logger.exception("encoder.compute_failed", texts=len(texts))
            self._fail(batch)
            return
        self._batch_s = time.perf_counter() - began
        self._metrics.batch(len(texts), self._batch_s)
        for piece, result in zip(batch, results, strict=True):
            piece.job.results[piece.place] = result
            if None not in piece.job.results and not piece.job.future.done():
                piece.job.future.set_result(None)

    def _fail(self, batch: list[_Piece]) -> None:
        for piece in batch:
            if not piece.job.future.done():
                piece.job.future.set_exception(ComputeFailed())

    def _forget(self, job: _Job) -> None:
        left = [piece for piece in self._queue if piece.job is not job]
        if len(left) < len(self._queue):
            self._metrics.dropped(len(self._queue) - len(left))
            self._queue = left
            heapq.heapify(self._queue)
            self._changed()

    def _changed(self) -> None:
        self._metrics.waiting(len(self._queue))
        if self._queue:
            self._filled.set()
        else:
            self._filled.clear()

    def _retry_after_s(self) -> int:
        return max(1, math.ceil(len(self._queue) / self._shape.batch_texts * self._batch_s))
