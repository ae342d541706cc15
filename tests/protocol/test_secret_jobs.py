"""Secret jobs over a network that mistreats every message: agreement, divergence, silence, and who may not be missing.

What the members compute among themselves is played by the pooled tree; the computing itself has its own tests.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from pydantic import ValidationError

from shared.crypto import agreement
from shared.errors import ErrorCode, JobCode, PeerError
from shared.ids import CLOUD, EVERYONE, AgentId
from shared.protocol import coordinator, joining, progressing, stages
from shared.protocol.effects import Note
from shared.protocol.envelopes import Address, Chain, seal
from shared.protocol.job import Job, Step
from shared.protocol.joining import decline
from shared.protocol.participation import Peer
from shared.protocol.states import AgentState, CloudState
from shared.wire.base import encode_base64url
from shared.wire.envelope import MessageType
from shared.wire.manifest import Manifest
from shared.wire.rounds import Decision, JobAccept, RoundOpen
from shared.wire.secret import Progress
from tests.protocol.test_simulation import NAMES, PATTERNS, SCHEMA
from tests.support.world import World

SECRET = {"compute_parties": ["h4", "h1", "h2"]}
RULES: dict[str, Any] = {
    "profile": "secret-id3",
    "max_shrinks": 0,
    "skip_known": False,
    "disclosure": "class",
    "secret": SECRET,
}
SEEDS = [*range(3), *(pytest.param(seed, marks=pytest.mark.long) for seed in range(3, 30))]


def world(seed: int, **changes: object) -> World:
    rows = {name: PATTERNS * 2**k for k, name in enumerate(NAMES)}
    return World(seed, rows, SCHEMA, **{**RULES, **changes})


def computing(seed: int = 1) -> World:
    """A job whose roster is fixed."""
    built = world(seed)
    while built.cloud.job.state is not CloudState.COMPUTING:
        built.move(0.1)
    return built


def states(built: World) -> set[AgentState]:
    return {h.participation.state for h in built.hospitals.values() if h.participation is not None}


@pytest.mark.parametrize("seed", SEEDS)
def test_every_schedule_ends_with_one_attested_result(seed: int) -> None:
    built = world(seed, publish_tree=bool(seed % 2))
    built.run(4000)
    assert built.cloud.job.state is CloudState.DONE
    assert {h.tree for h in built.hospitals.values()} == {
        hospital.participation.result.sha256  # type: ignore[union-attr]
        for hospital in built.hospitals.values()
    }
    assert {member.attested for member in built.cloud.job.members.values()} == {built.hospitals["h1"].tree}
    assert not built.cloud.aggregates
    assert not any(h.refused for h in built.hospitals.values())


def test_members_with_different_results_diverge_and_keep_nothing() -> None:
    built = world(3)
    built.records["h3"] = '{"leaf":1}'
    built.run(4000)
    assert built.cloud.job.failure is JobCode.DIVERGED
    assert states(built) == {AgentState.ABORTED}


def test_the_roster_never_shrinks_and_a_silent_member_is_lost() -> None:
    built = computing()
    built.silent.add("h3")
    built.run(600)
    assert built.cloud.job.waiting_for == ("h3",)
    built.wait(101)
    assert built.cloud.job.paused_since is not None
    assert len(built.cloud.job.roster) == 4
    built.wait(501)
    assert built.cloud.job.failure is JobCode.MEMBER_LOST


def progressed(job: Job, name: str, waiting_seconds: int, now: int, rounds: int = 0) -> Step:
    report = Progress(
        agent=name,
        job=job.manifest.job,
        time=now,
        part="compute",
        phase="sort",
        rounds=rounds,
        waiting_seconds=waiting_seconds,
    )
    return progressing.progressed(job, report, now)


def test_progress_of_a_compute_party_moves_the_deadline_and_ends_a_pause() -> None:
    job = computing().cloud.job
    assert job.longest_silent in SECRET["compute_parties"]
    for name in ("h1", "h2"):
        job = progressed(job, name, 0, job.deadline - 10).job
    assert job.longest_silent == "h4"
    deadline = job.deadline
    # Who waits for another one has done nothing since, and who only contributes is not waited for.
    assert progressed(job, "h1", 90, deadline - 10).job.deadline == deadline
    assert progressed(job, "h3", 0, deadline - 1).job.deadline == deadline
    paused = coordinator.tick(job, deadline).job
    assert paused.paused_since == deadline
    resumed = progressed(paused, "h4", 0, deadline + 5)
    assert resumed.job.paused_since is None
    assert [e.kind for e in resumed.effects if isinstance(e, Note)] == ["progress", "resumed"]
    still = progressed(paused, "h4", 10_000, deadline + 5)
    assert still.job.paused_since is not None


def told_until_it_pauses(job: Job, liar: str, honest: dict[str, int]) -> int:
    """Seconds until the job pauses for good while one party claims to work on, round after round."""
    begun = now = job.waiting_since
    for name, rounds in honest.items():
        job = progressed(job, name, 0, now, rounds).job
    while job.paused_since is None:
        now += 10
        assert now < begun + 5000
        job = progressed(job, liar, 0, now, rounds=now % 170).job
        job = coordinator.tick(job, now).job
    assert progressed(job, liar, 0, now + 1, rounds=9999).job.paused_since is not None
    return now - begun


@pytest.mark.parametrize("honest", [{}, {"h1": 7}, {"h1": 7, "h2": 9}])
def test_a_compute_party_that_only_says_that_it_works_keeps_no_job_for_ever(honest: dict[str, int]) -> None:
    job = computing().cloud.job
    deadlines = job.manifest.deadlines
    waited = told_until_it_pauses(job, "h4", honest)
    assert waited <= deadlines.pause_seconds + deadlines.round_seconds + 10


def test_rounds_that_all_three_tell_keep_a_job_going() -> None:
    job = computing().cloud.job
    for turn in range(1, 40):
        now = job.deadline - 1
        for name in SECRET["compute_parties"]:
            job = progressed(job, name, 0, now, turn).job
        assert job.waiting_since == now
        assert coordinator.tick(job, now + 1).job.paused_since is None


def test_a_party_that_begins_anew_has_told_its_rounds_before() -> None:
    job = computing().cloud.job
    for rounds in (50, 3):
        job = progressed(job, "h1", 0, job.deadline - 1, rounds).job
        told = job.members[AgentId("h1")].progress
        assert told is not None
        assert told.rounds == 50


def test_progress_is_taken_of_members_while_they_compute_only() -> None:
    job = computing().cloud.job
    with pytest.raises(PeerError) as stranger:
        progressed(job, "h9", 0, 1)
    assert stranger.value.code is ErrorCode.ROSTER_MISMATCH
    with pytest.raises(PeerError) as late:
        progressed(stages.cancel(job).job, "h1", 0, 1)
    assert late.value.code is ErrorCode.LATE


def answer(built: World, name: str, kind: MessageType, body: Any) -> None:
    job = built.cloud.job
    address = Address(kind, job.manifest.job, job.mh, 0, 0, name, CLOUD)
    built.cloud.post(seal(built.parties.identities[name], address, Chain(), body).raw, built.now)


def acceptance(built: World, records: int | None) -> JobAccept:
    ephemeral = encode_base64url(agreement.public_of(agreement.generate_private()))
    return JobAccept(
        mh=built.cloud.job.mh,
        state="ab" * 32,
        snapshot_sha256="cd" * 32,
        ephemeral=ephemeral,
        records=records,
    )


def test_a_job_ends_at_once_when_a_compute_party_declines() -> None:
    built = world(1)
    answer(built, "h2", MessageType.JOB_DECLINE, decline(built.cloud.job.manifest, "declined"))
    assert built.cloud.job.failure is JobCode.COMPUTE_PARTY_MISSING
    built = world(1)
    for name in ("h1", "h3", "h4"):
        answer(built, name, MessageType.JOB_ACCEPT, acceptance(built, 5))
    answer(built, "h2", MessageType.JOB_DECLINE, decline(built.cloud.job.manifest, "declined"))
    assert built.cloud.job.failure is JobCode.COMPUTE_PARTY_MISSING


def test_more_records_than_the_manifest_allows_end_the_job_before_it_begins() -> None:
    built = world(1, secret={**SECRET, "max_records": 10})
    for name in NAMES:
        answer(built, name, MessageType.JOB_ACCEPT, acceptance(built, 5))
    assert built.cloud.job.failure is JobCode.RANGE_VIOLATION


def asking(*receivers: str) -> World:
    """A job that asks a shared tree, for these members."""
    secret = {**SECRET, "purpose": "predict", "model": "ab" * 16, "result_parties": list(receivers)}
    rows = dict.fromkeys(NAMES, PATTERNS)
    return World(1, rows, schema_for(GAIN_RATIO), **{**RULES, **GAIN_RATIO, "secret": secret})


def test_only_who_is_told_classes_shares_records_with_a_job_that_asks_a_tree() -> None:
    built = asking("h3")
    with pytest.raises(PeerError, match="told the classes"):
        answer(built, "h1", MessageType.JOB_ACCEPT, acceptance(built, 5))
    peers = [Peer(AgentId(name), b"", b"", b"", 5 * (name == "h3")) for name in NAMES]
    joining._check_secret_roster(built.cloud.job.manifest, tuple(peers))
    peers[0] = replace(peers[0], records=1)
    with pytest.raises(PeerError, match="told no classes"):
        joining._check_secret_roster(built.cloud.job.manifest, tuple(peers))


def test_a_job_that_nobody_asks_anything_ends_before_it_begins() -> None:
    built = asking("h3")
    for name in NAMES:
        answer(built, name, MessageType.JOB_ACCEPT, acceptance(built, 0))
    assert built.cloud.job.failure is JobCode.RANGE_VIOLATION
    nobody = tuple(Peer(AgentId(name), b"", b"", b"", 0) for name in NAMES)
    with pytest.raises(PeerError, match="no records"):
        joining._check_secret_roster(built.cloud.job.manifest, nobody)


@pytest.mark.parametrize(("profile", "records"), [("secret-id3", None), ("hardened", 5)])
def test_a_number_of_records_belongs_to_secret_jobs(profile: str, records: int | None) -> None:
    built = world(1) if profile == "secret-id3" else World(1, dict.fromkeys(NAMES, PATTERNS), SCHEMA)
    with pytest.raises(PeerError, match="number of records"):
        answer(built, "h1", MessageType.JOB_ACCEPT, acceptance(built, records))


def test_a_decision_that_is_not_the_last_is_refused() -> None:
    built = computing()
    before = built.hospitals["h1"].participation
    assert before is not None
    half = Decision(state="ab" * 32, next_nodes=1, next_slots=2, done=False, head="0" * 64)
    address = Address(MessageType.DECISION, before.manifest.job, before.mh, 0, 0, "h1", CLOUD)
    with pytest.raises(PeerError, match="decided once"):
        built.cloud.post(seal(built.parties.identities["h1"], address, before.chain, half).raw, built.now)


def test_a_round_of_counts_is_refused_while_shares_are_computed_on() -> None:
    """A cloud that opens a Paillier round in a secret job gets no contribution."""
    built = computing()
    hospital = built.hospitals["h1"]
    while hospital.participation is None or hospital.participation.state != "COMPUTING":
        built.fetch("h1", hospital, 0.0)
    body = RoundOpen(roster=list(NAMES), slots=21, deadline=9, decisions=[])
    forged = built.cloud.seal(MessageType.ROUND_OPEN, 0, 0, EVERYONE, body)
    hospital.take(len(built.cloud.inbox), forged.raw)
    assert [error.code for error in hospital.refused] == [ErrorCode.WRONG_ROUND]
    assert not hospital.contributed


def schema_for(changes: dict[str, Any]) -> dict[str, Any]:
    """Mode gain-ratio wants to know how listed values are compared."""
    if changes.get("profile") != "secret-gainratio":
        return SCHEMA
    attributes: Any = SCHEMA["attributes"]
    return {**SCHEMA, "attributes": [{**attribute, "treat_as": "equality"} for attribute in attributes]}


MANIFEST_FAULTS: list[tuple[dict[str, Any], str]] = [
    ({"secret": None}, "block belongs"),
    ({"profile": "hardened"}, "block belongs"),
    ({"criterion": "gain-ratio"}, "criterion"),
    ({"max_shrinks": 1}, "max_shrinks 0"),
    ({"disclosure": "counts"}, "disclosure class"),
    ({"secret": {"compute_parties": ["h1", "h2", "h9"]}}, "must be invited"),
    ({"secret": {"compute_parties": ["h1", "h2", "h2"]}}, "three different"),
    ({"secret": {**SECRET, "result": "shared"}}, "opens its tree"),
    ({"secret": {**SECRET, "result_parties": ["h2", "h1"]}}, "sorted"),
    ({"secret": {**SECRET, "model": "ab" * 16}}, "purpose predict"),
    ({"secret": {**SECRET, "grid": [{"attribute": 0, "step": "0.5"}]}}, "no thresholds"),
]
GAIN_RATIO = {"profile": "secret-gainratio", "criterion": "gain-ratio", "max_depth": 3}
GAIN_RATIO_FAULTS: list[tuple[dict[str, Any], str]] = [
    ({"max_depth": None}, "height of 1"),
    ({"max_depth": 11}, "height of 1"),
    ({"split_on_zero_gain": True}, "best gain is 0"),
    ({"secret": {**SECRET, "open_empty": True}}, "mode id3 only"),
    ({"secret": {**SECRET, "grid": [{"attribute": 3, "step": "0.5"}]}}, "does not have"),
    ({"secret": {**SECRET, "result": "shared"}, "publish_tree": True}, "cannot be published"),
    ({"secret": {**SECRET, "result": "shared", "result_parties": ["h1"]}}, "no result_parties"),
]


@pytest.mark.parametrize(
    ("changes", "reason"),
    [*MANIFEST_FAULTS, *((GAIN_RATIO | changes, reason) for changes, reason in GAIN_RATIO_FAULTS)],
)
def test_a_manifest_that_contradicts_itself_is_refused(changes: dict[str, Any], reason: str) -> None:
    built = world(1)
    with pytest.raises(ValidationError, match=reason):
        built.parties.manifest(schema_for(changes), **{**RULES, **changes})


def test_manifests_of_the_other_profiles_have_no_trace_of_the_block() -> None:
    built = World(1, dict.fromkeys(NAMES, PATTERNS), SCHEMA)
    assert b"secret" not in built.cloud.job.manifest.canonical()
    assert not built.cloud.job.manifest.is_secret
    secret = built.parties.manifest(schema_for(GAIN_RATIO), **{**RULES, **GAIN_RATIO})
    assert Manifest.parse(secret.canonical(), what="manifest", max_bytes=2**20) == secret
