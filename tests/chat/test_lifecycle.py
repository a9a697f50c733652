"""The table of states on a real Postgres: who may take, end and hand back an answer, also when two try at once.

A dead owner is one whose heartbeat was set back; nothing here waits.
"""

import asyncio
from collections.abc import Iterator
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.db import connection
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from psycopg import sql

from accounts.models import UsageEntry
from chat.lifecycle import Rows, Sink
from chat.models import Generation, GenerationChunk, Message
from chat.statements import Statements
from inference.answer import Piece
from inference.seams import Outcome, Swept
from tests.factories.chat import make_branch, make_conversation, make_generation

pytestmark = pytest.mark.django_db(transaction=True)

USAGE = {"prompt_tokens": 3, "completion_tokens": 2}
DONE = Outcome("complete", "done", 2, "stop", None, USAGE)


class Owned:
    """Both sets of statements on a pool in a loop of its own, called from sync tests."""

    def __init__(self, runner: asyncio.Runner, statements: Statements) -> None:
        self.run = runner.run
        self.statements = statements
        self.rows, self.sink = Rows(statements), Sink(statements)

    def both(self, *calls: Any) -> list[Any]:
        """All at once, each on a connection of its own."""

        async def gather() -> list[Any]:
            return list(await asyncio.gather(*calls))

        return list(self.run(gather()))


@pytest.fixture
def owned() -> Iterator[Owned]:
    with asyncio.Runner() as runner:
        statements = Statements.connect()
        runner.run(statements.open())
        yield Owned(runner, statements)
        runner.run(statements.close())


@pytest.fixture
def answer() -> Generation:
    """A queued answer to a question."""
    return queued_answer()


def queued_answer(**fields: Any) -> Generation:
    _, message = make_branch(make_conversation(), 2)
    Message.objects.filter(pk=message.pk).update(parts=[])
    return make_generation(message, Generation.State.QUEUED, **fields)


def age(table: str, column: str, pk: UUID, seconds: float) -> None:
    """As if it had been written so long ago."""
    ago = sql.SQL("UPDATE {} SET {} = now() - make_interval(secs => %s) WHERE id = %s")
    with connection.cursor() as cursor:
        cursor.execute(ago.format(sql.Identifier(table), sql.Identifier(column)), [seconds, pk])


def dispatcher(owned: Owned) -> UUID:
    owner = uuid4()
    owned.run(owned.rows.register(owner))
    return owner


def dies(owner: UUID) -> None:
    age("chat_dispatcher", "heartbeat_at", owner, 3.5)


def piece(pk: UUID, attempt: int, n_from: int, n_to: int, text: str, at: int = 0) -> Piece:
    return Piece(pk, attempt, n_from, n_to, {"at": at, "text": text, "ids_at": 0, "ids": None, "tokens": 1})


def sweep_kinds(owned: Owned) -> dict[str, set[UUID]]:
    swept: Swept = owned.run(owned.rows.sweep())
    return {
        "requeue": {waiting.pk for waiting in swept.requeue},
        "unclosed": {unclosed.pk for unclosed in swept.unclosed},
        "overdue": set(swept.overdue),
        "expired": set(swept.expired),
    }


# --- two at once ---


def test_two_claim_one_gets_it(owned: Owned, answer: Generation) -> None:
    owners = [dispatcher(owned) for _ in range(4)]
    claims = owned.both(*(owned.rows.claim(answer.pk, owner) for owner in owners))
    won = [(owner, claim) for owner, claim in zip(owners, claims, strict=True) if claim is not None]
    assert len(won) == 1
    answer.refresh_from_db()
    assert (answer.owner, answer.attempt, answer.state) == (won[0][0], 1, "running")


def test_two_claim_from_a_dead_owner_one_gets_it(owned: Owned, answer: Generation) -> None:
    dead, *owners = (dispatcher(owned) for _ in range(4))
    assert owned.run(owned.rows.claim(answer.pk, dead))
    dies(dead)
    claims = owned.both(*(owned.rows.claim(answer.pk, owner) for owner in owners))
    assert sorted(claim.attempt for claim in claims if claim is not None) == [2]


def test_an_end_and_a_claim_at_once(owned: Owned, answer: Generation) -> None:
    """An owner thought dead ends its answer while another takes it: exactly one of them has it."""
    old, new = dispatcher(owned), dispatcher(owned)
    assert owned.run(owned.rows.claim(answer.pk, old))
    dies(old)
    finished, claim = owned.both(owned.sink.finish(answer.pk, 1, old, DONE), owned.rows.claim(answer.pk, new))
    assert finished == (claim is None)
    answer.refresh_from_db()
    assert (answer.state, answer.attempt) == (("complete", 1) if finished else ("running", 2))
    assert UsageEntry.objects.count() == int(finished)


