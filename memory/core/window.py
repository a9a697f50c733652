"""The window of recent turns: which of them go into the prompt.

Pure. The start moves in steps: it stays until the window overflows, then jumps to where the rest fills at
most LOW_WATER of the budget. In between the prompt only grows at its end, which is what a prefix cache wants.
"""

from collections.abc import Sequence

from memory.core.values import Turn
from memory.errors import NothingToAnswer

LOW_WATER = 0.7


def speaking(turns: Sequence[Turn]) -> Sequence[Turn]:
    """The turns that say something, from the first user turn on; the last one is the user's.

    An answer that failed before its first character is no turn, so two user turns may follow each other.
    Raises NothingToAnswer when the last turn that says something is not the user's.
    """
    kept = _from_user([turn for turn in turns if turn.text.strip()])
    if not kept or kept[-1].role != "user":
        raise NothingToAnswer
    return kept


def cost(turn: Turn, per_message_overhead: int) -> int:
    """What a turn takes of the budget; raises ValueError for one that was not counted."""
    if turn.tokens is None:
        raise ValueError(f"turn {turn.pk} was not counted")
    return turn.tokens + per_message_overhead


def fit(turns: Sequence[Turn], budget_tokens: int, per_message_overhead: int) -> Sequence[Turn]:
    """The newest turns that fit, from a user turn on; the newest is there even where it alone is too long.

    A pure function of the history: it replays where the window started at each earlier user turn. So one more
    turn leaves the start alone or compacts, and the result is the same for a history that was loaded only
    from an earlier window's start on. An older turn that alone is over the budget (refused as too long, or
    answered by a larger model) is left out without taking what came before it along.
    """
    everything = speaking(turns)
    small = [turn for turn in everything[:-1] if cost(turn, per_message_overhead) <= budget_tokens]
    kept = _from_user([*small, everything[-1]])
    start = used = 0
    for newest, turn in enumerate(kept):
        used += cost(turn, per_message_overhead)
        if turn.role == "user" and used > budget_tokens:
            start, used = _compact(kept, start, newest, used, budget_tokens, per_message_overhead)
    return kept[start:]


def _from_user(turns: Sequence[Turn]) -> Sequence[Turn]:
    first = next((index for index, turn in enumerate(turns) if turn.role == "user"), len(turns))
    return turns[first:]


def _compact(
    kept: Sequence[Turn], start: int, newest: int, used: int, budget_tokens: int, per_message_overhead: int
) -> tuple[int, int]:
    low_tokens = int(budget_tokens * LOW_WATER)
    while start < newest and (used > low_tokens or kept[start].role != "user"):
        used -= cost(kept[start], per_message_overhead)
        start += 1
    return start, used
