"""A running answer against a log that loses replies, falls back or vanishes, and checkpoints that fail or come late.

Pure: the log here takes batches as append.lua does, the rows as checkpoint.sql does.
"""

from itertools import count
from uuid import uuid4

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from inference.answer import Answer, Claim, Piece, Work
from inference.core import recovery
from inference.core.events import Delta, EntryId, Open, Snapshot, decode
from inference.core.recovery import Recovered
from inference.core.values import ChatMessage, Chunk, Progress, Request
from inference.streams import Answered, Batch

REQUEST = Request("m", [ChatMessage("user", "hello")], 100)
PK, OWNER = uuid4(), uuid4()

spaces = st.sampled_from([" ", "\n", " \t", "\u00a0"])
words = st.text(alphabet="ab🦀\u0301é", min_size=1, max_size=3)
pieces_of_text = st.one_of(words, spaces, st.just(""), st.builds(str.__add__, words, spaces))


class Taken:
    """What a log took: entries of its attempts, as the scripts would have them."""

    def __init__(self) -> None:
        self.entries: list[tuple[EntryId, bytes, bytes]] = []

    def open(self, attempt: int, v: bytes, x: bytes) -> None:
        self.entries.append((EntryId(attempt, 0), v, x))

    def append(self, batch: Batch) -> Answered:
        last = self.entries[-1][0]
        assert last.attempt == batch.attempt
        if last.n >= batch.n_to:
            return Answered("dup", last.n)
        if last.n != batch.n_from - 1:
            return Answered("behind", last.n)
        for n, (v, x) in enumerate(batch.entries, batch.n_from):
            self.entries.append((EntryId(batch.attempt, n), v, x))
        return Answered("ok", batch.n_to)

    def fold(self) -> Recovered:
        return recovery.from_log(self.entries)


