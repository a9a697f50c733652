"""The window of recent turns: which of them go into the prompt.

Pure. The start moves in steps: it stays until the window overflows, then jumps so far that LOW_MARK to
HIGH_MARK of the budget are filled. In between the prompt only grows at its end, as a prefix cache wants it.
"""

from collections.abc import Sequence
from zlib import crc32

from memory.core.values import Turn
from memory.errors import NothingToAnswer

# Between them the jump goes to the user turn whose pk has the highest checksum: so replays of one history
# from different turns on come to the same start after a few jumps, and stay together from there.
LOW_MARK = 0.5
HIGH_MARK = 0.8


def speaking(turns: Sequence[Turn]) -> Sequence[Turn]:
    """The turns that say something, from the first user turn on; the last one is the user's.

    An answer that failed before its first character is no turn, so two user turns may follow each other.
    Raises NothingToAnswer when the last turn that says something is not the user's.
    """
    kept = _from_user([turn for turn in turns if turn.text.strip()])
    if not kept or kept[-1].role != "user":
        raise NothingToAnswer
    return kept


def cost(turn: Turn, per_message_overhead: float) -> float:
    """What a turn takes of the budget; raises ValueError for one that was not counted."""
    if turn.tokens is None:
        raise ValueError(f"turn {turn.pk} was not counted")
    return turn.tokens + per_message_overhead


def fit(turns: Sequence[Turn], budget_tokens: float, per_message_overhead: float) -> Sequence[Turn]:
    """The newest turns that fit, from a user turn on; the newest is there even where it alone is too long.

    A pure function of the history: it replays where the window started at each earlier user turn. So one more
    turn leaves the start alone or compacts. The result is the same for a history that was loaded only from an
    earlier window's start on, and, but for rare cases, from anywhere a good many budgets back. An older turn
    that alone is over the budget (refused as too long, or answered by a larger model) is left out without
    taking what came before it along.
    """
    everything = speaking(turns)
    small = [turn for turn in everything[:-1] if cost(turn, per_message_overhead) <= budget_tokens]
    kept = _from_user([*small, everything[-1]])
    start, used = 0, 0.0
    for newest, turn in enumerate(kept):
        used += cost(turn, per_message_overhead)
        if turn.role == "user" and used > budget_tokens:
            start, used = _compact(kept, start, newest, used, budget_tokens, per_message_overhead)
    return kept[start:]


def _from_user(turns: Sequence[Turn]) -> Sequence[Turn]:
    first = next((index for index, turn in enumerate(turns) if turn.role == "user"), len(turns))
    return turns[first:]


def _compact(
    kept: Sequence[Turn],
    start: int,
    newest: int,
    used: float,
    budget_tokens: float,
    per_message_overhead: float,
) -> tuple[int, float]:
    """Where the window starts now, and what it holds: the best landmark between the two marks."""
    landmarks: list[tuple[int, int, float]] = []
    for index in range(start + 1, newest + 1):
        used -= cost(kept[index - 1], per_message_overhead)
        if kept[index].role != "user" or used > HIGH_MARK * budget_tokens:
            continue
        if landmarks and used < LOW_MARK * budget_tokens:
            break
        landmarks.append((crc32(str(kept[index].pk).encode()), index, used))
    if not landmarks:
        return newest, used
    _, start, used = max(landmarks)
    return start, used
