"""`make bench-router`: conversations of many turns over four simulated replicas, by each routing policy.

The policies are the product's own; the replicas are a model of a prefix cache and of continuous batching, in
simulated time. Nothing is started; docs/performance.md explains the keys of the last line.
"""

import heapq
import json
from collections import OrderedDict, deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import count
from random import Random

from benchmarks import report
from config import env
from inference.core.policies import LeastLoaded, Policy, PrefixAffinity
from inference.core.values import Load

REPLICAS = ["r1", "r2", "r3", "r4"]
LIMIT = 32
# What a replica's memory keeps of prompts and answers: enough for its own conversations, not for everybody's.
CACHE_TOKENS = 200_000
PREFILL_TOKENS_PER_S, DECODE_TOKENS_PER_S = 8_000, 40
SYSTEM_TOKENS, ASKED_TOKENS, ANSWER_TOKENS = 200, (20, 300), (50, 500)
TURNS, THINK_S = (2, 12), (5.0, 40.0)
# Conversations that begin in a second: a little over half of what the replicas can run.
BEGIN_PER_S = 1.5


class RoundRobin:
    """Each in turn: what a plain proxy does."""

    def __init__(self) -> None:
        self._turn = count()

    def choose(self, prefix: str, loads: Mapping[str, Load]) -> str | None:
        """See Policy."""
        names = sorted(loads)
        start = next(self._turn)
        turns = (names[(start + n) % len(names)] for n in range(len(names)))
        return next((pk for pk in turns if loads[pk].running < loads[pk].limit), None)


@dataclass
class Replica:
    """A prefix cache that forgets the conversation not used for longest, and how much runs."""

    running: int = 0
    served: int = 0
    busy_s: float = 0.0
    kept: OrderedDict[str, int] = field(default_factory=OrderedDict)

    def prefill(self, conversation: str, tokens: int) -> int:
        """How many of a prompt's tokens were there; all of them are now."""
        hit = min(self.kept.pop(conversation, 0), tokens)
        self.keep(conversation, tokens)
        return hit

    def keep(self, conversation: str, tokens: int) -> None:
        """The conversation is this long now."""
        self.kept.pop(conversation, None)
        self.kept[conversation] = tokens
        while sum(self.kept.values()) > CACHE_TOKENS:
            self.kept.popitem(last=False)


@dataclass
class Conversation:
    """A person's script: what they ask, how long the answers are and how long they think."""

    name: str
    turns: deque[tuple[int, int, float]]
    tokens: int = SYSTEM_TOKENS


class Replay:
    """One policy over the same script; simulated seconds."""

    def __init__(self, policy: Policy, seed: int, conversations: int) -> None:
        self._policy, self._random = policy, Random(seed)
        self.replicas = {name: Replica() for name in REPLICAS}
        self._events: list[tuple[float, int, str, Conversation, str]] = []
        self._order = count()
        self._waiting: deque[Conversation] = deque()
        self.prompt_tokens = self.hit_tokens = 0
        self._begin(conversations)

    def _begin(self, conversations: int) -> None:
        for n in range(conversations):
            turns = deque(self._turn() for _ in range(self._random.randint(*TURNS)))
            script = Conversation(f"conversation-{n}", turns)
            self._at(self._random.uniform(0, conversations / BEGIN_PER_S), "asks", script)

    def _turn(self) -> tuple[int, int, float]:
        draw = self._random
        return draw.randint(*ASKED_TOKENS), draw.randint(*ANSWER_TOKENS), draw.uniform(*THINK_S)

    def _at(self, at: float, what: str, script: Conversation, replica: str = "") -> None:
        heapq.heappush(self._events, (at, next(self._order), what, script, replica))

    def run(self) -> "Replay":
        """To the last answer."""
        while self._events:
            now, _, what, script, replica = heapq.heappop(self._events)
            if what == "asks":
                self._waiting.append(script)
            else:
                self._end(now, script, replica)
            while self._waiting and self._start(now, self._waiting[0]):
                self._waiting.popleft()
        return self

    def _start(self, now: float, script: Conversation) -> bool:
        loads = {name: Load(replica.running, LIMIT) for name, replica in self.replicas.items()}
        chosen = self._policy.choose(script.name, loads)
        if chosen is None:
            return False
        replica, (asked, answer, _) = self.replicas[chosen], script.turns[0]
        script.tokens += asked
        hit = replica.prefill(script.name, script.tokens)
        self.prompt_tokens += script.tokens
        self.hit_tokens += hit
        took_s = (script.tokens - hit) / PREFILL_TOKENS_PER_S + answer / DECODE_TOKENS_PER_S
        replica.running += 1
        replica.served += 1
        replica.busy_s += took_s
        self._at(now + took_s, "ends", script, chosen)
        return True

    def _end(self, now: float, script: Conversation, name: str) -> None:
        self.replicas[name].running -= 1
        _, answer, think_s = script.turns.popleft()
        script.tokens += answer
        self.replicas[name].keep(script.name, script.tokens)
        if script.turns:
            self._at(now + think_s, "asks", script)

    @property
    def prefix_hit(self) -> float:
        """The part of all prompt tokens that was not computed again."""
        return round(self.hit_tokens / self.prompt_tokens, 3)

    @property
    def max_over_mean(self) -> float:
        """The busiest replica's time over the mean."""
        busy = [replica.busy_s for replica in self.replicas.values()]
        return round(max(busy) * len(busy) / sum(busy), 3)


def moved_on_loss(conversations: int) -> float:
    """The part of conversations that another replica takes when one of four is lost: the mean over which one."""
    names = [f"conversation-{n}" for n in range(conversations)]
    policy, free = PrefixAffinity(REPLICAS), dict.fromkeys(REPLICAS, Load(0, LIMIT))
    before = {name: policy.choose(name, free) for name in names}
    moved = 0
    for lost in REPLICAS:
        left = PrefixAffinity([one for one in REPLICAS if one != lost])
        rest = {one: load for one, load in free.items() if one != lost}
        moved += sum(left.choose(name, rest) != before[name] for name in names)
    return round(moved / len(names) / len(REPLICAS), 3)


def main() -> None:
    """All policies over one script."""
    conversations, seed = env.integer("CONVERSATIONS", 1000), env.integer("SEED", 1)
    policies: dict[str, Policy] = {
        "affinity": PrefixAffinity(REPLICAS),
        "round_robin": RoundRobin(),
        "least_loaded": LeastLoaded(),
    }
    replays = {name: Replay(policy, seed, conversations).run() for name, policy in policies.items()}
    rows = [
        [name, str(one.prefix_hit), str(one.max_over_mean), *(r.served for r in one.replicas.values())]
        for name, one in replays.items()
    ]
    print(report.table(["policy", "prefix hit", "max over mean", *REPLICAS], rows))
    affinity = replays["affinity"]
    line = {
        "prefix_hit": affinity.prefix_hit,
        "prefix_hit_round_robin": replays["round_robin"].prefix_hit,
        "prefix_hit_least_loaded": replays["least_loaded"].prefix_hit,
        "max_over_mean": affinity.max_over_mean,
        "moved_on_loss": moved_on_loss(conversations),
        "conversations": conversations,
        "seed": seed,
    }
    print(json.dumps(line))


if __name__ == "__main__":
    main()