class AnswerMachine(RuleBasedStateMachine):
    """Everything that can happen to one owner's answer, in any order."""

    def __init__(self) -> None:
        super().__init__()
        self.log = Taken()
        self.chunks: dict[tuple[int, int], Piece] = {}
        self.flying: list[Piece] = []
        self.late: list[Piece] = []
        self.frozen: Batch | None = None
        self.token = count(1000)
        self.held: list[Chunk] = []
        self.ended = False

    @initialize(
        ids=st.sampled_from(["known", "unknown"]),
        text=st.sampled_from(["", "ab"]),
        by=st.booleans(),
        data=st.data(),
    )
    def begin(self, ids: str, text: str, by: bool, data: st.DataObject) -> None:
        """A first attempt, or one that goes on from a log or from checkpoints."""
        tokens = list(range(len(text)))
        progress = Progress(text, tokens if ids == "known" else None, len(tokens))
        saved = data.draw(st.integers(0, len(text)))
        if text:
            known = tokens[:saved] if progress.ids is not None else None
            body = {"at": 0, "text": text[:saved], "ids_at": 0, "ids": known, "tokens": saved}
            self.chunks[1, 0] = Piece(PK, 1, 0, 0, body)
        work = Work(REQUEST, progress, *recovery.common(progress, self.saved().progress), opens_with_text=by)
        claim = Claim(PK, 2 if text else 1, "m", "1", None, 0, False, 60.0)
        self.answer = Answer(claim, OWNER, work)
        if text and not by:
            before = Answer(claim, OWNER, Work(REQUEST, progress, opens_with_text=True))
            self.log.open(1, *before.opening())
        self.text, self.tokens = text, progress.tokens
        self.ids = list(tokens) if progress.ids is not None or not text else None

    # --- the engine ---

    @precondition(lambda self: not self.ended)
    @rule(
        text=pieces_of_text,
        tokens=st.integers(0, 3),
        known=st.sampled_from(["yes", "yes", "yes", "no", "short"]),
    )
    def add(self, text: str, tokens: int, known: str) -> None:
        ids = None if known == "no" else [next(self.token) for _ in range(tokens - (known == "short"))]
        chunk = Chunk(text=text, ids=ids, tokens=tokens)
        if not text and ids is None and not tokens:
            assert not self.answer.add(chunk)
            return
        self.held.append(chunk)
        visible = bool(text) and not text[-1].isspace()
        assert self.answer.add(chunk) == visible
        if visible:
            self._release()

    @precondition(lambda self: not self.ended)
    @rule()
    def drop_held(self) -> None:
        self.answer.drop_held()
        self.held.clear()

    @precondition(lambda self: not self.ended)
    @rule()
    def end(self) -> None:
        """White space at the end is text too, once it is the end."""
        self.answer.end("stop", {"prompt_tokens": 1, "completion_tokens": self.tokens})
        self._release()
        self.ended = True

    def _release(self) -> None:
        for chunk in self.held:
            self.text += chunk.text
            self.tokens += chunk.tokens
            exact = self.ids is not None and chunk.ids is not None and len(chunk.ids) == chunk.tokens
            self.ids = [*(self.ids or ()), *(chunk.ids or ())] if exact else None
        self.held.clear()

    # --- the log ---

    @precondition(lambda self: not self.answer.opened)
    @rule(replied=st.booleans())
    def open(self, replied: bool) -> None:
        """Sent again after a lost reply it is `dup`: the first entry is the same bytes."""
        v, x = self.answer.opening()
        if not self.log.entries or self.log.entries[-1][0].attempt < self.answer.attempt:
            self.log.open(self.answer.attempt, v, x)
        opened = next(entry for entry in self.log.entries if entry[0] == (self.answer.attempt, 0))
        assert opened[1:] == (v, x)
        assert isinstance(decode(v), Open | Snapshot)
        if replied:
            self.answer.was_opened()

    @precondition(lambda self: self.answer.opened)
    @rule(fate=st.sampled_from(["answered", "answered", "reply lost", "lost"]))
    def append(self, fate: str) -> None:
        batch = self.answer.batch()
        if batch is None:
            return
        if self.frozen is not None:
            assert batch == self.frozen
        answered = self.log.append(batch) if fate != "lost" else None
        answered = answered if fate == "answered" else None
        self.frozen = batch if answered is None else None
        self.answer.answered(answered)

    @precondition(lambda self: self.answer.opened and not self.answer.settled)
    @rule(data=st.data())
    def fall_back(self, data: st.DataObject) -> None:
        """An older replica of the log, that still has this attempt's beginning; the next batch finds out."""
        keep = data.draw(st.integers(0, self.log.entries[-1][0].n))
        self.log.entries = [entry for entry in self.log.entries if entry[0] <= (self.answer.attempt, keep)]

    @rule(gone=st.booleans())
    def renew(self, gone: bool) -> None:
        """The log vanished, or has seen a higher attempt that is not to be trusted."""
        if gone:
            self.log.entries.clear()
        self.answer.renew(self.answer.attempt + 2)
        self.frozen = None
        assert not self.answer.opened

    # --- the checkpoints ---

    @rule(fate=st.sampled_from(["stored", "stored", "failed", "reply lost", "flying"]))
    def checkpoint(self, fate: str) -> None:
        piece = self.answer.piece()
        if piece is None:
            return
        assert self.answer.piece() is None
        if fate == "flying":
            self.flying.append(piece)
            return
        if fate != "failed":
            self._store(piece)
        if fate != "stored":
            self._fail(piece)

    @precondition(lambda self: self.flying)
    @rule(stored=st.booleans(), data=st.data())
    def land(self, stored: bool, data: st.DataObject) -> None:
        piece = self.flying.pop(data.draw(st.integers(0, len(self.flying) - 1)))
        if not (stored and self._store(piece)):
            self._fail(piece)

    @precondition(lambda self: self.late)
    @rule(data=st.data())
    def arrive_late(self, data: st.DataObject) -> None:
        """Its connection broke, so it counted as failed, but the server had it and carries it out now."""
        self._store(self.late.pop(data.draw(st.integers(0, len(self.late) - 1))))

    def _fail(self, piece: Piece) -> None:
        self.answer.unsave(piece)
        self.late.append(piece)

    def _store(self, piece: Piece) -> bool:
        if piece.attempt != self.answer.attempt:
            return False
        stands = self.chunks.get((piece.attempt, piece.n_from))
        if stands is None or stands.n_to <= piece.n_to:
            self.chunks[piece.attempt, piece.n_from] = piece
        return True

    def saved(self) -> Recovered:
        rows = sorted(self.chunks.values(), key=lambda piece: (piece.attempt, piece.n_to, piece.n_from))
        return recovery.from_checkpoints([(piece.attempt, piece.n_to, piece.body) for piece in rows])

    # --- what holds ---

    @invariant()
    def released_is_what_was_let_out(self) -> None:
        assert self.answer.text == self.text
        assert self.answer.length == len(self.text)
        assert (self.answer.ids, self.answer.tokens) == (self.ids, self.tokens)
        assert self.ended or not self.text or not self.text[-1].isspace()

    @invariant()
    def sources_have_a_true_part_of_it(self) -> None:
        for found in (self.log.fold(), self.saved()):
            progress = found.progress
            assert self.text.startswith(progress.text)
            assert progress.tokens <= self.tokens
            if progress.ids is not None and self.ids is not None:
                assert self.ids[: len(progress.ids)] == progress.ids
                assert len(progress.ids) == progress.tokens
            if found.end is not None:
                assert progress.text == self.text

    def teardown(self) -> None:
        """With the stores back, everything that was released is in both."""
        if not hasattr(self, "answer"):
            return
        if not self.answer.opened:
            self.open(replied=True)
        while not self.answer.settled:
            self.append("answered")
        while self.flying:
            self._fail(self.flying.pop())
        if (piece := self.answer.piece()) is not None:
            self._store(piece)
        self._same(self.log.fold())
        if self.saved().last.n >= 0 or self.text:
            self._same(self.saved())
        while self.late:
            self._store(self.late.pop(0))
            self._same(self.saved())
        assert "".join(self._deltas()) == self.text[len(self.text) - len("".join(self._deltas())) :]

    def _same(self, found: Recovered) -> None:
        assert found.progress.text == self.text
        assert found.progress.tokens == self.tokens
        assert found.progress.ids in ([self.ids] if self.ids is not None else [None])
        assert (found.end is not None) == self.ended

    def _deltas(self) -> list[str]:
        events = [decode(v) for entry, v, _ in self.log.entries if entry.attempt == self.answer.attempt]
        return [event.text for event in events if isinstance(event, Delta)]


