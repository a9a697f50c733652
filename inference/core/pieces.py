"""Joins what an engine sends until it ends on a whole character, text and token ids together.

Pure. An engine may split a character: as surrogate halves, as bytes, or as tokens without text yet.
"""

import re

from inference.core.values import Chunk, Usage

# A character has at most four bytes, so at most four tokens: what is still broken then stays broken.
MOST_HELD = 4
_SUSPECT = re.compile("[\0\ud800-\udfff\ufffd]")
_BYTES = re.compile("[\udc80-\udcff]+")
_SURROGATE = re.compile("[\ud800-\udfff]")


class Pieces:
    """Collects events; `take` gives them as one chunk once they end on a whole character."""

    __slots__ = ("_held", "_ids", "_text", "_tokens")

    def __init__(self) -> None:
        self._clear()

    def _clear(self) -> None:
        self._text = ""
        self._ids: list[int] | None = []
        self._tokens = 0
        self._held = 0

    def add(self, text: str, ids: list[int] | None, tokens: int) -> None:
        """One event's text, ids (None: unknown) and token count; text may hold surrogates."""
        self._text += text
        self._tokens += tokens
        if ids is None:
            self._ids = None if tokens or text else self._ids
        elif self._ids is not None:
            self._ids += ids

    def take(self, usage: Usage | None = None) -> Chunk | None:
        """A chunk of whole characters, or None while one is incomplete or there is no text."""
        if not self._text:
            return None
        if _SUSPECT.search(self._text):
            self._text = _joined(self._text)
            self._held += 1
            if not self._text or (_unfinished(self._text) and self._held < MOST_HELD):
                return None
        return self._chunk(None, usage)

    def take_all(self, finish_reason: str, usage: Usage | None) -> Chunk:
        """The last chunk: whatever is left, with the answer's end."""
        self._text = _joined(self._text)
        return self._chunk(finish_reason, usage)

    def _chunk(self, finish_reason: str | None, usage: Usage | None) -> Chunk:
        ids = self._ids if self._ids is not None and len(self._ids) == self._tokens else None
        text = _SURROGATE.sub("\ufffd", self._text)
        chunk = Chunk(text=text, ids=ids, tokens=self._tokens, finish_reason=finish_reason, usage=usage)
        self._clear()
        return chunk


def _joined(text: str) -> str:
    """Surrogate pairs and bytes of one character made one; NUL, which no store takes, left out."""
    paired = text.replace("\0", "").encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
    return _BYTES.sub(_from_bytes, paired)


def _from_bytes(run: re.Match[str]) -> str:
    return bytes(ord(half) - 0xDC00 for half in run.group()).decode("utf-8", "surrogateescape")


def _unfinished(text: str) -> bool:
    last = text[-1]
    return "\ud800" <= last <= "\udbff" or "\udc80" <= last <= "\udcff" or last == "\ufffd"
