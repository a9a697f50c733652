"""What can happen to the stage: something is killed, paused, or a link fails, for some seconds; chosen by a seed."""

import asyncio
import random
from dataclasses import dataclass
from typing import Protocol, cast

from tests.chaos import proxy
from tests.chaos.stage import DISPATCHERS, ENGINES, WEBS, Stage

ACTORS = ("postgres", "valkey", *ENGINES, *DISPATCHERS, *WEBS)
DEPENDENCIES = ("postgres", "valkey", *ENGINES)
LINK_FAULTS = ("refuse", "stall", "cut")


class Fault(Protocol):
    """Inflicted, lasts, is healed."""

    async def inflict(self, stage: Stage) -> None:
        """It begins."""

    async def heal(self, stage: Stage) -> None:
        """It is over."""

    @property
    def seconds(self) -> float:
        """How long it lasts."""


@dataclass(frozen=True, slots=True)
class Killed:
    """kill -9, and after a while a start."""

    name: str
    seconds: float

    async def inflict(self, stage: Stage) -> None:
        """It is gone."""
        await stage.actors[self.name].kill()

    async def heal(self, stage: Stage) -> None:
        """It serves again."""
        await stage.actors[self.name].start()


@dataclass(frozen=True, slots=True)
class Paused:
    """SIGSTOP and SIGCONT."""

    name: str
    seconds: float

    async def inflict(self, stage: Stage) -> None:
        """It stands still."""
        stage.actors[self.name].pause()

    async def heal(self, stage: Stage) -> None:
        """It wakes up and knows of nothing."""
        stage.actors[self.name].wake()


@dataclass(frozen=True, slots=True)
class Linked:
    """The way to a dependency fails, for one process or for all."""

    fault: proxy.Fault
    dependency: str
    process: str | None
    seconds: float

    def _links(self, stage: Stage) -> list[proxy.Proxy]:
        return [
            link
            for (process, dependency), link in stage.links.items()
            if dependency == self.dependency and self.process in (None, process)
        ]

    async def inflict(self, stage: Stage) -> None:
        """It fails."""
        for link in self._links(stage):
            link.fail(self.fault)

    async def heal(self, stage: Stage) -> None:
        """It passes again."""
        await asyncio.gather(*(link.heal() for link in self._links(stage)))


def draw(chance: random.Random) -> Fault:
    """One of them, by chance."""
    kind = chance.choice(("kill", "kill", "pause", "link", "link"))
    if kind == "kill":
        return Killed(chance.choice(ACTORS), round(chance.uniform(0, 2), 1))
    if kind == "pause":
        return Paused(chance.choice(ACTORS), round(chance.uniform(1, 5), 1))
    fault = cast(proxy.Fault, chance.choice(LINK_FAULTS))
    dependency = chance.choice(DEPENDENCIES)
    users = DISPATCHERS if dependency in ENGINES else (*DISPATCHERS, *WEBS)
    process = chance.choice((None, *users))
    return Linked(fault, dependency, process, 0.1 if fault == "cut" else round(chance.uniform(1, 5), 1))


def plan(seed: int, mode: str, runs: int) -> list[list[tuple[float, Fault]]]:
    """What comes with a seed: each round one fault, or two that overlap, and after how many seconds each begins."""
    chance = random.Random(seed)
    rounds = []
    for _ in range(runs):
        first_s = round(chance.uniform(0.2, 1.5), 1)
        drawn = [(first_s, draw(chance))]
        if mode == "double":
            drawn.append((round(first_s + chance.uniform(0, 1.0), 1), draw(chance)))
        rounds.append(drawn)
    return rounds