TestAnswer = AnswerMachine.TestCase


def answer_of(*texts: str) -> Answer:
    """One that released these, a token each, one checkpoint's worth at a time."""
    answer = Answer(Claim(PK, 1, "m", "1", None, 0, False, 60.0), OWNER, Work(REQUEST, Progress()))
    answer.was_opened()
    for token, text in enumerate(texts):
        answer.add(Chunk(text=text, ids=[token], tokens=1))
    return answer


def folded(*pieces: Piece) -> Recovered:
    """What these say as rows, where a later one replaces one that begins at the same entry."""
    rows = {(piece.attempt, piece.n_from): piece for piece in pieces}.values()
    ordered = sorted(rows, key=lambda piece: (piece.attempt, piece.n_to, piece.n_from))
    return recovery.from_checkpoints([(piece.attempt, piece.n_to, piece.body) for piece in ordered])


def piece_of(answer: Answer, text: str, token: int) -> Piece:
    """Release one more token and checkpoint it."""
    answer.add(Chunk(text=text, ids=[token], tokens=1))
    piece = answer.piece()
    assert piece is not None
    return piece


def test_a_batch_without_an_answer_is_sent_again_byte_for_byte() -> None:
    answer = answer_of("a")
    first = answer.batch()
    answer.answered(None)
    answer.add(Chunk(text="b", ids=[1], tokens=1))
    assert answer.batch() is first
    answer.answered(Answered("dup", 1))
    second = answer.batch()
    assert second is not None
    assert [decode(v) for v, _ in second.entries] == [Delta(0, "b")]
    assert second.n_from == 2


def test_ids_of_another_model_version_are_kept_nowhere() -> None:
    answer = answer_of("a")
    answer.forget_ids()
    answer.add(Chunk(text="b", ids=[7], tokens=1))
    answer.end("stop", {})
    log = Taken()
    log.open(1, *answer.opening())
    batch, piece = answer.batch(), answer.piece()
    assert batch is not None
    assert piece is not None
    log.append(batch)
    assert log.fold().progress == folded(piece).progress == Progress("ab", None, 2)


def test_behind_sends_again_from_where_the_log_is() -> None:
    answer = answer_of("a")
    for text in "bc":
        assert answer.batch() is not None
        answer.answered(Answered("ok", answer.number))
        answer.add(Chunk(text=text, ids=[1], tokens=1))
    assert answer.batch() is not None
    answer.answered(Answered("behind", 1))
    again = answer.batch()
    assert again is not None
    assert (again.n_from, [decode(v) for v, _ in again.entries]) == (2, [Delta(0, "b"), Delta(0, "c")])


def test_a_failed_piece_is_covered_by_the_next_though_one_after_it_was_stored() -> None:
    answer = answer_of()
    first, second = piece_of(answer, "a", 0), piece_of(answer, "b", 1)
    answer.unsave(first)
    assert folded(second).progress == Progress("", [], 0)
    third = piece_of(answer, "c", 2)
    assert folded(second, third).progress == Progress("abc", [0, 1, 2], 3)


def test_a_piece_that_fails_after_a_renewal_is_covered_in_the_new_attempt() -> None:
    answer = answer_of()
    first = piece_of(answer, "a", 0)
    answer.renew(3)
    second = piece_of(answer, "b", 1)
    answer.unsave(first)
    third = answer.piece()
    assert third is not None
    assert folded(second, third).progress == Progress("ab", [0, 1], 2)
    assert folded(second, third, piece_of(answer, "c", 2)).progress == Progress("abc", [0, 1, 2], 3)
