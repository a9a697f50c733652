"""Where conversations go: evenly, to the same replica as before, and few of them elsewhere when replicas change."""

import math
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inference.core.policies import LeastLoaded, PrefixAffinity
from inference.core.ring import BALANCE, IDLE, BoundedRing
from inference.core.values import Load

KEYS = [f"conversation-{n}" for n in range(2000)]
members = st.sets(st.sampled_from([f"replica-{n}" for n in range(12)]), min_size=2, max_size=9)
loads = st.dictionaries(
    st.sampled_from("abcdef"), st.builds(Load, st.integers(0, 20), st.integers(1, 20)), max_size=6
)


def idle(names: set[str]) -> dict[str, Load]:
    return {name: Load(0, 64) for name in names}


def owners(ring: BoundedRing, names: set[str]) -> dict[str, str | None]:
    free = idle(names)
    return {key: ring.owner(key, free) for key in KEYS}


@given(members)
def test_one_lost_moves_its_own_keys_only_and_they_are_about_one_nth(names: set[str]) -> None:
    lost, rest = min(names), names - {min(names)}
    before, after = owners(BoundedRing(names), names), owners(BoundedRing(rest), rest)
    moved = [key for key in KEYS if before[key] != after[key]]
    assert {before[key] for key in moved} <= {lost}
    assert len(moved) / len(KEYS) == pytest.approx(1 / len(names), rel=0.3)
    # Out of rotation is the same as lost: who comes back has its own again.
    assert owners(BoundedRing(names), rest) == after


@given(members)
def test_the_keys_of_a_lost_one_are_spread_over_the_others(names: set[str]) -> None:
    lost, rest = min(names), names - {min(names)}
    before, after = owners(BoundedRing(names), names), owners(BoundedRing(rest), rest)
    heirs = Counter(after[key] for key in KEYS if before[key] == lost)
    assert set(heirs) == rest


@given(loads, st.sampled_from(KEYS))
def test_nobody_is_given_more_than_the_bound(now: dict[str, Load], key: str) -> None:
    owner = BoundedRing("abcdef").owner(key, now)
    free = {name for name, load in now.items() if load.running < load.limit}
    if not free:
        assert owner is None
        return
    assert owner in free
    share = (sum(load.running for load in now.values()) + 1) / sum(load.limit for load in now.values())

    def bound(load: Load) -> int:
        return max(math.ceil(BALANCE * share * load.limit), int(IDLE * load.limit))

    if now[owner].running >= bound(now[owner]):
        assert all(now[name].running >= bound(now[name]) for name in free)


@given(st.integers(1, 400), st.integers(0, 1000))
def test_a_burst_is_split_by_our_own_counts(burst: int, salt: int) -> None:
    """What nobody has measured yet counts: 200 at once on two cold replicas lie within a tenth of each other."""
    policy = PrefixAffinity(["a", "b"])
    now = {"a": Load(0, 256), "b": Load(0, 256)}
    for n in range(burst):
        pk = policy.choose(f"{salt}-{n}", now)
        assert pk is not None
        now[pk] = Load(now[pk].running + 1, 256)
    if burst >= 200:
        assert max(load.running for load in now.values()) <= math.ceil(BALANCE * (burst + 1) / 2)


@given(loads)
def test_without_a_prefix_it_is_the_least_loaded(now: dict[str, Load]) -> None:
    pk = PrefixAffinity("abcdef").choose("", now)
    assert pk == LeastLoaded().choose("any", now)
    free = [load.running / load.limit for load in now.values() if load.running < load.limit]
    assert (pk is None) == (not free)
    if pk is not None:
        assert now[pk].running / now[pk].limit == min(free)
