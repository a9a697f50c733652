"""Fair shares: between sharers by weight, within one between its people, and no class waits for ever."""

from collections import Counter
from collections.abc import Sequence
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from inference.core.fair import AGE_MS, CLASSES, Class, Entry, ranked
from tests.fair_line import Line

FAR_MS = 10**9


def entry(
    n: int,
    sharer: str = "",
    user: str = "",
    *,
    klass: Class = "interactive",
    weight: int = 1,
    at: int | None = None,
) -> Entry:
    return Entry(UUID(int=n), klass, sharer or user, user or sharer, weight, n if at is None else at, FAR_MS)


def line_of(entries: Sequence[Entry]) -> Line:
    line = Line()
    for one in entries:
        line.put(one)
    return line


def served(line: Line, most: int = 10**6) -> list[Entry]:
    found = []
    while len(found) < most and (one := line.serve()) is not None:
        found.append(one)
    return found


sharers = st.sampled_from("ABCD")
users = st.sampled_from("xyz")
WEIGHTS = {"A": 1, "B": 2, "C": 3, "D": 1}
asked = st.lists(st.tuples(sharers, users, st.integers(0, 50)), max_size=40).map(
    lambda rows: [
        entry(n, sharer, sharer + user, weight=WEIGHTS[sharer], at=at)
        for n, (sharer, user, at) in enumerate(rows)
    ]
)


@given(asked)
def test_the_order_shown_is_the_order_served(entries: list[Entry]) -> None:
    line = line_of(entries)
    order = line.places()
    assert [one.pk for one in served(line)] == order
    assert sorted(order) == sorted(one.pk for one in entries)


@given(asked, st.integers(0, 30), asked)
def test_an_order_shown_in_the_middle_holds_too(first: list[Entry], taken: int, more: list[Entry]) -> None:
    line = line_of(first)
    served(line, taken)
    for one in more:
        line.put(one._replace(pk=UUID(int=one.pk.int + 1000)))
    order = line.places()
    assert [one.pk for one in served(line)] == order


@given(asked)
def test_one_persons_answers_keep_their_order(entries: list[Entry]) -> None:
    order = [one.entry for one in ranked(entries, {})]
    for user in {one.user for one in entries}:
        mine = [(one.enqueued_at_ms, str(one.pk)) for one in order if one.user == user]
        assert mine == sorted(mine)


@given(st.dictionaries(sharers, st.integers(1, 5), min_size=2), st.integers(1, 60))
def test_shares_follow_the_weights_while_all_wait(weights: dict[str, int], turns: int) -> None:
    """At any moment, nobody has had a whole turn's worth more than another who waited all along."""
    entries = [
        entry(number * 1000 + n, sharer, weight=weight)
        for number, (sharer, weight) in enumerate(weights.items())
        for n in range(turns)
    ]
    had = Counter(one.sharer for one in served(line_of(entries), turns))
    if max(had.values(), default=0) < turns:
        norms = [had[sharer] / weight for sharer, weight in weights.items()]
        slack = max(1 / weight for weight in weights.values())
        assert max(norms) - min(norms) <= slack + 1e-9


@given(st.integers(1, 200), st.integers(0, 100))
def test_who_asks_once_waits_for_one_turn_of_a_flood_at_most(flood: int, taken: int) -> None:
    line = line_of([entry(n, "loud") for n in range(flood)])
    served(line, taken)
    line.put(entry(1000, "quiet"))
    assert "quiet" in [one.sharer for one in served(line, 2)]


def test_a_loud_colleague_takes_only_their_half_of_the_organisation() -> None:
    entries = [entry(n, "org", "loud") for n in range(20)] + [
        entry(100 + n, "org", "quiet") for n in range(5)
    ]
    first = served(line_of(entries), 10)
    assert Counter(one.user for one in first) == {"loud": 5, "quiet": 5}


def test_many_people_in_one_organisation_are_no_more_than_another_organisation() -> None:
    entries = [entry(n, "crowd", f"p{n}") for n in range(20)] + [entry(100 + n, "small") for n in range(10)]
    first = served(line_of(entries), 10)
    assert Counter(one.sharer for one in first) == {"crowd": 5, "small": 5}


def test_nobody_saves_up_turns_while_away() -> None:
    line = line_of([entry(n, "busy") for n in range(100)])
    served(line, 50)
    for n in range(50):
        line.put(entry(1000 + n, "new"))
    assert Counter(one.sharer for one in served(line, 20)) == {"busy": 10, "new": 10}


def test_without_a_flood_it_is_the_order_of_arrival() -> None:
    entries = [entry(n, f"person{n}") for n in (3, 1, 2, 0)]
    assert [one.enqueued_at_ms for one in served(line_of(entries))] == [0, 1, 2, 3]


def test_classes_go_in_their_order() -> None:
    entries = [entry(n, "a", klass=klass) for n, klass in enumerate(reversed(CLASSES))]
    assert [one.klass for one in served(line_of(entries))] == list(CLASSES)


@given(st.integers(200, 3000))
def test_batch_and_api_are_served_however_much_comes_before_them(step_ms: int) -> None:
    """A slot comes free each step and interactive work never ends: each class has its turn in time."""
    line = line_of([entry(0, "a", klass="api"), entry(1, "b", klass="batch")])
    waited: dict[Class, int] = {}
    for n in range(2 * AGE_MS["batch"] // step_ms + 2):
        line.put(entry(1000 + n, f"i{n}"))
        one = line.serve()
        assert one is not None
        waited.setdefault(one.klass, line.now_ms)
        line.now_ms += step_ms
    assert waited["api"] <= AGE_MS["api"] + step_ms
    assert waited["batch"] <= AGE_MS["batch"] + 2 * step_ms


def test_a_flood_of_old_batch_work_gets_one_turn_each_time_and_no_more() -> None:
    line = line_of([entry(n, "b", klass="batch") for n in range(50)])
    line.now_ms = 100 * AGE_MS["batch"]
    for n in range(10):
        line.put(entry(1000 + n, f"i{n}"))
    assert [one.klass for one in served(line, 5)] == ["batch", *["interactive"] * 4]


def test_what_is_past_its_deadline_is_not_served() -> None:
    line = line_of([entry(1, "a")._replace(left_ms=10), entry(2, "a")])
    line.now_ms = 11
    assert [one.pk.int for one in served(line)] == [2]
