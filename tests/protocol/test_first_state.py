"""The first state that acceptances name: the majority's counts, whoever answers first (decision record 4)."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from shared.errors import JobCode
from shared.protocol.states import CloudState
from shared.wire.envelope import MessageType
from tests.protocol.test_simulation import NAMES, world
from tests.support.world import HospitalHost, World

FALSE = bytes(range(32))


def with_another_secret(built: World, name: str) -> HospitalHost:
    """A hospital that holds another federation secret, and so names another first state."""
    hospital = built.hospitals[name]
    keys = hospital.keys
    hospital.keys = replace(keys, round_keys=replace(keys.round_keys, secret=FALSE))
    return hospital


@pytest.mark.parametrize("first", [True, False], ids=["answers first", "answers last"])
def test_one_hospital_with_another_state_is_left_out_and_the_others_go_on(first: bool) -> None:
    built = world(2)
    other = with_another_secret(built, "h2")
    order = ["h2", "h1", "h3", "h4"] if first else ["h1", "h3", "h4", "h2"]
    for name in order:
        hospital = built.hospitals[name]
        built.fetch(name, hospital, 0.0)
        built.send(hospital, 0.0)
    assert [str(name) for name in built.cloud.job.roster] == ["h1", "h3", "h4"]
    built.silent.add("h2")
    built.run(2000, faults=0.0)
    assert built.cloud.job.state is CloudState.DONE
    assert other.tree is None
    assert {built.hospitals[name].tree for name in ("h1", "h3", "h4")} != {None}


def test_no_majority_of_enough_hospitals_ends_the_job_before_any_count() -> None:
    built = world(2)
    for name in NAMES[:2]:
        with_another_secret(built, name)
    built.run(400, faults=0.0)
    assert built.cloud.job.failure is JobCode.DIVERGED
    assert not built.cloud.aggregates
    kinds = [json.loads(raw)["envelope"]["type"] for raw in built.cloud.inbox]
    assert MessageType.ROUND_OPEN not in kinds
