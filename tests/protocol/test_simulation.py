"""Whole jobs over a network that mistreats every message, with restarts at every step.

Never two aggregates for a round, never a lost or doubled contribution, and every hospital ends with the same
tree or none does (protocol section 8). Hospital k holds every record 2^k times, so that a sum names its members.
"""

from __future__ import annotations

import pytest

from shared.errors import JobCode
from shared.ids import CLOUD
from shared.protocol.envelopes import Address, Chain, seal
from shared.protocol.joining import decline
from shared.protocol.participation import rules_of, schema_of
from shared.protocol.states import AgentState, CloudState
from shared.tree.counting import count_rows
from shared.tree.growing import grow
from shared.wire.envelope import MessageType
from tests.support.world import Rows, World

SCHEMA = {
    "attributes": [
        {"name": "a", "values": ["0", "1"]},
        {"name": "b", "values": ["0", "1", "2"]},
        {"name": "c", "values": ["0", "1"]},
    ],
    "class": {"name": "class", "labels": ["no", "yes", "both"]},
}
PATTERNS: Rows = [
    (0, 0, 0, 0),
    (0, 1, 0, 1),
    (0, 2, 1, 1),
    (1, 0, 0, 1),
    (1, 1, 1, 0),
    (1, 2, 1, 2),
    (1, 2, 0, 0),
    (0, 2, 0, 2),
]
SEEDS = [*range(4), *(pytest.param(seed, marks=pytest.mark.long) for seed in range(4, 40))]
NAMES = ("h1", "h2", "h3", "h4")


def world(seed: int, **changes: object) -> World:
    rows = {name: PATTERNS * 2**k for k, name in enumerate(NAMES)}
    return World(seed, rows, SCHEMA, **changes)


def pooled_tree(built: World, members: list[str]) -> str:
    manifest = built.cloud.job.manifest
    schema = schema_of(manifest)
    rows = [row for name in members for row in built.hospitals[name].rows]
    return grow(schema, rules_of(manifest), lambda queries: count_rows(rows, queries, schema)).tree.sha256


def root_records(built: World, name: str) -> int:
    """Records at the root of a hospital's tree: the sum of 2^k over the hospitals that went in."""
    participation = built.hospitals[name].participation
    assert participation is not None
    counts = participation.growth.tree.root.counts
    assert counts is not None
    return sum(counts) // len(PATTERNS)


@pytest.mark.parametrize("profile", ["hardened", "paper"])
@pytest.mark.parametrize("seed", SEEDS)
def test_every_schedule_ends_with_the_pooled_tree(seed: int, profile: str) -> None:
    built = world(seed, profile=profile, skip_known=profile == "hardened")
    built.run(4000)
    expected = pooled_tree(built, list(NAMES))
    assert built.cloud.job.state is CloudState.DONE
    assert {h.tree for h in built.hospitals.values()} == {expected}
    assert {root_records(built, name) for name in NAMES} == {0b1111}
    assert sorted(built.cloud.aggregates) == list(range(len(built.cloud.aggregates)))
    assert not built.cloud.contributions
    assert not any(h.refused for h in built.hospitals.values())


@pytest.mark.parametrize("seed", SEEDS)
def test_a_hospital_silent_in_round_0_is_left_out_once(seed: int) -> None:
    built = world(seed)
    built.run(seed * 3, faults=0.1)
    while built.cloud.job.state is CloudState.INVITING:
        built.move(0.1)
    built.silent.add("h2")
    already = built.cloud.job.members["h2"].contributed is not None
    built.run(400)
    if not already:
        assert built.cloud.job.state is CloudState.COLLECTING
        built.wait(101)
        assert built.cloud.job.attempt == 1
        built.run(4000)
        rest = ["h1", "h3", "h4"]
        assert {built.hospitals[name].tree for name in rest} == {pooled_tree(built, rest)}
        assert {root_records(built, name) for name in rest} == {0b1101}
        built.silent.clear()
        built.run(400)
        assert built.hospitals["h2"].tree is None


@pytest.mark.parametrize("seed", SEEDS)
def test_a_hospital_silent_later_pauses_the_job_and_then_fails_it(seed: int) -> None:
    built = world(seed)
    while built.cloud.job.round == 0 and not built.finished():
        built.move(0.2)
    built.silent.add("h3")
    built.run(400)
    assert built.cloud.job.state in (CloudState.COLLECTING, CloudState.DECIDING)
    built.wait(101)
    assert built.cloud.job.paused_since is not None
    assert len(built.cloud.job.roster) == 4
    if seed % 2:
        built.silent.clear()
        built.run(4000)
        assert {h.tree for h in built.hospitals.values()} == {pooled_tree(built, list(NAMES))}
    else:
        built.wait(501)
        assert built.cloud.job.failure is JobCode.MEMBER_LOST
        built.silent.clear()
        built.run(2000)
        assert {h.tree for h in built.hospitals.values()} == {None}
        assert all(h.participation.state is AgentState.ABORTED for h in built.hospitals.values())


def test_too_few_hospitals_end_the_job_before_any_count() -> None:
    built = world(1, min_hospitals=4)
    built.silent.add("h1")
    built.run(300)
    built.wait(101)
    assert built.cloud.job.failure is JobCode.DEADLINE
    assert not built.cloud.aggregates


def test_an_invitation_ends_as_soon_as_too_few_can_still_accept() -> None:
    """Nobody waits for the deadline of a job that two of four hospitals have declined."""
    built = world(1)
    job = built.cloud.job
    for name in NAMES[:2]:
        body = decline(job.manifest, "data")
        address = Address(MessageType.JOB_DECLINE, job.manifest.job, job.mh, 0, 0, name, CLOUD)
        built.cloud.post(seal(built.parties.identities[name], address, Chain(), body).raw, built.now)
    assert built.cloud.job.failure is JobCode.DEADLINE