def test_finished_twice_at_once_is_once(owned: Owned, answer: Generation) -> None:
    owner = dispatcher(owned)
    owned.run(owned.rows.claim(answer.pk, owner))
    ends = owned.both(*(owned.sink.finish(answer.pk, 1, owner, DONE) for _ in range(4)))
    assert sorted(ends) == [False, False, False, True]
    assert UsageEntry.objects.get().generation_id == answer.pk


def test_a_stop_and_a_claim_of_a_queued_row_at_once(owned: Owned, answer: Generation) -> None:
    owner = dispatcher(owned)
    stopped, claim = owned.both(
        owned.sink.finish(answer.pk, 0, None, Outcome("stopped", None)), owned.rows.claim(answer.pk, owner)
    )
    assert stopped == (claim is None)


async def somebody_waits(watch: Any) -> bool:
    """Whether a statement waits for another's lock."""
    found = await watch.execute("SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock'")
    return bool(found.rowcount)


async def checkpoint_while_locked(owned: Owned, answer: Generation, owner: UUID, end: str) -> set[UUID]:
    """A checkpoint that begins while `end` (a statement of another connection) has not committed yet."""
    pool = owned.statements._pool
    async with pool.connection() as other:
        await other.execute("BEGIN")
        await other.execute(end, [answer.pk])
        storing = asyncio.create_task(owned.sink.checkpoint(owner, [piece(answer.pk, 1, 0, 1, "late")]))
        async with pool.connection() as watch:
            while not (storing.done() or await somebody_waits(watch)):
                pass
        await other.execute("COMMIT")
        return await storing


@pytest.mark.parametrize(
    "end",
    [
        "UPDATE chat_generation SET state = 'blocked' WHERE id = %s",
        "UPDATE chat_generation SET attempt = attempt + 1, owner = NULL WHERE id = %s",
    ],
)
def test_a_checkpoint_that_meets_an_end_under_way_stores_nothing(
    owned: Owned, answer: Generation, end: str
) -> None:
    """I8: no text of a blocked answer is left in a chunk."""
    owner = dispatcher(owned)
    owned.run(owned.rows.claim(answer.pk, owner))
    assert owned.run(checkpoint_while_locked(owned, answer, owner, end)) == set()
    assert not GenerationChunk.objects.exists()


def test_closing_takes_the_chunks_that_the_end_did_not_see(owned: Owned, answer: Generation) -> None:
    owner = dispatcher(owned)
    owned.run(owned.rows.claim(answer.pk, owner))
    owned.run(owned.sink.finish(answer.pk, 1, owner, DONE))
    GenerationChunk.objects.create(generation=answer, attempt=1, n_from=0, n_to=1, body={})
    owned.run(owned.statements.run("close", pk=answer.pk))
    assert not GenerationChunk.objects.exists()


# --- one after the other ---


def test_a_reclaim_whose_reply_was_lost_is_made_again(owned: Owned, answer: Generation) -> None:
    """The owner alone tells whose it is: its pk is new at each start."""
    owner = dispatcher(owned)
    owned.run(owned.rows.claim(answer.pk, owner))
    assert owned.run(owned.rows.reclaim(answer.pk, 1, owner, above=4)) == 5
    assert owned.run(owned.rows.reclaim(answer.pk, 1, owner, above=4)) == 6
    assert owned.run(owned.rows.reclaim(answer.pk, 1, uuid4(), above=9)) is None
    assert owned.run(owned.rows.claim(answer.pk, owner)).attempt == 7
    assert owned.run(owned.rows.reclaim(answer.pk, 8, owner, above=0)) is None


def test_a_late_checkpoint_replaces_nothing_that_reaches_further(owned: Owned, answer: Generation) -> None:
    owner = dispatcher(owned)
    owned.run(owned.rows.claim(answer.pk, owner))
    for stored in (piece(answer.pk, 1, 0, 4, "abcd"), piece(answer.pk, 1, 0, 2, "ab")):
        assert owned.run(owned.sink.checkpoint(owner, [stored])) == {answer.pk}
    assert [(chunk.n_to, chunk.body["text"]) for chunk in GenerationChunk.objects.all()] == [(4, "abcd")]


