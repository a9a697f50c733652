"""Claims, hand-backs, checkpoints and ends of one answer in any order, against the table of states (protocol 2)."""

from collections.abc import Iterator
from uuid import UUID

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from accounts.models import UsageEntry
from chat.models import Generation
from inference.seams import Outcome
from tests.chat.owned import USAGE, Owned, dies, dispatcher, piece, pooled, queued_answer

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def owned() -> Iterator[Owned]:
    with pooled() as made:
        yield made


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
