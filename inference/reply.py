"""From an engine's events to chunks: counts tokens, joins characters, judges the end by its finish reason.

No network and no clock: bytes of events come in, chunks and errors go out.
"""

from inference import faults, wire
from inference.core.pieces import Pieces
from inference.core.values import SUCCESS, Chunk, Usage
from inference.errors import StreamCut

# One bad event is skipped; an engine that sends more of them is not speaking to us.
MOST_BAD_EVENTS = 3


class AnswerReader:
    """Reads one engine call's events; `signs` grows with each one that shows the engine at work."""

    __slots__ = ("_bad", "_closed", "_counted", "_pieces", "_usage", "finish_reason", "signs")

    def __init__(self) -> None:
        self._pieces = Pieces()
        self._counted = 0
        self._usage: Usage | None = None
        self._closed = False
        self._bad = 0
        self.finish_reason: str | None = None
        self.signs = 0

    @property
    def complete(self) -> bool:
        """Nothing more is needed: reason and usage are both here, or the engine said that it is done."""
        return self._closed or (self.finish_reason is not None and self._usage is not None)

    def take(self, data: bytes) -> Chunk | None:
        """One event's data; a chunk when whole characters are there. Raises StreamCut or Refused."""
        if data == b"[DONE]":
            self._closed = True
            return None
        event = wire.decode_event(data)
        if event is None:
            self._skip()
            return None
        if event.error is not None:
            raise faults.from_event(event.error, started=self.signs > 0)
        if event.usage is not None:
            self._usage = event.usage
        return self._choice(event, event.choices[0]) if event.choices else None

    def end(self) -> Chunk:
        """The last chunk, with reason and usage; raises StreamCut if the engine named no reason.

        Its tokens make the sum over all chunks the usage's: an end token and half a character show no text.
        """
        if self.finish_reason is None:
            raise StreamCut("eof")
        if self._usage is not None:
            self._pieces.add("", [], self._count(self._usage.completion_tokens, None, ""))
        return self._pieces.take_all(self.finish_reason, self._usage)

    def _skip(self) -> None:
        self._bad += 1
        if self._bad > MOST_BAD_EVENTS:
            raise StreamCut("garbage")

    def _choice(self, event: wire.Event, choice: wire.Choice) -> Chunk | None:
        text = choice.text or (choice.delta.content if choice.delta else None) or ""
        tokens = self._count(event.counted, choice.token_ids, text)
        if text or tokens or self.signs:
            self.signs += 1
        self._pieces.add(text, choice.token_ids, tokens)
        if choice.finish_reason is None:
            return self._pieces.take(event.usage)
        if choice.finish_reason not in SUCCESS:
            raise StreamCut("abort" if choice.finish_reason == "abort" else "error")
        self.finish_reason = choice.finish_reason
        self._usage = event.usage  # what came before was of a part; without it here the last event tells
        return None

    def _count(self, counted: int | None, ids: list[int] | None, text: str) -> int:
        """The engine's own count knows of tokens that a lost event took; then its ids, then one an event."""
        if counted is not None:
            tokens = max(0, counted - self._counted)
        else:
            tokens = len(ids) if ids is not None else int(bool(text))
        self._counted += tokens
        return tokens
