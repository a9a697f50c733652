"""What an earlier attempt left behind: from a log, from checkpoints, and where the two agree."""

from typing import Any

import msgspec
import pytest

from inference.core import recovery
from inference.core.events import (
    BEFORE_ALL,
    Delta,
    Done,
    EntryId,
    Event,
    Extra,
    Open,
    Snapshot,
    encode,
    text_parts,
)
from inference.core.recovery import Recovered
from inference.core.values import Progress


def fold(*entries: tuple[str, Event, Extra | None]) -> Recovered:
    """A log with these entries."""
    return recovery.from_log(
        (EntryId.parse(raw), encode(event), msgspec.json.encode(extra) if extra else b"")
        for raw, event, extra in entries
    )


def delta(raw: str, text: str, ids: list[int] | None, tokens: int) -> tuple[str, Event, Extra]:
    return raw, Delta(0, text), Extra(ids, tokens)


OPEN = ("1-0", Open(0, "start"), Extra(None, 0))


def test_an_empty_log_says_nothing() -> None:
    assert fold() == Recovered(BEFORE_ALL, Progress("", [], 0), None)


def test_text_ids_and_tokens_of_one_attempt() -> None:
    found = fold(OPEN, delta("1-1", "He", [1], 1), delta("1-2", "llo", [2, 3], 3))
    assert found == Recovered(EntryId(1, 2), Progress("Hello", [1, 2, 3], 3), None)


def test_one_unknown_id_makes_all_unknown() -> None:
    found = fold(OPEN, delta("1-1", "He", [1], 1), delta("1-2", "l", None, 2), delta("1-3", "lo", [3], 3))
    assert found.progress == Progress("Hello", None, 3)


def test_an_open_that_keeps_all_keeps_the_ids_and_one_that_cuts_loses_them() -> None:
    before = (OPEN, delta("1-1", "abc", [1], 1))
    kept = fold(*before, ("2-0", Open(3, "resumed"), Extra(None, 1)), delta("2-1", "d", [2], 2))
    assert kept.progress == Progress("abcd", [1, 2], 2)
    cut = fold(*before, ("2-0", Open(2, "resumed"), Extra(None, 1)), delta("2-1", "d", [2], 2))
    assert cut.progress == Progress("abd", None, 2)


def test_a_snapshot_brings_its_own_ids() -> None:
    snapshot = ("3-0", Snapshot(text_parts("xy")), Extra([7, 8], 2))
    found = fold(OPEN, delta("1-1", "abc", None, 1), snapshot, delta("3-1", "z", [9], 3))
    assert found == Recovered(EntryId(3, 1), Progress("xyz", [7, 8, 9], 3), None)


def test_the_engines_end_is_found() -> None:
    end = {"reason": "stop", "usage": {"prompt_tokens": 1, "completion_tokens": 2}}
    found = fold(OPEN, delta("1-1", "a", [1], 1), ("1-2", Delta(0, "b"), Extra([2], 2, end)))
    assert found == Recovered(EntryId(1, 2), Progress("ab", [1, 2], 2), end)


@pytest.mark.parametrize("state", ["complete", "stopped", "failed"])
def test_a_log_that_ended_says_how(state: str) -> None:
    """Its row may have lost that commit: the next attempt commits the same end."""
    done = Done(state, 1, "stop", {"prompt_tokens": 1, "completion_tokens": 1}, "deadline")
    found = fold(OPEN, delta("1-1", "a", [1], 1), ("1-2", done, None))
    assert found.progress == Progress("a", [1], 1)
    assert found.end == {"state": state, "reason": "stop", "usage": done.usage, "error_code": "deadline"}


def test_a_blocked_log_has_no_text() -> None:
    found = fold(OPEN, delta("1-1", "a", [1], 1), ("1-2", Done("blocked", 0), None))
    assert found.progress.text == ""
    assert found.end is not None
    assert found.end["state"] == "blocked"


def row(at: int, text: str, ids_at: int, ids: list[int] | None, tokens: int, **more: Any) -> dict[str, Any]:
    return {"at": at, "text": text, "ids_at": ids_at, "ids": ids, "tokens": tokens, **more}


def test_checkpoints_stand_on_each_other_over_attempts() -> None:
    found = recovery.from_checkpoints(
        [(1, 3, row(0, "ab", 0, [1, 2], 2)), (1, 5, row(2, "c", 2, [3], 3)), (2, 1, row(2, "X", 2, [9], 3))]
    )
    assert found == Recovered(EntryId(2, 1), Progress("abX", [1, 2, 9], 3), None)


def test_a_checkpoint_with_nothing_below_it_is_passed_over() -> None:
    found = recovery.from_checkpoints(
        [(1, 5, row(2, "c", 2, [3], 3)), (1, 9, row(0, "abcd", 0, [1, 2, 3, 4], 4))]
    )
    assert found == Recovered(EntryId(1, 9), Progress("abcd", [1, 2, 3, 4], 4), None)


def test_unknown_ids_stay_unknown_until_all_are_written_again() -> None:
    rows = [(1, 1, row(0, "a", 0, None, 1)), (1, 2, row(1, "b", 1, [2], 2))]
    assert recovery.from_checkpoints(rows).progress == Progress("ab", None, 2)
    rows.append((2, 1, row(0, "abc", 0, [1, 2, 3], 3)))
    assert recovery.from_checkpoints(rows).progress == Progress("abc", [1, 2, 3], 3)


def test_the_end_is_in_the_last_checkpoint() -> None:
    end = {"reason": "stop", "usage": {}}
    found = recovery.from_checkpoints([(1, 1, row(0, "a", 0, [1], 1)), (1, 2, row(1, "", 1, [], 1, end=end))])
    assert (found.progress.text, found.end) == ("a", end)


@pytest.mark.parametrize(
    ("found", "saved", "expected"),
    [
        (Progress("abc", [1, 2, 3], 3), Progress("ab", [1, 2], 2), (2, 2)),
        (Progress("abc", [1, 2, 3], 3), Progress("", [], 0), (0, 0)),
        (Progress("abc", [1, 2, 3], 3), Progress("abc", [1, 2, 3], 3), (3, 3)),
        (Progress("abc", None, 3), Progress("ab", [1, 2], 2), (2, 0)),
        (Progress("abc", None, 3), Progress("ab", None, 2), (2, 0)),
        (Progress("abc", [1, 2, 3], 3), Progress("ab", None, 2), (0, 0)),
        (Progress("abc", [1, 2, 3], 3), Progress("ab", [1, 9], 2), (0, 0)),
        (Progress("abc", [1, 2, 3], 3), Progress("aX", [1, 2], 2), (0, 0)),
    ],
)
def test_what_need_not_be_saved_again(found: Progress, saved: Progress, expected: tuple[int, int]) -> None:
    assert recovery.common(found, saved) == expected