def test_a_checkpoint_stores_what_is_ours_and_no_more(owned: Owned) -> None:
    owner, other = dispatcher(owned), dispatcher(owned)
    mine, theirs, ended = queued_answer(), queued_answer(), queued_answer()
    for row, who in ((mine, owner), (theirs, other), (ended, owner)):
        owned.run(owned.rows.claim(row.pk, who))
    owned.run(owned.sink.finish(ended.pk, 1, owner, DONE))
    pieces = [piece(row.pk, 1, 0, 1, "x") for row in (mine, theirs, ended)] + [piece(mine.pk, 2, 0, 1, "x")]
    assert owned.run(owned.sink.checkpoint(owner, pieces)) == {mine.pk}
    assert [(chunk.generation_id, chunk.attempt) for chunk in GenerationChunk.objects.all()] == [(mine.pk, 1)]
    begun = Generation.objects.filter(first_token_at__isnull=False)
    assert [row.pk for row in begun] == [mine.pk]


def test_who_waits_is_claimed_once_the_other_ended_and_put_by_its_close(
    owned: Owned, answer: Generation
) -> None:
    owner = dispatcher(owned)
    waiting = queued_answer(waits_for=answer)
    owned.run(owned.rows.claim(answer.pk, owner))
    assert owned.run(owned.rows.claim(waiting.pk, owner)) is None
    age("chat_generation", "created_at", waiting.pk, 5)
    assert sweep_kinds(owned)["requeue"] == set()
    owned.run(owned.sink.finish(answer.pk, 1, owner, Outcome("stopped", "text")))
    for _ in range(2):
        rows = owned.run(owned.statements.run("close", pk=answer.pk))
        assert [row[3] for row in rows] == [waiting.pk]
    assert sweep_kinds(owned)["requeue"] == {waiting.pk}
    assert owned.run(owned.rows.claim(waiting.pk, owner)).attempt == 1


def test_a_deleted_message_ends_nowhere(owned: Owned, answer: Generation) -> None:
    owner = dispatcher(owned)
    owned.run(owned.rows.claim(answer.pk, owner))
    owned.run(owned.sink.checkpoint(owner, [piece(answer.pk, 1, 0, 1, "x")]))
    Message.objects.all().delete()
    assert owned.run(owned.sink.checkpoint(owner, [piece(answer.pk, 1, 2, 3, "y")])) == set()
    assert not owned.run(owned.sink.finish(answer.pk, 1, owner, DONE))
    assert owned.run(owned.rows.hand_back(answer.pk, 1, owner, failures=0)) is None
    assert [model.objects.count() for model in (Message, Generation, UsageEntry)] == [0, 0, 0]


def test_what_the_sweep_finds(owned: Owned) -> None:
    owner, dead = dispatcher(owned), dispatcher(owned)
    fresh, old, late, handed, stopped, orphan, mine, overdue, ended = (queued_answer() for _ in range(9))
    for row in (handed, stopped):
        owned.run(owned.rows.claim(row.pk, owner))
        owned.run(owned.rows.hand_back(row.pk, 1, owner, failures=0))
    for row, who in ((orphan, dead), (mine, owner), (overdue, dead), (ended, owner)):
        owned.run(owned.rows.claim(row.pk, who))
    for row in (old, late, handed, stopped):
        age("chat_generation", "created_at", row.pk, 3)
    age("chat_generation", "start_by", late.pk, 1)
    age("chat_generation", "stop_requested_at", stopped.pk, 1)
    age("chat_generation", "deadline_at", overdue.pk, 1)
    owned.run(owned.sink.finish(ended.pk, 1, owner, DONE))
    age("chat_generation", "finished_at", ended.pk, 6)
    dies(dead)
    assert sweep_kinds(owned) == {
        "requeue": {old.pk, handed.pk, orphan.pk},
        "expired": {late.pk},
        "overdue": {stopped.pk, overdue.pk},
        "unclosed": {ended.pk},
    }
    assert fresh.pk not in sweep_kinds(owned)["requeue"]
    assert mine.pk not in sweep_kinds(owned)["requeue"]


def test_the_heartbeat_names_what_was_asked_to_stop(owned: Owned) -> None:
    owner, other = dispatcher(owned), dispatcher(owned)
    runs, stops, theirs = (queued_answer() for _ in range(3))
    for row, who in ((runs, owner), (stops, owner), (theirs, other)):
        owned.run(owned.rows.claim(row.pk, who))
    for row in (stops, theirs):
        age("chat_generation", "stop_requested_at", row.pk, 0)
    assert owned.run(owned.rows.heartbeat(owner)) == [stops.pk]
    dies(owner)
    assert owned.run(owned.rows.claim(runs.pk, other)) is not None
    owned.run(owned.rows.heartbeat(owner))
    assert owned.run(owned.rows.claim(stops.pk, other)) is None
    owned.run(owned.rows.leave(owner))
    assert owned.run(owned.rows.claim(stops.pk, other)) is not None


