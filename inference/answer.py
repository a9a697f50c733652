"""One running answer in its dispatcher: the released text, and how far log and checkpoints have it.

The owner keeps every entry of its attempt and the text it began from until the end (protocol 1). No I/O in here.
"""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any
from uuid import UUID

import msgspec

from inference.core.events import Delta, EntryId, Extra, Open, Snapshot, encode, text_parts
from inference.core.values import Chunk, Progress, Request
from inference.streams import Answered, Batch


class Claim(msgspec.Struct, frozen=True):
    """An answer that is now ours: what its row says.

    `standing` is the text that its message had before this generation (a continue after a stop);
    `seconds_left` is the time to its hard limit. `reservation` is what was set aside for it, named by
    whoever set it aside.
    """

    pk: UUID
    attempt: int
    model: str
    model_version: str
    message: UUID | None
    failures: int
    stop_requested: bool
    seconds_left: float
    policy_version: str = ""
    reservation: str = ""
    standing: str = ""
    request: Request | None = None


class Work(msgspec.Struct, frozen=True):
    """What a claim needs to run: the frozen request and what earlier attempts released.

    `saved` and `saved_ids` are how many code points and ids of it the checkpoints have; `opens_with_text` asks
    for a snapshot (readers may lack the text), else the log has it up to its entry `stands_on`.
    `end` is the engine's end, where an attempt saw it.
    """

    request: Request
    progress: Progress
    saved: int = 0
    saved_ids: int = 0
    opens_with_text: bool = False
    stands_on: EntryId | None = None
    end: dict[str, Any] | None = None


class Piece(msgspec.Struct, frozen=True):
    """A checkpoint's share of an answer: what came since the last one."""

    pk: UUID
    attempt: int
    n_from: int
    n_to: int
    body: dict[str, Any]


class Halt(StrEnum):
    """Why an answer's stream was ended from our side."""

    STOP = "stop"
    FENCED = "fenced"
    DRAIN = "drain"


