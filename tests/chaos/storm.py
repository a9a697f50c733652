"""A storm: answers without pause, faults by chance, and a judgement.

`single`: the next fault comes after recovery from the last. `double`: two at a time.
"""

import asyncio
import random
import sys
import time
from dataclasses import dataclass, field
from typing import Any

import aiohttp

from tests.chaos import faults, truth
from tests.chaos.asking import Answer, Front
from tests.chaos.counts import Counts
from tests.chaos.stage import DISPATCHERS, WEBS, Stage

RECOVERY_S = 60.0
PEOPLE = 4


@dataclass(slots=True)
class Storm:
    """`run` gives the report; the same seed draws the same faults."""

    seed: int
    mode: str
    runs: int
    answers_at_once: int = 6
    leases_free_s: float = 60.0
    counts: Counts = field(default_factory=Counts)
    _answers: list[Answer] = field(default_factory=list)
    _stopping: bool = False

    async def run(self) -> dict[str, Any]:
        """Start everything, let it storm, end everything."""
        started = time.monotonic()
        async with (
            Stage() as stage,
            aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session,
        ):
            front = Front(session, [stage.url(web) for web in WEBS], self.counts)
            people = await stage.people(PEOPLE)
            askers = [
                asyncio.create_task(self._keep_asking(front, people, random.Random(f"{self.seed} {number}")))
                for number in range(self.answers_at_once)
            ]
            await self._recovered(stage, session, time.monotonic())
            try:
                for number, together in enumerate(faults.plan(self.seed, self.mode, self.runs), 1):
                    await self._strike(stage, session, number, together)
            finally:
                self._stopping = True
                _, late = await asyncio.wait(askers, timeout=RECOVERY_S)
                for task in late:
                    task.cancel()
                await asyncio.gather(*askers, return_exceptions=True)
            self._raise_from(askers)
            self._count_late()
            await asyncio.to_thread(self._ask_the_stores, stage)
        return self.counts.report(seed=self.seed, mode=self.mode, seconds=round(time.monotonic() - started))

    async def _keep_asking(self, front: Front, people: list[str], chance: random.Random) -> None:
        while not self._stopping:
            tokens, gap_ms = chance.randrange(100, 400), chance.choice((10, 15, 25))
            text = f"{chance.getrandbits(32):08x} [[tokens={tokens} gap_ms={gap_ms}]]"
            answer = Answer(front, chance.choice(people), text, tokens, ("ws", "sse"))
            self._answers.append(answer)
            await answer.run()

    async def _strike(
        self,
        stage: Stage,
        session: aiohttp.ClientSession,
        number: int,
        together: list[tuple[float, faults.Fault]],
    ) -> None:
        struck = time.monotonic()
        await asyncio.gather(*(self._inflict(stage, fault, after_s) for after_s, fault in together))
        healed = time.monotonic()
        recovered = await self._recovered(stage, session, struck)
        spent = time.monotonic() - healed
        self.counts.recovery_s.append(spent)
        words = " + ".join(str(fault) for _, fault in together)
        say(f"{number:3} {time.strftime('%H:%M:%S')} {words} recovered in {spent:.1f} s")
        if not recovered:
            self.counts.broken += 1
            self.counts.note(f"no recovery from {together}: {self._stuck(struck, healed)}")

    async def _inflict(self, stage: Stage, fault: faults.Fault, after_s: float) -> None:
        await asyncio.sleep(after_s)
        self.counts.faults += 1
        await fault.inflict(stage)
        await asyncio.sleep(fault.seconds)
        await fault.heal(stage)

    async def _recovered(self, stage: Stage, session: aiohttp.ClientSession, struck: float) -> bool:
        """Once all that was begun before the fault ended or streams again, all serve, and dispatchers beat."""
        healed, clock = time.monotonic(), time.time()
        while time.monotonic() - healed < RECOVERY_S:
            await self._replace_dead(stage)
            if (
                not self._stuck(struck, healed)
                and await asyncio.to_thread(truth.beating, stage, clock) >= len(DISPATCHERS)
                and all([await _ready(session, stage.url(web)) for web in WEBS])
            ):
                return True
            await asyncio.sleep(0.1)
        return False

    def _stuck(self, struck: float, healed: float) -> list[str]:
        return [
            f"{answer.generation} {[view.name for view in answer.views if view.moved_at <= healed]}"
            for answer in self._answers
            if answer.asked_at < struck and not answer.moved_since(healed)
        ]

    async def _replace_dead(self, stage: Stage) -> None:
        """What ended by itself is a fault of ours; a supervisor starts it again."""
        for actor in stage.actors.values():
            if actor.died:
                self.counts.broken += 1
                self.counts.note(f"{actor.name} ended by itself: {stage.log(actor.name)[-2000:]}")
                await actor.start()

    def _raise_from(self, askers: list[asyncio.Task[None]]) -> None:
        for task in askers:
            if not task.cancelled() and (error := task.exception()) is not None:
                raise error

    def _count_late(self) -> None:
        for answer in self._answers:
            if not answer.ended:
                self.counts.unfinished += 1
                self.counts.note(
                    f"unfinished: {answer.generation} {[(v.name, v.after, v.done) for v in answer.views]}"
                )

    def _ask_the_stores(self, stage: Stage) -> None:
        held = truth.await_free(stage, self.leases_free_s)
        self.counts.leaked_leases = len(held)
        for lease in held:
            self.counts.note(lease)
        tokens = {
            answer.generation: answer.tokens for answer in self._answers if answer.generation is not None
        }
        truth.check_usage(stage, tokens, self.counts)
        self.counts.broken += truth.mismatches(stage)


async def _ready(session: aiohttp.ClientSession, url: str) -> bool:
    try:
        async with session.get(f"{url}/readyz", timeout=aiohttp.ClientTimeout(total=5)) as answer:
            return answer.status == 200
    except (aiohttp.ClientError, OSError, TimeoutError):
        return False


def say(words: str) -> None:
    """One line for whoever waits."""
    sys.stdout.write(words + "\n")
    sys.stdout.flush()