# --- any order ---


class RowMachine(RuleBasedStateMachine):
    """One answer, three dispatchers that come and go, against what the table of states says."""

    def __init__(self, owned: Owned) -> None:
        super().__init__()
        self.owned = owned
        self.pk = queued_answer().pk
        self.owners = [dispatcher(owned) for _ in range(3)]
        self.alive = [True] * 3
        self.state, self.attempt, self.owner, self.text = "queued", 0, -1, ""
        self.tokens: dict[int, int] = {}

    def _pk(self, who: int) -> UUID | None:
        return None if who < 0 else self.owners[who]

    def _mine(self, who: int, attempt: int) -> bool:
        return (self.state, self.owner, self.attempt) == ("running", who, attempt)

    def _known(self, who: int) -> int:
        """The attempt that a dispatcher believes it runs."""
        return self.tokens.get(who, self.attempt)

    @rule(who=st.integers(0, 2))
    def claim(self, who: int) -> None:
        free = self.state == "queued" or (
            self.state == "running" and (self.owner == who or not self.alive[self.owner])
        )
        claim = self.owned.run(self.owned.rows.claim(self.pk, self.owners[who]))
        assert (claim is not None) == free
        if claim is not None:
            self.state, self.owner, self.attempt = "running", who, self.attempt + 1
            self.tokens[who] = self.attempt
            assert claim.attempt == self.attempt

    @rule(who=st.integers(0, 2), above=st.integers(0, 5))
    def reclaim(self, who: int, above: int) -> None:
        mine = self._mine(who, self.attempt) and self._known(who) <= self.attempt
        got = self.owned.run(self.owned.rows.reclaim(self.pk, self._known(who), self.owners[who], above))
        assert got == (max(self.attempt, above) + 1 if mine else None)
        if got is not None:
            self.attempt = self.tokens[who] = got

    @rule(who=st.integers(0, 2), failures=st.integers(0, 3))
    def hand_back(self, who: int, failures: int) -> None:
        mine = self._mine(who, self._known(who))
        call = self.owned.rows.hand_back(self.pk, self._known(who), self.owners[who], failures=failures)
        assert (self.owned.run(call) is not None) == mine
        if mine:
            self.state, self.owner = "queued", -1

    @rule(who=st.integers(0, 2), n=st.integers(0, 9))
    def checkpoint(self, who: int, n: int) -> None:
        mine = self._mine(who, self._known(who))
        stored = self.owned.sink.checkpoint(
            self.owners[who], [piece(self.pk, self._known(who), n, n, "x", n)]
        )
        assert self.owned.run(stored) == ({self.pk} if mine else set())

    @rule(who=st.integers(-1, 2), state=st.sampled_from(["complete", "stopped", "failed", "blocked"]))
    def finish(self, who: int, state: str) -> None:
        attempt = self._known(who) if who >= 0 else self.attempt
        mine = self.state == "queued" if who < 0 else self._mine(who, attempt)
        outcome = Outcome(state, f"{state} {attempt}", 1, None, None, USAGE)
        assert self.owned.run(self.owned.sink.finish(self.pk, attempt, self._pk(who), outcome)) == mine
        if mine:
            self.state, self.text = state, str(outcome.text)

    @rule(who=st.integers(0, 2), dead=st.booleans())
    def live_or_die(self, who: int, dead: bool) -> None:
        self.alive[who] = not dead
        if dead:
            dies(self.owners[who])
        else:
            self.owned.run(self.owned.rows.heartbeat(self.owners[who]))

    @precondition(lambda self: self.state not in {"queued", "running"})
    @rule()
    def close(self) -> None:
        self.owned.run(self.owned.statements.run("close", pk=self.pk))

    @invariant()
    def the_row_is_as_the_table_says(self) -> None:
        row = Generation.objects.select_related("message").get(pk=self.pk)
        assert (row.state, row.attempt) == (self.state, self.attempt)
        assert row.message is not None
        assert row.message.text == self.text
        ended = self.state not in {"queued", "running"}
        assert UsageEntry.objects.filter(generation_id=self.pk).count() == int(ended)
        assert (row.finished_at is not None) == ended
        if ended:
            assert row.request is None
            assert not row.chunks.exists()
        else:
            assert row.owner == self._pk(self.owner)


def test_any_order(owned: Owned) -> None:
    fewer = settings(max_examples=max(10, settings().max_examples // 5), stateful_step_count=25)
    run_state_machine_as_test(lambda: RowMachine(owned), settings=fewer)
