"""The job's state machine, explored to the last interleaving (see `tests.support.explorer`).

Three hospitals, two rounds; four where one may fall out. Every property of `Explorer.check`, in every world. That the
explorer can find faults is shown by planting some.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from typing import Any

import pytest

from shared.errors import JobFailure, PeerError
from shared.ids import AgentId
from shared.protocol import coordinator, participant, profiles, stages
from shared.protocol.agent_effects import Count
from shared.protocol.agent_effects import Step as AgentStep
from shared.protocol.job import Job, Step
from shared.protocol.states import (
    AGENT_TRANSITIONS,
    CLOUD_TRANSITIONS,
    AgentEvent,
    AgentState,
    CloudEvent,
    CloudState,
    follow,
)
from shared.secure_tree import aggregate
from tests.support import model_steps
from tests.support.explorer import Bounds, Explorer, Findings, Violation
from tests.support.threshold_keys import dealt
from tests.support.world import Rows

ROWS: Rows = [(0, 0, 0), (0, 0, 0), (0, 1, 1), (1, 0, 1), (1, 0, 0), (1, 1, 1), (0, 1, 0)]
OTHERS: Rows = [(0, 0, 0), (0, 0, 1), (1, 0, 1), (1, 0, 1), (1, 1, 1), (0, 1, 0), (0, 1, 0)]
THREE = {"h1": ROWS, "h2": OTHERS * 2, "h3": ROWS[:3]}
FOUR = THREE | {"h4": OTHERS}
"""Such that a sum without one of them gives another tree."""
ATTRIBUTES = [{"name": "a", "values": ["0", "1"]}, {"name": "b", "values": ["0", "1"]}]
SCHEMA = {"attributes": ATTRIBUTES, "class": {"name": "class", "labels": ["no", "yes"]}}
ID3: Mapping[str, Any] = {
    "profile": "secret-id3",
    "secret": {"compute_parties": ["h1", "h2", "h3"]},
    "max_shrinks": 0,
    "skip_known": False,
    "disclosure": "class",
}


def explored(bounds: Bounds, rows: Mapping[str, Rows] = THREE, **changes: Any) -> Findings:
    findings = Explorer(rows, SCHEMA, bounds, **changes).run()
    print(f"{bounds}: {findings.worlds} worlds, {findings.moves} moves, depth {findings.depth}, 0 violations")
    return findings


def name_of(bounds: Bounds) -> str:
    """The mishaps that are let happen."""
    return "-".join(name for name, most in asdict(bounds).items() if most) or "no mishap"


MISHAPS = [
    Bounds(),
    Bounds(cancels=1),
    Bounds(declines=1),
    Bounds(lies=1),
    Bounds(dishonest_sums=1),
    Bounds(lost=1),
]


@pytest.mark.parametrize("bounds", MISHAPS, ids=name_of)
def test_no_interleaving_breaks_a_promise(bounds: Bounds) -> None:
    findings = explored(bounds)
    assert findings.worlds > 2000
    assert CloudState.DONE in findings.endings


def test_no_interleaving_of_a_secret_job_breaks_a_promise() -> None:
    findings = explored(Bounds(cancels=1), **ID3)
    assert {"DONE", "FAILED compute_party_missing", "FAILED member_lost"} <= set(findings.endings)
    assert findings.worlds > 1000


def test_an_exploration_that_is_too_wide_does_not_end_in_silence() -> None:
    with pytest.raises(AssertionError, match="too wide"):
        Explorer(THREE, SCHEMA, Bounds(), max_depth=1).run(most=100)


WIDE = [
    Bounds(lost_answers=True),
    Bounds(give_ups=1),
    Bounds(cancels=1, declines=1, lies=1, dishonest_sums=1, lost=1),
    Bounds(lost_answers=True, lies=1),
    Bounds(lost_answers=True, dishonest_sums=1),
]


@pytest.mark.long
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("bounds", WIDE, ids=name_of)
def test_no_interleaving_breaks_a_promise_with_more_mishaps(bounds: Bounds) -> None:
    assert explored(bounds).worlds > 20_000


@pytest.mark.long
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("bounds", [Bounds(), Bounds(dishonest_sums=1)], ids=name_of)
def test_no_interleaving_breaks_a_promise_where_one_of_four_may_fall_out(bounds: Bounds) -> None:
    assert explored(bounds, FOUR, max_depth=1).worlds > 5000


@pytest.mark.long
@pytest.mark.timeout(3600)
@pytest.mark.parametrize(
    "bounds",
    [Bounds(), Bounds(cancels=1), Bounds(lies=1), Bounds(dishonest_sums=1), Bounds(lost=1)],
    ids=name_of,
)
def test_no_interleaving_breaks_a_promise_where_sums_are_opened_together(bounds: Bounds) -> None:
    assert explored(bounds, dealt=dealt(512, 3, 3)).worlds > 2000


@pytest.mark.long
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("bounds", [Bounds(lost_answers=True), Bounds(give_ups=1, lies=1)], ids=name_of)
def test_no_interleaving_of_a_secret_job_breaks_a_promise_with_more_mishaps(bounds: Bounds) -> None:
    assert explored(bounds, **ID3).worlds > 1000


# --- the table of transitions -----------------------------------------------------------------------------------


@pytest.mark.long
def test_every_transition_of_the_table_happens(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those left out cannot happen: a job is created and invites, and is committed and told, in one step each."""
    seen: set[object] = set()

    def noting(table: Any, state: Any, event: Any) -> Any:
        seen.add((state, event))
        return follow(table, state, event)

    for module in (stages, participant):
        monkeypatch.setattr(module, "follow", noting)
    explored(Bounds(cancels=1, lies=1, give_ups=1))
    explored(Bounds(dishonest_sums=1))
    explored(Bounds(cancels=1), FOUR, max_depth=1)
    explored(Bounds(cancels=1, give_ups=1, lies=1), **ID3)
    explored(Bounds(cancels=1, dishonest_sums=1), dealt=dealt(512, 3, 3))
    passing = (CloudState.CREATED, CloudState.KEYING, CloudState.COMMITTED)
    impossible: set[object] = {
        (state, event) for state in passing for event in (CloudEvent.FAIL, CloudEvent.CANCEL)
    }
    impossible |= {(AgentState.IDLE, AgentEvent.ABORT), (AgentState.VERIFIED, AgentEvent.ABORT)}
    assert {*CLOUD_TRANSITIONS, *AGENT_TRANSITIONS} - seen == impossible