@dataclass(eq=False, slots=True)
class Answer:
    """Text comes in by `add`, leaves by `batch` (to the log) and `piece` (to the checkpoints)."""

    claim: Claim
    owner: UUID
    work: Work
    attempt: int = 0
    stands_on: EntryId | None = None
    opened: bool = False
    halted: Halt | None = None
    tokens: int = 0
    ids: list[int] | None = None
    _texts: list[str] = field(default_factory=list)
    _length: int = 0
    _pending: list[str] = field(default_factory=list)
    _pending_ids: list[int] | None = field(default_factory=list)
    _held: list[Chunk] = field(default_factory=list)
    _entries: list[tuple[bytes, bytes]] = field(default_factory=list)
    _acked: int = -1
    _frozen: Batch | None = None
    _saved: int = 0
    _saved_ids: int = 0
    _saved_n: int = -1
    _end: dict[str, Any] | None = None
    _end_saved: bool = False

    def __post_init__(self) -> None:
        progress = self.work.progress
        self.attempt = self.claim.attempt
        self._texts, self._length = [progress.text], len(progress.text)
        self.ids = list(progress.ids) if progress.ids is not None else None if progress.text else []
        self.tokens = progress.tokens
        self._saved, self._saved_ids = self.work.saved, self.work.saved_ids
        self.stands_on = self.work.stands_on
        self._begin(with_text=self.work.opens_with_text, why="start" if self.attempt == 1 else "resumed")

    @property
    def pk(self) -> UUID:
        """The generation's."""
        return self.claim.pk

    @property
    def text(self) -> str:
        """All text released so far."""
        if len(self._texts) > 1:
            self._texts = ["".join(self._texts)]
        return self._texts[0]

    @property
    def length(self) -> int:
        """Code points released so far."""
        return self._length

    @property
    def number(self) -> int:
        """The number of the newest entry."""
        return len(self._entries) - 1

    def add(self, chunk: Chunk) -> bool:
        """Take an engine's chunk; true when text was released.

        A chunk that ends in white space waits for the next one: text is only continued from a visible character.
        """
        if not chunk.text and chunk.ids is None and not chunk.tokens:
            return False
        self._held.append(chunk)
        if not chunk.text or chunk.text[-1].isspace():
            return False
        self.release()
        return True

    def release(self) -> None:
        """Let out what is held; at the end, white space too."""
        for chunk in self._held:
            self._pending.append(chunk.text)
            self._texts.append(chunk.text)
            self._length += len(chunk.text)
            self.tokens += chunk.tokens
            if chunk.ids is None or self.ids is None or len(chunk.ids) != chunk.tokens:
                self.ids = self._pending_ids = None
            else:
                self.ids.extend(chunk.ids)
                if self._pending_ids is not None:
                    self._pending_ids.extend(chunk.ids)
        self._held.clear()

    def forget_ids(self) -> None:
        """The engine's ids are not those of the row's model version: none of them may be continued from."""
        self.ids = self._pending_ids = None

    def drop_held(self) -> None:
        """Forget what nobody saw: the engine makes it again."""
        self._held.clear()

    def end(self, reason: str, usage: dict[str, int]) -> None:
        """Release all and mark that the engine had finished, so that another attempt needs no engine."""
        self.release()
        self._end = {"reason": reason, "usage": usage}
        self._write_entry()

    def batch(self) -> Batch | None:
        """The next entries for the log: the unanswered batch again byte for byte, else all that is new."""
        if self._frozen is None:
            if self._pending:
                self._write_entry()
            if self._acked >= self.number:
                return None
            first = self._acked + 1
            self._frozen = Batch(self.pk, self.attempt, self.owner, first, tuple(self._entries[first:]))
        return self._frozen

    def opening(self) -> tuple[bytes, bytes]:
        """v and x of this attempt's first entry."""
        return self._entries[0]

    def answered(self, answer: Answered | None) -> None:
        """Take the log's word on the batch; `gone` and `fenced` are the caller's to act on."""
        if answer is None or self._frozen is None:
            return
        if answer.word in {"ok", "dup"}:
            self._acked = max(self._acked, self._frozen.n_to)
        elif answer.word == "behind":
            self._acked = answer.number
        self._frozen = None

    def was_opened(self) -> None:
        """The log has this attempt's first entry."""
        self.opened = True
        self._acked = max(self._acked, 0)

    @property
    def settled(self) -> bool:
        """Whether the log has everything that was released."""
        return self.opened and not self._pending and self._acked >= self.number

    @property
    def may_save(self) -> bool:
        """Whether checkpoints may have it: not while the log that it stands on may still grow under its old owner."""
        return self.opened or self.stands_on is None

    def renew(self, attempt: int) -> None:
        """Go on as a new attempt of our own, from a snapshot of all text: the log was lost, or was ahead of us."""
        self.attempt = attempt
        self.stands_on = None
        self._pending.clear()
        self._begin(with_text=True, why="renewed")
        if self._end is not None:
            self._write_entry()

    def piece(self) -> Piece | None:
        """What checkpoints lack, None if nothing; marks it saved, so `unsave` it if the write fails."""
        if self._pending:
            self._write_entry()
        new_end = self._end is not None and not self._end_saved
        if self._length <= self._saved and not new_end:
            return None
        body: dict[str, Any] = {
            "at": self._saved,
            "text": self.text[self._saved :],
            "ids_at": self._saved_ids,
            "ids": self.ids[self._saved_ids :] if self.ids is not None else None,
            "tokens": self.tokens,
        }
        if self._end is not None:
            body["end"] = self._end
        piece = Piece(self.pk, self.attempt, self._saved_n + 1, self.number, body)
        self._mark_saved()
        return piece

    def unsave(self, piece: Piece) -> None:
        """The checkpoint did not happen: the next one covers it."""
        self._saved = min(self._saved, piece.body["at"])
        self._saved_ids = min(self._saved_ids, piece.body["ids_at"])
        self._end_saved = False
        # Not this attempt's: what this one saved since then stands on it, so that is written anew as well.
        self._saved_n = min(self._saved_n, piece.n_from - 1) if piece.attempt == self.attempt else -1

    def _mark_saved(self) -> None:
        self._saved, self._saved_n = self._length, self.number
        self._saved_ids = len(self.ids) if self.ids is not None else 0
        self._end_saved = self._end is not None

    def _begin(self, *, with_text: bool, why: str) -> None:
        event = Snapshot(text_parts(self.text)) if with_text else Open(keep=self._length, why=why)
        extra = Extra(ids=self.ids if with_text else None, tokens=self.tokens)
        self._entries = [(encode(event), msgspec.json.encode(extra))]
        self._acked, self._frozen, self.opened = -1, None, False
        self._pending_ids = []
        self._saved_n = -1

    def _write_entry(self) -> None:
        text = "".join(self._pending)
        extra = Extra(ids=self._pending_ids, tokens=self.tokens, end=self._end)
        self._entries.append((encode(Delta(0, text)), msgspec.json.encode(extra)))
        self._pending.clear()
        self._pending_ids = [] if self.ids is not None else None
