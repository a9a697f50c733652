"""What stands around the log in its tests: the row as Postgres keeps it, owners, and readers behind a bad network."""

from uuid import UUID, uuid4

from inference.answer import Answer, Piece, Work
from inference.core import recovery
from inference.core.events import ROW_DONE_N, ROW_SNAPSHOT_N, Done, EntryId, Event, Snapshot, text_parts
from inference.core.reader import Reader
from inference.core.values import ChatMessage, Request
from inference.seams import Outcome, Waiting
from inference.streams import Answered, Batch, State

REQUEST = Request("m", [ChatMessage("user", "hello")], 100)


def has_answer(owner: "Owner") -> bool:
    return owner.answer is not None


def to_open(owner: "Owner") -> bool:
    return owner.answer is not None and not owner.answer.opened and owner.answer.work.end is None


def opened(owner: "Owner") -> bool:
    return owner.answer is not None and owner.answer.opened


def unsent(owner: "Owner") -> bool:
    return owner.answer is not None and owner.answer.opened and not owner.answer.settled


class Row:
    """The generation's row and its checkpoints, as Postgres keeps them."""

    def __init__(self) -> None:
        self.attempt, self.owner, self.outcome = 0, None, None
        self.attempt: int
        self.owner: UUID | None
        self.outcome: Outcome | None
        self.chunks: dict[tuple[int, int], Piece] = {}

    def saved(self) -> recovery.Recovered:
        rows = sorted(self.chunks.values(), key=lambda piece: (piece.attempt, piece.n_to, piece.n_from))
        return recovery.from_checkpoints([(piece.attempt, piece.n_to, piece.body) for piece in rows])

    def after(self, last: EntryId) -> list[tuple[EntryId, Event]]:
        """As chat/live/tail.py answers."""
        if self.outcome is None:
            saved = self.saved()
            return [(saved.last, Snapshot(text_parts(saved.progress.text)))] if saved.last > last else []
        text, attempt = self.outcome.text or "", max(self.attempt, last.attempt)
        done = Done(self.outcome.state, len(text))
        return [
            (EntryId(attempt, ROW_SNAPSHOT_N), Snapshot(text_parts(text))),
            (EntryId(attempt, ROW_DONE_N), done),
        ]


class Owner:
    """A dispatcher; it may believe that the answer is its own long after it is not."""

    def __init__(self) -> None:
        self.pk = uuid4()
        self.answer: Answer | None = None
        self.overtaken = False


class Watcher:
    """A reader, and what was published to it but has not arrived."""

    def __init__(self) -> None:
        self.reader = Reader()
        self.coming: list[tuple[EntryId, Event]] = []


def expected_open(answer: Answer, before: dict[str, str]) -> Answered:
    """The word of open.lua, by section 3 of the protocol."""
    a, o, n = int(before.get("a", 0)), before.get("o"), int(before.get("n", 0))
    if a > answer.attempt or (a == answer.attempt and o != str(answer.owner)):
        return Answered("fenced", a)
    if "done" in before:
        return Answered("done", a)
    if a == answer.attempt:
        return Answered("dup", n)
    stands = answer.stands_on is None or (bool(before) and answer.stands_on == (a, n))
    return Answered("ok", 0) if stands else Answered("gone", a)


def expected_append(batch: Batch, before: dict[str, str]) -> Answered:
    """The word of append.lua."""
    a, n = int(before.get("a", 0)), int(before.get("n", 0))
    if a < batch.attempt:
        return Answered("gone", 0)
    if a > batch.attempt or before["o"] != str(batch.owner) or "done" in before:
        return Answered("fenced", a)
    if n >= batch.n_to:
        return Answered("dup", n)
    return Answered("ok", batch.n_to) if n == batch.n_from - 1 else Answered("behind", n)


class Sink:
    """What closes an answer outside the log; nothing here."""

    async def close(self, pk: UUID, outcome: Outcome) -> list[Waiting]:
        """Nobody waits."""
        return []


def work_from(state: State, saved: recovery.Recovered) -> Work:
    """What a claim loads, as chat/runner.py does: from the log or from the checkpoints, whichever has the higher id."""
    logged = recovery.from_log(state.entries) if state.exists else recovery.NOTHING
    best = max(logged, saved, key=lambda source: source.last)
    saved_to = recovery.common(best.progress, saved.progress)
    stands_on = best.last if best is logged and state.exists else None
    by_text = best is saved and bool(best.progress.text)
    return Work(REQUEST, best.progress, *saved_to, opens_with_text=by_text, stands_on=stands_on, end=best.end)
