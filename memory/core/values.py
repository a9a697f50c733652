"""The plain values that a prompt is built from, and the prompt itself.

Pure: no framework, no network, no store. Counts are tokens of the model that will read the prompt.
"""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Literal

from inference.core.values import ChatMessage

Reason = Literal["older_turns_dropped", "turns_merged", "summary_left_out", "memories_left_out"]


@dataclass(frozen=True, slots=True)
class Turn:
    """One message of the history; `tokens` is None until this model's tokenizer has counted the text."""

    pk: Hashable
    role: Literal["user", "assistant"]
    text: str
    tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Snippet:
    """A counted piece of text that is no turn: the system text, a summary, a memory. `source` says whence."""

    text: str
    tokens: int
    source: str


@dataclass(frozen=True, slots=True)
class Budget:
    """What one call may use.

    `memories_tokens` is kept free of turns, so that what is recalled never moves the window's start;
    memories may use it and whatever else is left over.
    """

    context_length: int
    max_tokens: int
    margin_tokens: int = 16
    memories_tokens: int = 0

    @property
    def prompt_tokens(self) -> int:
        """The prompt's share, never negative."""
        return max(0, self.context_length - self.max_tokens - self.margin_tokens)


@dataclass(frozen=True, slots=True)
class Overhead:
    """What a chat template adds: `base_tokens` once, `per_message_tokens` for each turn.

    Both may be halves: a template may make more of an answer than of a question, and they come in pairs.
    `linear` says that this held for prompts of several lengths; where it does not, only the engine's own
    count of a whole prompt can be trusted.
    """

    base_tokens: float
    per_message_tokens: float
    linear: bool = True


@dataclass(frozen=True, slots=True)
class Context:
    """A prompt that fits, and what became of the history in it.

    `included` are the turns in it, oldest first; its first one is where the window starts. `dropped` counts
    the turns with words that are not in it. `prompt_tokens` is an estimate, or the engine's own count.
    """

    messages: list[ChatMessage]
    included: tuple[Hashable, ...]
    dropped: int
    prompt_tokens: int
    reasons: tuple[Reason, ...] = ()
