"""Which replicas can take work right now, as this dispatcher sees them: passive signals and probes."""

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress

from inference.core.policies import Policy, PrefixAffinity
from inference.core.values import Load, ReplicaView

PROBE_DOWN_S = 0.5
PROBE_READY_S = 5.0
# One that failed and says that it is well again is taken last for so long: it may be well in words only.
DOUBT_S = 5.0


class Registry:
    """Replicas start as not ready; a probe makes them ready, a failed call or probe unmakes it."""

    def __init__(
        self, replicas: Sequence[ReplicaView], healthy: Callable[[ReplicaView], Awaitable[bool]]
    ) -> None:
        self._replicas = {replica.pk: replica for replica in replicas}
        self._healthy = healthy
        self._ready: set[str] = set()
        self._not_before: dict[str, float] = {}
        self._failed_at: dict[str, float] = {}
        self._running: Counter[str] = Counter()
        self._policies: dict[str, Policy] = {
            model: PrefixAffinity(self.replicas(model)) for model in self.models
        }
        self._probes = {pk: asyncio.Event() for pk in self._replicas}
        self.changed = asyncio.Event()

    @property
    def models(self) -> set[str]:
        """Every model that has a replica."""
        return {replica.model for replica in self._replicas.values()}

    def replicas(self, model: str) -> list[str]:
        """All replicas of a model, whatever their state."""
        return [pk for pk, replica in self._replicas.items() if replica.model == model]

    def choose(self, model: str, prefix: str, slots: Mapping[str, int]) -> ReplicaView | None:
        """Where the next answer of a model goes, to a doubted one last; None while no ready replica has room.

        What a replica runs is our own count, or the slots taken on it by everybody if those are more.
        """
        loads = {
            pk: Load(max(self._running[pk], slots[pk]), self._replicas[pk].max_running)
            for pk in self.replicas(model)
            if pk in self._ready
        }
        sure = {pk: load for pk, load in loads.items() if not self._doubted(self._replicas[pk])}
        policy = self._policies[model]
        chosen = policy.choose(prefix, sure) or policy.choose(prefix, loads)
        return None if chosen is None else self._replicas[chosen]

    def took(self, replica: ReplicaView) -> None:
        """An answer of ours runs there."""
        self._running[replica.pk] += 1

    def gave_back(self, replica: ReplicaView) -> None:
        """It no longer does."""
        self._running[replica.pk] -= 1

    def failed(self, replica: ReplicaView, retry_after_s: float = 0.0) -> None:
        """It broke off or could not be reached: out until a probe succeeds, at once or after its own word."""
        now = time.monotonic()
        self._ready.discard(replica.pk)
        self._failed_at[replica.pk] = now
        self._not_before[replica.pk] = now + retry_after_s
        self._probes[replica.pk].set()

    def _doubted(self, replica: ReplicaView) -> bool:
        return time.monotonic() - self._failed_at.get(replica.pk, float("-inf")) < DOUBT_S

    async def watch(self) -> None:
        """Probe until cancelled: the ones that are down often, the ready ones now and then."""
        await asyncio.gather(*(self._watch(replica) for replica in self._replicas.values()))

    async def _watch(self, replica: ReplicaView) -> None:
        while True:
            if time.monotonic() >= self._not_before.get(replica.pk, 0.0):
                await self._probe(replica)
            pause_s = PROBE_READY_S if replica.pk in self._ready else PROBE_DOWN_S
            with suppress(TimeoutError):
                async with asyncio.timeout(pause_s):
                    await self._probes[replica.pk].wait()
            self._probes[replica.pk].clear()

    async def _probe(self, replica: ReplicaView) -> None:
        was_ready = replica.pk in self._ready
        if await self._healthy(replica):
            self._ready.add(replica.pk)
            if not was_ready:
                self.changed.set()
        else:
            self._ready.discard(replica.pk)
