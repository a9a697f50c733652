"""From a history to a prompt that the engine will take: count what is uncounted, assemble, check if tight.

Async and free of stores: rows come in as values, new counts go out for the caller to store.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace

from memory.core import context as core
from memory.core import window
from memory.core.values import Budget, Context, Overhead, Snippet, Turn
from memory.counting import Counter, KnownCounts, count_all
from memory.errors import MessageTooLong

# Above this share of the budget an estimate is not enough: the engine counts the final messages.
SURE_SHARE = 0.9
# An estimate further over the limit than this can't be wrong by its rounding: refused without asking.
HOPELESS_SHARE = 1.1
TRIES = 3
COUNT_BATCH = 64
# Turns this many budgets back can't come into the window again, so an uncounted one there stays uncounted.
COUNTED_BUDGETS = 2

KNOWN = KnownCounts()


@dataclass(frozen=True, slots=True)
class Built:
    """The prompt, and the counts made on the way by turn, for storing beside the model's name."""

    context: Context
    counted: dict[Hashable, int]


async def build(
    counter: Counter,
    system: str,
    turns: Sequence[Turn],
    budget: Budget,
    *,
    summary: Snippet | None = None,
    memories: Sequence[Snippet] = (),
    known: KnownCounts = KNOWN,
) -> Built:
    """A prompt within the budget, ending in the newest message; `system` is instructions and profile facts.

    Raises MessageTooLong or NothingToAnswer, and whatever the counter raises. `turns` may be the whole path,
    or only what begins where an earlier prompt's window began (`Context.included[0]`): same window.
    """
    everything = window.speaking(turns)
    history, counted = await _counted(counter, everything, budget)
    parts = _Parts(
        system=Snippet(system, await known.text(counter, system), "system"),
        turns=history,
        budget=budget,
        overhead=await known.overhead(counter, with_system=bool(system or summary)),
        summary=summary,
        memories=memories,
    )
    context = await _sure(counter, parts)
    return Built(replace(context, dropped=len(everything) - len(context.included)), counted)


@dataclass(frozen=True, slots=True)
class _Parts:
    system: Snippet
    turns: Sequence[Turn]
    budget: Budget
    overhead: Overhead
    summary: Snippet | None
    memories: Sequence[Snippet]

    def assembled(self, cut_tokens: int) -> Context:
        """By estimate, in a budget made smaller by what the estimate was wrong before."""
        budget = replace(self.budget, margin_tokens=self.budget.margin_tokens + cut_tokens)
        return core.assemble(self.system, self.turns, budget, self.overhead, self.summary, self.memories)

    def smallest(self) -> Context:
        """System and newest message and nothing else, whatever the estimate says."""
        newest = self.turns[-1]
        return Context(
            messages=core.messages(self.system.text, [newest]),
            included=(newest.pk,),
            dropped=len(self.turns) - 1,
            prompt_tokens=0,
            reasons=("older_turns_dropped",) if len(self.turns) > 1 else (),
        )


async def _sure(counter: Counter, parts: _Parts) -> Context:
    limit = parts.budget.prompt_tokens
    cut = 0
    for _ in range(TRIES):
        try:
            context = parts.assembled(cut)
        except MessageTooLong as refusal:
            if not cut and refusal.tokens > HOPELESS_SHARE * refusal.limit_tokens:
                raise
            break
        if not cut and parts.overhead.linear and context.prompt_tokens <= SURE_SHARE * limit:
            return context
        exact = await counter.chat(context.messages)
        if exact <= limit:
            return replace(context, prompt_tokens=exact)
        cut += exact - limit
    return await _smallest(counter, parts)


async def _smallest(counter: Counter, parts: _Parts) -> Context:
    """The last try, by the engine's word alone; MessageTooLong carries the exact limit."""
    limit = parts.budget.prompt_tokens
    context = parts.smallest()
    exact = await counter.chat(context.messages)
    if exact > limit:
        newest = parts.turns[-1].tokens or 0
        raise MessageTooLong(max(0, limit - (exact - newest)), newest)
    return replace(context, prompt_tokens=exact)


async def _counted(
    counter: Counter, turns: Sequence[Turn], budget: Budget
) -> tuple[list[Turn], dict[Hashable, int]]:
    """The turns that matter, each with its count, oldest first; and the counts that are new.

    From the newest back, until there is more than enough for any window: a long imported history is not
    counted to its beginning while somebody waits. It ends at an uncounted turn, which stays one, so later
    calls end there too and the window's start stays where it was.
    """
    enough = COUNTED_BUDGETS * budget.prompt_tokens
    known: list[Turn] = []
    counted: dict[Hashable, int] = {}
    total = 0
    backwards = list(reversed(turns))
    while len(known) < len(turns):
        batch = backwards[len(known) : len(known) + COUNT_BATCH]
        missing = [turn for turn in batch if turn.tokens is None]
        if missing and total > enough:
            known += batch[: batch.index(missing[0])]
            break
        counts = await count_all(counter, [turn.text for turn in missing])
        counted |= {turn.pk: tokens for turn, tokens in zip(missing, counts, strict=True)}
        known += [
            turn if turn.tokens is not None else replace(turn, tokens=counted[turn.pk]) for turn in batch
        ]
        total = sum(turn.tokens or 0 for turn in known if (turn.tokens or 0) <= budget.prompt_tokens)
    return known[::-1], counted
