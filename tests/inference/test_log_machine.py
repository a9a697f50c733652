"""The real log scripts under several owners, with Postgres as a model: what each script may answer, and I1 to I5, I8.

Owners run the real Answer and recover by the real rule; time passes only as steps. Readers follow by the reader rule.
"""

import asyncio
from collections.abc import Callable, Iterator
from itertools import count
from typing import Any
from uuid import UUID, uuid4

import pytest
import redis
import redis.asyncio
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from inference import keys
from inference.answer import Answer, Claim
from inference.closing import Closer
from inference.core import recovery
from inference.core.events import BEFORE_ALL, Done, EntryId, Event, decode
from inference.core.reader import Action, Reader
from inference.core.values import Chunk
from inference.seams import Outcome
from inference.streams import Entry, Log
from tests.inference.log_model import (
    Owner,
    Row,
    Sink,
    Watcher,
    expected_append,
    expected_open,
    has_answer,
    opened,
    to_open,
    unsent,
    work_from,
)

ANY = st.integers(0, 5)
# An answer ends after this many steps at the earliest: there must be something to go wrong.
LEAST_STEPS = 15
BETWEEN_CLAIMS = 5
MOST_FLUSHES = 2


def some(fits: Callable[[Owner], bool]) -> Any:
    """A precondition: there is an owner like that."""
    return precondition(lambda machine: any(map(fits, machine.owners)))


