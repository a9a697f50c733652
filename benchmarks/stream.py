"""`make bench-stream`: what the whole path adds to an engine's stream, beside a direct client of that engine.

Starts everything itself and leaves nothing; docs/performance.md explains the keys of the last line.
"""

import asyncio
import json
import os
import sys
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from urllib.parse import urlsplit

import uvloop

from benchmarks import figures, load, report
from benchmarks.askers import Asker, Direct, Person
from benchmarks.figures import Level
from benchmarks.load import Window
from benchmarks.meters import Meters
from benchmarks.product import Product, catalogue_text
from config import env
from tests.engines.process import FakeEngine
from tests.engines.words import said

ROUNDS = 2
WARM_UP_S = 3.0
WARM_UP_STREAMS = 16
FIXED_ANSWERS, FIXED_WARM_UP = 100, 10
IDLE_S = 3.0
CONTEXT_TOKENS = 32_768


class Benchmark:
    """One run: inputs, the processes, and what has been found so far."""

    def __init__(self, product: Product, engine: FakeEngine) -> None:
        self.levels = [Level(streams) for streams in sorted(_numbers("STREAMS", "1,16,64"))]
        self.tokens = env.integer("TOKENS", 100)
        self._measured_s = env.integer("SECONDS", 20) / ROUNDS
        self._spread_s = (first_ms() + gap_ms() * self.tokens) / 1000
        self._product, self._engine_port = product, int(urlsplit(engine.url).port or 0)
        self._pids = {**product.pids, "engine": engine.pid, "load": os.getpid()}
        self._tokens_of_people = product.people(self.levels[-1].streams)
        self.fixed_ms: dict[str, float] = {}
        self.idle_ms_per_s: dict[str, float] = {}
        self.grown_kb: dict[str, int] = {}

    async def run(self) -> None:
        """Warm-up, the fixed cost, idle, then the rounds of each level, product and direct in turn."""
        await self._warm_up()
        await self._fixed()
        await self._idle()
        for number in range(ROUNDS):
            for level in self.levels:
                await self._round(level, number)

    async def _warm_up(self) -> None:
        streams = min(WARM_UP_STREAMS, self.levels[-1].streams)
        _progress(f"warm-up: {streams} streams")
        await self._load(self._people(streams), "warm", WARM_UP_S, lambda: None)

    async def _fixed(self) -> None:
        """One-token answers one after another; the engine answers them at once."""
        _progress(f"fixed cost: {FIXED_ANSWERS} answers of one token")
        (person,) = self._people(1)
        meters = Meters(self._product.pids)
        await person.connect()
        for number in range(-FIXED_WARM_UP, FIXED_ANSWERS):
            if number == 0:
                meters()
            await person.ask(f"Number {number}: yes or no? [[tokens=1 first_ms=0]]")
        meters()
        person.close()
        self.fixed_ms = {name: seconds * 1000 / FIXED_ANSWERS for name, seconds in meters.cpu_s.items()}

    async def _idle(self) -> None:
        _progress("idle")
        meters = Meters(self._product.pids)
        meters()
        await asyncio.sleep(IDLE_S)
        meters()
        self.idle_ms_per_s = {name: seconds * 1000 / IDLE_S for name, seconds in meters.cpu_s.items()}

    async def _round(self, level: Level, number: int) -> None:
        _progress(f"round {number + 1}/{ROUNDS}: {level.streams} streams, product")
        weighs = level is self.levels[-1] and not self.grown_kb
        idle = Meters(self._pids, figures.PRODUCT)
        if weighs:
            idle()
        meters = Meters(self._pids, figures.PRODUCT if weighs else ())
        label = f"product {number}"
        level.product.append(await self._load(self._people(level.streams), label, self._measured_s, meters))
        level.add_cpu(meters.cpu_s)
        if weighs:
            self.grown_kb = figures.memory_kb(idle.memory_kb[0], *meters.memory_kb)
        _progress(f"round {number + 1}/{ROUNDS}: {level.streams} streams, direct")
        direct: list[Asker] = [Direct(self._engine_port) for _ in range(level.streams)]
        level.direct.append(await self._load(direct, f"direct {number}", self._measured_s, lambda: None))

    async def _load(
        self, askers: list[Asker], label: str, seconds: float, edge: Callable[[], None]
    ) -> Window:
        def question(stream: int, turn: int) -> str:
            return f"{label}, stream {stream} of {len(askers)}, turn {turn}: what comes next, and why is that so?"

        return await load.run(askers, question, spread_s=self._spread_s, measured_s=seconds, edge=edge)

    def _people(self, count: int) -> list[Asker]:
        return [Person(self._product.port, token) for token in self._tokens_of_people[:count]]

    def found(self) -> Mapping[str, object]:
        """The figures, by key."""
        return figures.keys(
            self.levels, lambda question: said(question, self.tokens), self.fixed_ms, self.grown_kb
        )


def first_ms() -> int:
    """FIRST_MS: the engine's time to its first token."""
    return env.integer("FIRST_MS", 50)


def gap_ms() -> int:
    """GAP_MS: the engine's time between tokens."""
    return env.integer("GAP_MS", 20)


def main() -> None:
    """Measure, print, and fail if a token was lost."""
    server = env.text("ASGI_SERVER", "daphne")
    most = max(_numbers("STREAMS", "1,16,64"))
    with ExitStack() as running:
        _progress(f"starting Postgres, Valkey, an engine, {server} and a dispatcher")
        pace = {"tokens": env.integer("TOKENS", 100), "gap_ms": gap_ms(), "first_ms": first_ms()}
        engine = FakeEngine(**pace, seeded=True, slots=4 * most, context_length=CONTEXT_TOKENS)
        running.enter_context(engine)
        catalogue = catalogue_text(engine.url, context_length=CONTEXT_TOKENS, max_running=4 * most)
        product = running.enter_context(Product(catalogue, server=server))
        benchmark = Benchmark(product, engine)
        uvloop.run(benchmark.run())
    found = benchmark.found()
    _print(benchmark, server)
    print(json.dumps({**found, "asgi_server": server, "versions": report.versions(server)}))
    if found["lost_tokens"]:
        sys.exit(1)


def _print(benchmark: Benchmark, server: str) -> None:
    print(f"\nFirst token and late tokens ({server}); direct is a client of the engine itself\n")
    print(report.first_tokens(benchmark.levels))
    print("\nCPU ms per 1,000 tokens\n")
    print(report.processor(benchmark.levels))
    print("\nOne-token answers, and at rest: CPU by process\n")
    print(report.by_process("ms an answer", benchmark.fixed_ms))
    print(report.by_process("ms/s at rest", benchmark.idle_ms_per_s))
    print(f"\nMemory over idle, at {benchmark.levels[-1].streams} streams\n")
    print(report.by_process("KB", {name: float(grown) for name, grown in benchmark.grown_kb.items()}))
    failed = [state for level in benchmark.levels for state in level.failed()]
    if failed:
        print(f"\n{len(failed)} answers did not end well: {sorted(set(failed))}")
    print()


def _numbers(name: str, default: str) -> list[int]:
    return [int(word) for word in env.words(name, default.split(","))]


def _progress(what: str) -> None:
    print(f"  {what} ...", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
