"""The plain values that cross inference's borders: what is asked, what comes back, what a replica is.

Pure: no framework, no network, no store. Times are seconds, counts are tokens unless a name says otherwise.
"""

from typing import Any, Literal

import msgspec

Way = Literal["ids", "text"]
FinishReason = Literal["stop", "length", "tool_calls"]

# Any other reason at the end of a stream (vLLM's "abort" above all) means that the answer was cut.
SUCCESS: frozenset[str] = frozenset({"stop", "length", "tool_calls"})


class ChatMessage(msgspec.Struct, frozen=True):
    """One message of a prompt, as the engine's chat template takes it."""

    role: Literal["system", "user", "assistant"]
    content: str


class Request(msgspec.Struct, frozen=True, omit_defaults=True):
    """Exactly what is asked of an engine; frozen on the first attempt and the same in every later one.

    `max_tokens` is what the whole answer may use; an attempt that goes on asks for what is left.
    `prompt_tokens` is as counted when it was assembled (never sent): it settles an answer that was cut.
    """

    model: str
    messages: list[ChatMessage]
    max_tokens: int
    temperature: float = 1.0
    top_p: float = 1.0
    stop: list[str] = msgspec.field(default_factory=list)
    seed: int | None = None
    response_format: dict[str, Any] | None = None
    prompt_tokens: int = 0

    def encoded(self) -> bytes:
        """As it is frozen in the log and the row."""
        return msgspec.json.encode(self)


class Progress(msgspec.Struct, frozen=True):
    """How far an answer had come when another attempt takes it up.

    `ids` are the engine's token ids of all of `text`, or None where not every one is known;
    `tokens` is how many tokens of `max_tokens` are spent.
    """

    text: str = ""
    ids: list[int] | None = None
    tokens: int = 0


class Usage(msgspec.Struct, frozen=True):
    """Tokens of one engine call, as the engine counted them."""

    prompt_tokens: int = 0
    completion_tokens: int = 0


class Chunk(msgspec.Struct, frozen=True):
    """One piece of an engine's stream: whole characters, with the ids that made them where the engine tells.

    `tokens` is how many tokens this piece took; `ids` is None where they are unknown or not as many as
    `tokens`. `finish_reason` is set on the last piece only, `usage` on any piece that carries it.
    """

    text: str = ""
    ids: list[int] | None = None
    tokens: int = 0
    finish_reason: str | None = None
    usage: Usage | None = None


class ReplicaView(msgspec.Struct, frozen=True):
    """One engine as the router sees it: where it is and what it can do."""

    pk: str
    url: str
    model: str
    max_running: int
    version: str = ""
    continues: tuple[Way, ...] = ("text",)
    keeps_connections: bool = True
    api_key: str = ""


class Load(msgspec.Struct, frozen=True):
    """How many answers a replica runs, and how many it may."""

    running: int
    limit: int


class Patience(msgspec.Struct, frozen=True):
    """How long an engine may be silent: until an answer's first token, and between two tokens."""

    first_token_s: float = 30.0
    token_gap_s: float = 15.0
