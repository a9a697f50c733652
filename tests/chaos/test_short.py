"""A short storm with every kind of fault, one at a time; `make chaos` is the long one.

The seed was chosen for what it draws: each store, a dispatcher and a web process killed, an engine paused, links cut.
"""

import pytest

from tests.chaos.faults import Killed, Paused, plan
from tests.chaos.storm import Storm

SEED, RUNS = 15220, 7


def test_the_seed_draws_what_the_storm_is_for():
    drawn = [fault for together in plan(SEED, "single", RUNS) for _, fault in together]
    assert {fault.name for fault in drawn if isinstance(fault, Killed)} >= {
        "postgres",
        "valkey",
        "d1",
        "web1",
    }
    assert any(isinstance(fault, Paused) for fault in drawn)


@pytest.mark.chaos
async def test_one_fault_at_a_time_loses_and_repeats_nothing():
    storm = Storm(seed=SEED, mode="single", runs=RUNS, answers_at_once=4, leases_free_s=12)
    report = await storm.run()
    assert storm.counts.passed("single"), report
    assert storm.counts.answers >= 8  # it did storm over something
