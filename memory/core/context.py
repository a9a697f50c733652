"""One prompt out of its parts, within the budget, laid out for the engine's prefix cache.

Pure. Order: system (instructions, profile facts), summary, window of turns, memories, newest message: what
changes seldom comes first. Counting is done elsewhere; every part arrives with its tokens.
"""

import math
from collections.abc import Iterable, Sequence
from itertools import groupby, pairwise

from inference.core.values import ChatMessage
from memory.core import blocks, window
from memory.core.values import Budget, Context, Overhead, Reason, Snippet, Turn
from memory.errors import MessageTooLong


def assemble(
    system: Snippet,
    turns: Sequence[Turn],
    budget: Budget,
    overhead: Overhead,
    summary: Snippet | None = None,
    memories: Sequence[Snippet] = (),
) -> Context:
    """The prompt by estimate: system and newest message always, then as much of summary, turns and memories.

    Memories come best first. Raises MessageTooLong when system and newest message alone do not fit, and
    NothingToAnswer when the history does not end in a user message.
    """
    per_message = overhead.per_message_tokens
    history = window.speaking(turns)
    room = budget.prompt_tokens - overhead.base_tokens - system.tokens
    newest = window.cost(history[-1], per_message)
    if newest > room:
        raise MessageTooLong(max(0, int(room - per_message)), history[-1].tokens or 0)
    kept_summary = summary if summary and _summary_cost(summary) <= room - newest else None
    if kept_summary:
        room -= _summary_cost(kept_summary)
    chosen = window.fit(history, max(newest, room - budget.memories_tokens), per_message)
    room -= sum(window.cost(turn, per_message) for turn in chosen)
    recalled, room = _recall(memories, room)
    return Context(
        messages=messages(system.text, chosen, kept_summary, recalled),
        included=tuple(turn.pk for turn in chosen),
        dropped=len(history) - len(chosen),
        prompt_tokens=math.ceil(budget.prompt_tokens - room),
        reasons=tuple(
            _reasons(
                older_turns_dropped=len(chosen) < len(history),
                turns_merged=any(one.role == other.role for one, other in pairwise(chosen)),
                summary_left_out=summary is not None and kept_summary is None,
                memories_left_out=len(recalled) < len(memories),
            )
        ),
    )


def messages(
    system: str, turns: Sequence[Turn], summary: Snippet | None = None, memories: Sequence[Snippet] = ()
) -> list[ChatMessage]:
    """The messages as the chat template takes them: after the system's, user and assistant alternate.

    Neighbours of one role (an answer between them failed and has no text) become one message, a blank line
    between them: templates demand alternation, and nothing the user said is lost.
    """
    opening = "\n\n".join(filter(None, [system, blocks.summary_block(summary) if summary else ""]))
    prompt = [ChatMessage("system", opening)] if opening else []
    for role, group in groupby(turns, key=lambda turn: turn.role):
        prompt.append(ChatMessage(role, "\n\n".join(turn.text for turn in group)))
    if memories:
        last = prompt[-1]
        prompt[-1] = ChatMessage(last.role, f"{blocks.memories_block(memories)}\n\n{last.content}")
    return prompt


def _summary_cost(summary: Snippet) -> int:
    return summary.tokens + blocks.FRAME_TOKENS


def _recall(memories: Iterable[Snippet], room: float) -> tuple[list[Snippet], float]:
    taken: list[Snippet] = []
    for memory in memories:
        needed = memory.tokens + blocks.LINE_TOKENS + (0 if taken else blocks.FRAME_TOKENS)
        if needed <= room:
            taken.append(memory)
            room -= needed
    return taken, room


def _reasons(
    *, older_turns_dropped: bool, turns_merged: bool, summary_left_out: bool, memories_left_out: bool
) -> Iterable[Reason]:
    if older_turns_dropped:
        yield "older_turns_dropped"
    if turns_merged:
        yield "turns_merged"
    if summary_left_out:
        yield "summary_left_out"
    if memories_left_out:
        yield "memories_left_out"
