"""Whole jobs in key mode threshold over the network of `test_simulation`: lost, repeated, late, with restarts.

A hospital of the world asserts that it gives one partial decryption a round; the cloud that it commits one sum.
"""

from __future__ import annotations

import pytest

from shared.errors import JobCode
from shared.protocol.states import CloudState
from tests.protocol.test_simulation import NAMES, PATTERNS, SCHEMA, pooled_tree, root_records
from tests.support.threshold_keys import dealt
from tests.support.world import World

LONG = pytest.mark.long
SCHEDULES = [(0, 4), *(pytest.param(seed, 3 + seed % 2, marks=LONG) for seed in range(1, 60))]
SILENT = [0, *(pytest.param(seed, marks=LONG) for seed in range(1, 20))]


def world(seed: int, threshold: int = 4, *, max_depth: int | None = 2) -> World:
    rows = {name: PATTERNS * 2**k for k, name in enumerate(NAMES)}
    return World(seed, rows, SCHEMA, dealt=dealt(512, len(NAMES), threshold), max_depth=max_depth)


def until(built: World, state: CloudState, *, faults: float = 0.2) -> None:
    for _ in range(4000):
        if built.cloud.job.state is state:
            return
        built.move(faults)
    raise AssertionError(f"the job never came to {state}")


@pytest.mark.parametrize(("seed", "threshold"), SCHEDULES)
def test_every_schedule_ends_with_the_pooled_tree(seed: int, threshold: int) -> None:
    built = world(seed, threshold, max_depth=None)
    built.run(6000)
    assert built.cloud.job.state is CloudState.DONE
    assert {h.tree for h in built.hospitals.values()} == {pooled_tree(built, list(NAMES))}
    assert {root_records(built, name) for name in NAMES} == {0b1111}
    assert not built.cloud.contributions
    assert not built.cloud.signed
    assert not any(h.refused for h in built.hospitals.values())
    assert all(h.participation and h.participation.opening is None for h in built.hospitals.values())


@pytest.mark.parametrize("seed", SILENT)
def test_without_one_of_all_holders_a_sum_stays_closed(seed: int) -> None:
    """t = H: the job pauses until the silent hospital is back, or fails; nobody has opened the sum meanwhile."""
    built = world(seed)
    until(built, CloudState.OPENING)
    late = next((a for a in NAMES if built.cloud.job.members[a].partial is None), None)
    assert late is not None
    built.silent.add(late)
    built.run(150, faults=0)
    assert built.cloud.job.state is CloudState.OPENING
    built.wait(101)
    assert built.cloud.job.paused_since is not None
    if seed % 2:
        built.silent.clear()
        built.run(6000)
        assert {h.tree for h in built.hospitals.values()} == {pooled_tree(built, list(NAMES))}
    else:
        built.wait(501)
        assert built.cloud.job.failure is JobCode.MEMBER_LOST
        built.silent.clear()
        built.run(2000)
        assert {h.tree for h in built.hospitals.values()} == {None}


def test_with_a_smaller_threshold_the_sum_opens_without_a_slow_hospital() -> None:
    """t = 3 of 4: at the deadline the three go on, and the fourth takes up the job where they are."""
    built = world(5, 3)
    until(built, CloudState.OPENING)
    built.silent.add("h2")
    if built.cloud.job.members["h2"].partial is None:
        built.run(150, faults=0)
        assert built.cloud.job.state is CloudState.OPENING
        built.wait(101)
        assert built.cloud.job.state is CloudState.DECIDING
    built.silent.clear()
    built.run(6000)
    assert {h.tree for h in built.hospitals.values()} == {pooled_tree(built, list(NAMES))}


def test_round_0_shrinks_only_as_far_as_the_threshold() -> None:
    """t = H leaves nobody out; t = 3 of 4 leaves one out, and the rest open the sum of the rest."""
    whole, smaller = world(2), world(2, 3)
    for built in (whole, smaller):
        until(built, CloudState.COLLECTING)
        built.silent.add("h4")
        built.run(150, faults=0)
        built.wait(101)
    assert whole.cloud.job.attempt == 0
    assert whole.cloud.job.paused_since is not None
    assert smaller.cloud.job.attempt == 1
    smaller.run(6000)
    rest = ["h1", "h2", "h3"]
    assert {smaller.hospitals[name].tree for name in rest} == {pooled_tree(smaller, rest)}
    assert {root_records(smaller, name) for name in rest} == {0b0111}


def test_what_a_hospital_keeps_between_its_partial_and_the_others_survives_a_restart() -> None:
    """`participation` is read from the journal each time, as after a restart."""
    built = world(3)
    until(built, CloudState.OPENING)
    while not (found := [h for h in built.hospitals.values() if h.participation.state == "OPENING"]):
        built.move(0.2)
    opening = found[0].participation.opened_here()
    assert opening.own not in repr(found[0].participation)
    built.run(6000)
    assert {h.tree for h in built.hospitals.values()} == {pooled_tree(built, list(NAMES))}