# --- planted faults ---------------------------------------------------------------------------------------------


def _sums_are_opened_unchecked(patch: pytest.MonkeyPatch) -> None:
    def unchecked(
        cipher: Any, context: Any, _secret: bytes, slots: int, ciphertexts: list[bytes], **_rest: Any
    ) -> list[int]:
        members = aggregate.roster_plaintext_count(len(context.roster), cipher.public.bits)
        return aggregate._digits(cipher.decrypt(ciphertexts[members:-1]), slots, cipher.public)

    patch.setattr(profiles.aggregate, "open_aggregate", unchecked)


def _late_sums_are_taken(patch: pytest.MonkeyPatch) -> None:
    real = coordinator.summed

    def summed(job: Job, number: int, attempt: int, *rest: Any) -> Step:
        try:
            return real(job, number, attempt, *rest)
        except PeerError:
            return Step(job)

    patch.setattr(coordinator, "summed", summed)


def _contributions_outlive_a_drop_out(patch: pytest.MonkeyPatch) -> None:
    real = stages.shrink

    def shrink(job: Job, now: int) -> Step:
        step = real(job, now)
        members = {a: replace(m, contributed=job.members[a].contributed) for a, m in step.job.members.items()}
        return replace(step, job=replace(step.job, members=members))

    patch.setattr(coordinator, "shrink", shrink)


def _pauses_never_end(patch: pytest.MonkeyPatch) -> None:
    real = coordinator.tick

    def tick(job: Job, now: int) -> Step:
        return Step(job) if job.paused_since is not None else real(job, now)

    patch.setattr(coordinator, "tick", tick)


def _ends_can_be_cancelled(patch: pytest.MonkeyPatch) -> None:
    real = coordinator.receive

    def receive(job: Job, sealed: Any, now: int) -> Step:
        if job.state is CloudState.DONE:
            return Step(replace(job, state=CloudState.CANCELLED))
        return real(job, sealed, now)

    patch.setattr(coordinator, "receive", receive)


def _nobody_compares_statements(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(coordinator, "_essence", lambda _statement: b"")
    patch.setattr(participant, "_check_statements", lambda *_rest: None)


def _repeats_are_counted_again(patch: pytest.MonkeyPatch) -> None:
    real = participant.receive

    def receive(participation: Any, sealed: Any, keys: Any) -> AgentStep:
        step = real(participation, sealed, keys)
        if sealed.envelope.type == "round_open" and not step.effects:
            return AgentStep(participation, (Count(participation.growth.queries),))
        return step

    patch.setattr(participant, "receive", receive)


def _seeds_are_drawn_for_a_second_contribution(patch: pytest.MonkeyPatch) -> None:
    real = model_steps.Steps._said

    def said(self: Any, hospital: Any, name: AgentId, step: AgentStep) -> Any:
        after = real(self, hospital, name, step)
        return replace(after, sent=(*after.sent, *after.sent[-1:])) if after.sent else after

    patch.setattr(model_steps.Steps, "_said", said)


PLANTED: list[tuple[Callable[[pytest.MonkeyPatch], None], Bounds, int, str]] = [
    (_sums_are_opened_unchecked, Bounds(dishonest_sums=1), 3, "not the one of the pooled records"),
    (_late_sums_are_taken, Bounds(), 3, "came late was taken"),
    (_contributions_outlive_a_drop_out, Bounds(), 4, "other than the roster"),
    (_pauses_never_end, Bounds(lost=1), 3, "no end|nothing can happen"),
    (_ends_can_be_cancelled, Bounds(), 3, "DONE is no end"),
    (_nobody_compares_statements, Bounds(lies=1), 3, "statements that differ|was refused"),
    (_repeats_are_counted_again, Bounds(), 3, "acts on a repeated"),
    (_seeds_are_drawn_for_a_second_contribution, Bounds(), 3, "two contributions"),
]


@pytest.mark.parametrize(
    ("plant", "bounds", "hospitals", "what"), PLANTED, ids=[row[0].__name__ for row in PLANTED]
)
def test_a_planted_fault_is_found(
    monkeypatch: pytest.MonkeyPatch,
    plant: Callable[[pytest.MonkeyPatch], None],
    bounds: Bounds,
    hospitals: int,
    what: str,
) -> None:
    plant(monkeypatch)
    rows = THREE if hospitals == 3 else FOUR
    one_round = hospitals == 4 or bounds.dishonest_sums  # further rounds would show a sum that was made up
    with pytest.raises((Violation, JobFailure), match=what):
        Explorer(rows, SCHEMA, bounds, max_depth=1 if one_round else None).run()
