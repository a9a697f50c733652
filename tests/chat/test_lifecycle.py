"""The table of states on a real Postgres: who may take, end and hand back an answer, also when two try at once.

A dead owner is one whose heartbeat was set back; nothing here waits.
"""

import asyncio
from collections.abc import Iterator
from typing import Any
from uuid import UUID, uuid4

import pytest

from accounts.models import UsageEntry
from chat.models import Generation, GenerationChunk, Message
from inference.seams import Outcome, Swept
from tests.chat.owned import USAGE, Owned, age, dies, dispatcher, piece, pooled, queued_answer
from tests.factories.accounts import make_organisation

pytestmark = pytest.mark.django_db(transaction=True)

DONE = Outcome("complete", "done", 2, "stop", None, USAGE)


@pytest.fixture
def owned() -> Iterator[Owned]:
    with pooled() as made:
        yield made


@pytest.fixture
def answer() -> Generation:
    """A queued answer to a question."""
    return queued_answer()


def sweep_kinds(owned: Owned) -> dict[str, set[UUID]]:
    swept: Swept = owned.run(owned.rows.sweep())
    return {
        "requeue": {waiting.entry.pk for waiting in swept.requeue},
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


def test_the_sweep_tells_the_queue_all_that_it_must_know(owned: Owned) -> None:
    waits, handed, batch = (queued_answer(priority=name) for name in ("api", "interactive", "batch"))
    Generation.objects.filter(pk__in=[handed.pk, batch.pk]).update(attempt=2)
    organisation = make_organisation(waits.user, weight=4)
    for one, seconds in ((waits, 9), (handed, 7), (batch, 5)):
        age("chat_generation", "created_at", one.pk, seconds)
    found = {one.entry.pk: one for one in owned.run(owned.rows.sweep()).requeue}
    assert list(found) == [waits.pk, handed.pk, batch.pk]
    model, entry = found[waits.pk]
    assert (model, entry.klass, entry.sharer, entry.user, entry.weight) == (
        ("smollm2", "api", str(organisation.pk), str(waits.user_id), 4)
    )
    assert entry.prefix == str(waits.message.conversation_id)
    assert 0 < entry.left_ms <= 30_000
    entry = found[handed.pk].entry
    assert (entry.klass, entry.sharer, entry.weight) == ("begun", str(handed.user_id), 1)
    assert 30_000 < entry.left_ms <= 600_000
    assert found[batch.pk].entry.klass == "batch"
