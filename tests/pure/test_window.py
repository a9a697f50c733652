"""The window: it fits, it keeps the newest, and its start stays still between compactions."""

from itertools import pairwise
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.core import window
from memory.core.values import Turn
from memory.errors import NothingToAnswer
from tests.factories.memory import alternating, histories

OVERHEAD = 4
budgets = st.integers(20, 600)


def used(turns: list[Turn]) -> int:
    return sum(window.cost(turn, OVERHEAD) for turn in turns)


def pks(turns: list[Turn]) -> list[object]:
    return [turn.pk for turn in turns]


def prompts_of(history: list[Turn]) -> list[list[Turn]]:
    """The history as it stood at each user turn."""
    return [history[: index + 1] for index, turn in enumerate(history) if turn.role == "user"]


@given(histories(), budgets)
def test_it_fits_or_is_only_the_newest(history: list[Turn], budget: int) -> None:
    chosen = window.fit(history, budget, OVERHEAD)
    assert used(chosen) <= budget or pks(chosen) == [history[-1].pk]


@given(histories(), budgets)
def test_newest_is_there_and_a_user_turn_begins_it(history: list[Turn], budget: int) -> None:
    chosen = window.fit(history, budget, OVERHEAD)
    assert chosen[-1] == history[-1]
    assert chosen[0].role == "user"


@given(histories(), budgets)
def test_order_is_kept_and_nothing_between_is_missing_but_what_is_empty_or_too_big(
    history: list[Turn], budget: int
) -> None:
    chosen = window.fit(history, budget, OVERHEAD)
    since = history[history.index(chosen[0]) :]
    expected = [turn for turn in since[:-1] if turn.text and window.cost(turn, OVERHEAD) <= budget]
    assert chosen == [*expected, history[-1]]


@given(histories(), budgets)
def test_all_of_a_history_that_fits(history: list[Turn], budget: int) -> None:
    whole = window.speaking(history)
    if used(list(whole)) <= budget:
        assert window.fit(history, budget, OVERHEAD) == whole


@given(histories(biggest=15), st.integers(40, 600))
def test_start_stays_until_it_overflows_and_then_leaves_room(history: list[Turn], budget: int) -> None:
    before: list[Turn] | None = None
    for so_far in prompts_of(history):
        chosen = list(window.fit(so_far, budget, OVERHEAD))
        if before is not None and chosen[0] != before[0]:
            grown = [turn for turn in so_far[so_far.index(before[0]) :] if turn.text]
            assert used(grown) > budget
            assert used(chosen) <= window.HIGH_MARK * budget
            assert so_far.index(chosen[0]) > so_far.index(before[0])
        before = chosen


@given(histories(biggest=15), st.integers(40, 600), st.data())
def test_same_window_when_loaded_only_from_an_earlier_windows_start(
    history: list[Turn], budget: int, data: st.DataObject
) -> None:
    earlier = data.draw(st.sampled_from(prompts_of(history)))
    start = window.fit(earlier, budget, OVERHEAD)[0]
    loaded = history[history.index(start) :]
    assert window.fit(loaded, budget, OVERHEAD) == window.fit(history, budget, OVERHEAD)


def test_a_long_conversation_compacts_seldom() -> None:
    history = alternating(*[16] * 401)
    starts = [window.fit(so_far, 1000, OVERHEAD)[0].pk for so_far in prompts_of(history)]
    changes = sum(one != other for one, other in pairwise(starts))
    assert len(starts) == 201
    # 51 turns of 20 tokens are too many, and a jump leaves 25 to 39 of them.
    assert 350 // 26 <= changes <= 350 // 12


def test_the_window_does_not_depend_on_how_much_older_history_was_loaded() -> None:
    """A loader with a limit drops an old turn for each new one; the window's start must not follow it."""
    sizes = Random(1)
    history = alternating(*[sizes.randint(1, 60) for _ in range(1501)])
    prompts = prompts_of(history)[300:]
    whole = [window.fit(so_far, 1900, OVERHEAD)[0].pk for so_far in prompts]
    limited = [window.fit(so_far[-400:], 1900, OVERHEAD)[0].pk for so_far in prompts]
    assert limited == whole
    assert 20 < len(set(whole)) < 60


def test_jumps_to_the_best_landmark_between_the_marks() -> None:
    history = alternating(*[6] * 11)
    # 11 turns of 10 are over 100; turns 4 and 6 begin what fills 50 to 80, and 4 has the higher checksum.
    assert pks(window.fit(history, 100, OVERHEAD)) == [4, 5, 6, 7, 8, 9, 10]
    assert pks(window.fit(history, 110, OVERHEAD)) == list(range(11))


def test_a_turn_that_never_fitted_does_not_take_the_rest_along() -> None:
    history = [
        *alternating(5, 5),
        Turn(2, "user", "huge", 5000),
        Turn(3, "assistant", ""),
        Turn(4, "user", "x", 1),
    ]
    assert pks(window.fit(history, 100, OVERHEAD)) == [0, 1, 4]


def test_a_greeting_of_the_assistant_is_not_the_beginning() -> None:
    history = [Turn(0, "assistant", "Hello!", 2), Turn(1, "user", "Hi", 1)]
    assert pks(window.fit(history, 100, OVERHEAD)) == [1]


@pytest.mark.parametrize(
    "history",
    [
        pytest.param([], id="empty"),
        pytest.param([Turn(0, "user", " \n", 1)], id="blank"),
        pytest.param(alternating(3, 3), id="answered"),
        pytest.param([Turn(0, "assistant", "Hello!", 2)], id="assistant only"),
    ],
)
def test_nothing_to_answer(history: list[Turn]) -> None:
    with pytest.raises(NothingToAnswer):
        window.fit(history, 100, OVERHEAD)


def test_an_uncounted_turn_is_a_mistake_of_the_caller() -> None:
    with pytest.raises(ValueError, match="turn 0 was not counted"):
        window.fit([Turn(0, "user", "Hi")], 100, OVERHEAD)
