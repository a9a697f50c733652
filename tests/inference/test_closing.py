"""The end of an answer while a store hesitates: readers get `done` once it is back, not when a sweep comes by."""

from typing import Any
from uuid import UUID, uuid4

import pytest
from redis.exceptions import ConnectionError as ValkeyGone

from inference import closing
from inference.answer import Claim
from inference.closing import Closer
from inference.seams import Outcome, RowsDown, Waiting
from inference.streams import Answered

COMPLETE = Outcome("complete", "text", 1, "stop", None, {"prompt_tokens": 1, "completion_tokens": 1})


class Stores:
    """A log, rows and a sink in one, which fail as often as told."""

    def __init__(self, log_fails: int, rows_fail: int) -> None:
        self._log_fails, self._rows_fail = log_fails, rows_fail
        self.finished = 0
        self.done: list[bytes] = []
        self.closed = False

    async def finish(self, pk: UUID, attempt: int, owner: UUID, *more: Any, **options: Any) -> Any:
        if isinstance(more[0], Outcome):
            self.finished += 1
            return True
        self._log_fails -= 1
        if self._log_fails >= 0:
            raise ValkeyGone
        self.done.append(more[1])
        return Answered("ok", 1)

    async def close(self, pk: UUID, outcome: Outcome) -> list[Waiting]:
        self._rows_fail -= 1
        if self._rows_fail >= 0:
            raise RowsDown
        self.closed = True
        return []


@pytest.mark.parametrize(("log_fails", "rows_fail"), [(2, 0), (0, 2), (1, 1)])
async def test_a_store_that_is_away_for_a_moment_is_asked_again(
    monkeypatch: pytest.MonkeyPatch, log_fails: int, rows_fail: int
):
    monkeypatch.setattr(closing, "RETRY_S", 0)
    stores: Any = Stores(log_fails, rows_fail)
    claim = Claim(uuid4(), 1, "m", "1", None, 0, False, 60.0)
    assert await Closer(stores, stores, stores, None).finish(claim, 1, uuid4(), 1, COMPLETE)
    assert stores.finished == 1
    assert stores.done
    assert stores.closed


async def test_one_that_stays_away_is_left_to_the_sweep(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(closing, "RETRY_S", 0)
    monkeypatch.setattr(closing, "CLOSE_S", 0)
    stores: Any = Stores(10**6, 0)
    claim = Claim(uuid4(), 1, "m", "1", None, 0, False, 60.0)
    assert await Closer(stores, stores, stores, None).finish(claim, 1, uuid4(), 1, COMPLETE)
    assert not stores.closed
