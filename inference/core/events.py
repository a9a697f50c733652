"""The entries of an answer's log: a public contract, docs/api.md.

One msgspec Struct an event, encoded once by the dispatcher and sent as it is to every reader. Pure.
"""

from typing import Any, NamedTuple

import msgspec


class EntryId(NamedTuple):
    """`attempt-n`: ordered by attempt, then by number. (0, -1) is before every entry."""

    attempt: int
    n: int

    def __str__(self) -> str:
        return f"{self.attempt}-{self.n}"

    @classmethod
    def parse(cls, raw: str) -> "EntryId":
        """Raises ValueError for anything but two whole numbers in the range of a stream id."""
        attempt, dash, n = raw.partition("-")
        if not (dash and attempt.isascii() and attempt.isdigit() and n.isascii() and n.isdigit()):
            raise ValueError("an event id is two whole numbers, attempt-n")
        return cls(_bounded(attempt), _bounded(n))


BEFORE_ALL = EntryId(0, -1)

# Ids of what is read from the row once the log is gone: after every entry of its attempt (2**53 - 1 is
# the largest whole number that a JavaScript client keeps exactly).
ROW_SNAPSHOT_N = 2**53 - 2
ROW_DONE_N = 2**53 - 1


def _bounded(digits: str) -> int:
    if len(digits) > 16 or int(digits) > ROW_DONE_N:
        raise ValueError("an event id is two whole numbers, attempt-n")
    return int(digits)


class Open(msgspec.Struct, frozen=True, tag_field="type", tag="open"):
    """An attempt begins; the first `keep` code points of the text stand."""

    keep: int
    why: str


class Snapshot(msgspec.Struct, frozen=True, tag_field="type", tag="snapshot"):
    """The whole text so far, replacing everything."""

    parts: list[dict[str, Any]]


class Delta(msgspec.Struct, frozen=True, tag_field="type", tag="delta"):
    """More text of one part."""

    part: int
    text: str


class Done(msgspec.Struct, frozen=True, tag_field="type", tag="done"):
    """The end; `length` is the text's in code points over all parts."""

    state: str
    length: int
    finish_reason: str | None = None
    usage: dict[str, int] | None = None
    error_code: str | None = None


Event = Open | Snapshot | Delta | Done

_encoder = msgspec.json.Encoder()
_decoder: msgspec.json.Decoder[Event] = msgspec.json.Decoder(Event)


def encode(event: Event) -> bytes:
    """The bytes that readers get."""
    return _encoder.encode(event)


def decode(raw: bytes | str) -> Event:
    """The event again; raises msgspec.DecodeError (a ValueError) for what is none."""
    return _decoder.decode(raw)


class Extra(msgspec.Struct, omit_defaults=True):
    """The `x` of an entry: token ids of its text (None where unknown), tokens spent so far, and the engine's end."""

    ids: list[int] | None = None
    tokens: int = 0
    end: dict[str, Any] | None = None


def text_parts(text: str) -> list[dict[str, Any]]:
    """A plain answer as message parts; no text, no part."""
    return [{"type": "text", "text": text}] if text else []