class LogMachine(RuleBasedStateMachine):
    """One answer from its first claim until its log has ended."""

    def __init__(self, valkey: "redis.Redis", run: Any, log: Log) -> None:
        super().__init__()
        self.valkey, self.run, self.log = valkey, run, log
        self.pk, self.row = uuid4(), Row()
        self.owners = [Owner() for _ in range(3)]
        self.watchers = [Watcher() for _ in range(2)]
        self.words, self.steps, self.claimed_at, self.flushes = count(1), 0, -BETWEEN_CLAIMS, 0
        self.published, self.shown = BEFORE_ALL, ""
        self.rewound = self.flushed = self.claim_lost = False
        self.before: tuple[int, UUID | None] | None = None
        self.channel = valkey.pubsub()
        self.channel.ssubscribe(keys.log_channel(self.pk))
        self._listen()

    def teardown(self) -> None:
        """Whatever happened, the row ends, its log is closed, and every reader has the same text."""
        try:
            self.drain_and_close()
        finally:
            self.channel.close()

    def _one(self, which: int, fits: Callable[[Owner], bool]) -> tuple[Owner, Answer]:
        found = [owner for owner in self.owners if fits(owner)]
        owner = found[which % len(found)]
        assert owner.answer is not None
        return owner, owner.answer

    # --- Postgres ---

    @precondition(lambda self: self.row.outcome is None and self.steps - self.claimed_at >= BETWEEN_CLAIMS)
    @rule(who=st.integers(0, 2), opens=st.sampled_from([True, True, False]))
    def claim(self, who: int, opens: bool) -> None:
        """The owner before is dead, handed it back, or is only slow; load what it released."""
        self.claimed_at = self.steps
        self.before = self.row.attempt, self.row.owner
        self.row.attempt += 1
        self.row.owner = self.owners[who].pk
        self._load(self.owners[who])
        if opens and to_open(self.owners[who]):
            self._open(*self._one(0, lambda owner: owner is self.owners[who]), replied=True)

    @precondition(lambda self: self.row.outcome is None and self.before is not None and not self.flushed)
    @rule()
    def lose_claim(self) -> None:
        """Postgres fell back to before the last claim (and Valkey did not just now: one fault at a time)."""
        assert self.before is not None
        self.row.attempt, self.row.owner = self.before
        self.before, self.claim_lost = None, True

    def _load(self, owner: Owner) -> None:
        state = self.run(self.log.read(self.pk, BEFORE_ALL, count=None))
        work = work_from(state, self.row.saved())
        claim = Claim(self.pk, self.row.attempt, "m", "1", None, 0, False, 60.0)
        owner.answer = Answer(claim, owner.pk, work)
        owner.overtaken = False
        # The log and its owner went within one checkpoint: the double fault that may take text back.
        self.rewound = self.rewound or not (state.exists or work.progress.text.startswith(self.shown))

    def _reclaim(self, owner: Owner, above: int) -> None:
        """As reclaim.sql: ours while nobody else has it; else it is dropped."""
        assert owner.answer is not None
        if (
            self.row.owner == owner.pk
            and self.row.outcome is None
            and self.row.attempt >= owner.answer.attempt
        ):
            self.before = None
            self.row.attempt = max(self.row.attempt, above) + 1
            owner.answer.renew(self.row.attempt)
        else:
            owner.answer = None

    @some(has_answer)
    @rule(which=ANY)
    def checkpoint(self, which: int) -> None:
        owner, answer = self._one(which, has_answer)
        piece = answer.piece()
        if piece is None:
            return
        if (self.row.owner, self.row.attempt, self.row.outcome) == (answer.owner, piece.attempt, None):
            self.row.chunks[piece.attempt, piece.n_from] = piece
            self.rewound = self.rewound or (owner.overtaken and not answer.opened)
        else:
            answer.unsave(piece)

    @some(has_answer)
    @rule(which=ANY, n=st.integers(1, 3))
    def stream(self, which: int, n: int) -> None:
        """The engine says something that no other attempt says."""
        _, answer = self._one(which, has_answer)
        for word in (next(self.words) for _ in range(n)):
            answer.add(Chunk(text=f"<{answer.attempt}:{word}>", ids=[word], tokens=1))

    @some(to_open)
    @rule(which=ANY, replied=st.sampled_from([True, True, False]))
    def open(self, which: int, replied: bool) -> None:
        self._open(*self._one(which, to_open), replied)

    def _open(self, owner: Owner, answer: Answer, replied: bool) -> None:
        before, shown = self._hash(), self.shown
        v, x = answer.opening()
        request = answer.work.request.encoded()
        answered = self.run(
            self.log.open(self.pk, answer.attempt, owner.pk, v, x, request, 60, answer.stands_on)
        )
        assert answered == expected_open(answer, before)
        if answered.word == "ok" and not answer.text.startswith(shown) and not self.rewound:
            # Text that was shown is taken back: only where somebody else wrote on between our load and our open.
            assert owner.overtaken
            self.rewound = True
        self._listen()
        if answered.word == "ok" and (self.row.owner, self.row.attempt) == (owner.pk, answer.attempt):
            self.flushed = self.claim_lost = False
        if not replied:
            return
        if answered.word in {"ok", "dup"} and answered.number == 0:
            answer.was_opened()
        elif answered.word == "done":
            owner.answer = None
        else:
            self._reclaim(owner, answer.attempt if answered.word == "dup" else answered.number)

    @some(unsent)
    @rule(which=ANY, fate=st.sampled_from(["answered", "answered", "reply lost", "lost"]))
    def append(self, which: int, fate: str) -> None:
        self._append(*self._one(which, unsent), fate)

    @some(opened)
    @rule(which=ANY, n=st.integers(1, 3))
    def write(self, which: int, n: int) -> None:
        """What is said goes out at once."""
        self.stream(which, n)
        owner, answer = self._one(which, opened)
        if not answer.settled:
            self._append(owner, answer, "answered")

    def _append(self, owner: Owner, answer: Answer, fate: str) -> None:
        batch = answer.batch()
        assert batch is not None
        if fate == "lost":
            return answer.answered(None)
        before = self._hash()
        (answered,) = self.run(self.log.append([batch]))
        assert answered == expected_append(batch, before)
        if answered.word == "ok":
            self._overtake(owner)
        self._listen()
        if fate == "reply lost":
            return answer.answered(None)
        answer.answered(answered)
        if answered.word == "gone":
            answer.opened = False
            self._reclaim(owner, answered.number)
        elif answered.word == "fenced":
            owner.answer = None

    def _rightful(self, owner: Owner) -> bool:
        answer = owner.answer
        return answer is not None and (self.row.owner, self.row.attempt) == (owner.pk, answer.attempt)

    def _overtake(self, writer: Owner) -> None:
        """Who loaded what stood before this, and what it saved of that meanwhile, takes it back when it opens."""
        rightful = self._rightful(writer)
        assert writer.answer is not None
        for other in self.owners:
            if other is not writer and (to_open(other) or not rightful):
                other.overtaken = True
        saved = max((attempt for attempt, _ in self.row.chunks), default=0)
        self.rewound = self.rewound or saved > writer.answer.attempt

    @precondition(lambda self: self.steps > LEAST_STEPS and self.row.outcome is None)
    @precondition(lambda self: any(map(self._rightful, self.owners)))
    @rule(state=st.sampled_from(["complete", "stopped", "blocked"]), closes=st.booleans())
    def finish(self, state: str, closes: bool) -> None:
        """Only whose row it is ends it; closing may be left to the sweep, and the log may lag behind."""
        owner, answer = self._one(0, self._rightful)
        if state == "complete" and answer.work.end is None:
            answer.end("stop", {"prompt_tokens": 1, "completion_tokens": answer.tokens})
            if answer.opened:
                self._append(owner, answer, "answered")
            if not self._rightful(owner):
                return
        number = answer.number + 1 if answer.settled else None
        self.row.outcome = Outcome(state, "" if state == "blocked" else answer.text)
        self.row.chunks.clear()
        owner.answer = answer if not closes else None
        if closes:
            self._close(number)

    @precondition(lambda self: self.row.outcome is not None and self._hash())
    @rule()
    def sweep_closes(self) -> None:
        self._close(None)

    def _close(self, number: int | None) -> None:
        outcome = self.row.outcome
        assert outcome is not None
        there = bool(self._hash())
        closer = Closer(None, Sink(), self.log, None)  # type: ignore[arg-type]
        owner = self.row.owner
        self.run(closer.close(self.pk, self.row.attempt, owner, number, outcome, len(outcome.text or "")))
        self._listen()
        after = self._hash()
        assert bool(after) == there
        assert not there or "done" in after

    @precondition(lambda self: self.flushes < MOST_FLUSHES and not self.claim_lost and self._hash())
    @rule()
    def flush(self) -> None:
        """Valkey starts again, empty."""
        self.flushes += 1
        self.valkey.delete(keys.log_hash(self.pk), keys.log_entries(self.pk), keys.log_request(self.pk))
        self.published, self.flushed = BEFORE_ALL, True

    # --- readers ---

    @precondition(lambda self: any(watcher.coming for watcher in self.watchers))
    @rule(who=st.integers(0, 1), fate=st.sampled_from(["arrives", "arrives", "lost", "twice"]))
    def deliver(self, who: int, fate: str) -> None:
        watcher = self.watchers[who]
        if not watcher.coming:
            return
        entry, event = watcher.coming.pop(0)
        if fate == "twice":
            watcher.coming.insert(0, (entry, event))
        if fate != "lost" and self._take(watcher, entry, event) is Action.GAP:
            self.read(who)

    @rule(who=st.integers(0, 1))
    def read(self, who: int) -> None:
        """From the log after `last`; from the row where the log is gone."""
        watcher = self.watchers[who]
        state = self.run(self.log.read(self.pk, watcher.reader.last, count=None))
        if state.exists and (state.entries or not state.done):
            for entry in state.entries:
                assert self._take(watcher, entry.id, decode(entry.v)) is not Action.GAP
        else:
            for entry, event in self.row.after(watcher.reader.last):
                self._take(watcher, entry, event)

    def _take(self, watcher: Watcher, entry: EntryId, event: Event) -> Action:
        shown = watcher.reader.text
        action = watcher.reader.take(entry, event)
        blocked = self.row.outcome is not None and self.row.outcome.state == "blocked"
        assert self.rewound or blocked or watcher.reader.text.startswith(shown)
        return action

    def _listen(self) -> None:
        """What was published since; log and publications never disagree."""
        self.channel.ping("now")
        for message in iter(lambda: self.channel.get_message(timeout=5), None):
            if message["type"] == "pong":
                if head := self._hash():
                    self.shown = self._fold()
                    assert self.published == (int(head["a"]), int(head["n"]))
                return
            if message["type"] == "smessage":
                raw, _, v = message["data"].partition(b" ")
                entry = EntryId.parse(raw.decode())
                stored = self.valkey.xrange(keys.log_entries(self.pk), str(entry), str(entry))
                assert stored
                assert stored[0][1][b"v"] == v
                assert entry > self.published
                self.published = entry
                for watcher in self.watchers:
                    watcher.coming.append((entry, decode(v)))
        raise AssertionError("the channel is silent")

    def _hash(self) -> dict[str, str]:
        return {k.decode(): v.decode() for k, v in self.valkey.hgetall(keys.log_hash(self.pk)).items()}

    def _entries(self) -> list[Entry]:
        return list(self.run(self.log.read(self.pk, BEFORE_ALL, count=None)).entries)

    def _fold(self) -> str:
        return recovery.from_log(self._entries()).progress.text

    @invariant()
    def ids_grow_without_gaps_and_all_of_it_folds(self) -> None:
        """I1, I2, I4: a later attempt's entries come after all of an earlier one's."""
        reader, last = Reader(), BEFORE_ALL
        for entry in self._entries():
            assert (
                entry.id.n == (last.n + 1 if entry.id.attempt == last.attempt else 0)
                or reader.last == BEFORE_ALL
            )
            assert entry.id > last
            assert reader.take(entry.id, decode(entry.v)) not in {Action.GAP, Action.DROP}
            last = entry.id
        head = self._hash()
        assert last == (EntryId(int(head["a"]), int(head["n"])) if head else BEFORE_ALL)

    @invariant()
    def done_means_a_terminal_row(self) -> None:
        """I5, and I8: nothing is left of a blocked text, nor can come back."""
        if "done" not in self._hash():
            return
        assert self.row.outcome is not None
        if self.row.outcome.state == "blocked":
            assert [type(decode(entry.v)) for entry in self._entries()] == [Done]
            assert not self.valkey.exists(keys.log_request(self.pk))

    @invariant()
    def everything_expires(self) -> None:
        self.steps += 1
        names = [keys.log_hash(self.pk), keys.log_entries(self.pk), keys.log_request(self.pk)]
        assert all(self.valkey.ttl(name) > 0 for name in names if self.valkey.exists(name))

    def drain_and_close(self) -> None:
        """The end of every story."""
        if self.row.outcome is None:
            self.claim(0, opens=False)
            owner = self.owners[0]
            while to_open(owner):
                assert owner.answer is not None
                self._open(owner, owner.answer, replied=True)
            self.finish("complete", closes=True)
        self._close(None)
        assert self.row.outcome is not None
        for who, watcher in enumerate(self.watchers):
            watcher.coming.clear()
            self.read(who)
            assert watcher.reader.done is not None
            assert watcher.reader.done.state == self.row.outcome.state
            assert watcher.reader.needs_fetch or watcher.reader.text == self.row.outcome.text


@pytest.fixture
def run() -> Iterator[Any]:
    with asyncio.Runner() as runner:
        yield runner.run


def test_log_under_several_owners(valkey_url: str, run: Any) -> None:
    with redis.Redis.from_url(valkey_url) as valkey:
        client = redis.asyncio.Redis.from_url(valkey_url)
        run_state_machine_as_test(lambda: LogMachine(valkey, run, Log(client)))
        run(client.aclose())
