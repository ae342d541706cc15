"""What a report of progress does to a job at the cloud. A pure step, as those of `shared.protocol.coordinator`.

A compute party that works on moves the deadline, so that a long computation is not taken for silence. What it says of
itself is no proof, however: the three go in step, so the round that the slowest of them tells is the one the job has
reached, and when no round is added for the time that a job may pause, reports move the deadline no more.
"""

from __future__ import annotations

from dataclasses import replace

from shared.errors import ErrorCode, PeerError
from shared.ids import AgentId
from shared.protocol.effects import Note
from shared.protocol.job import Job, Step
from shared.protocol.states import CloudState
from shared.wire.secret import Progress


def progressed(job: Job, report: Progress, now: int) -> Step:
    """A member of a secret job tells where it stands. The deadline counts from a compute party's last own step.

    Rounds of a member never go down: one that was started again goes through those it had done.

    Raises: PeerError: `late`: it does not compute (any more). `roster_mismatch`: the agent takes no part.
    """
    if job.state is not CloudState.COMPUTING:
        raise PeerError(ErrorCode.LATE, f"job {job.manifest.job} does not compute: {job.state}")
    agent = AgentId(report.agent)
    if agent not in job.roster:
        raise PeerError(ErrorCode.ROSTER_MISMATCH, f"{agent} is not in the roster of job {job.manifest.job}")
    before, reached = job.members[agent].progress, _round_of_all(job)
    if before is not None:
        report = report.model_copy(update={"rounds": max(before.rounds, report.rounds)})
    job = job.with_member(replace(job.members[agent], reported=now, progress=report))
    if job.manifest.secret is None or agent not in job.manifest.secret.compute_parties:
        return Step(job)
    notes: tuple[Note, ...] = ()
    if before is None or (before.phase, before.layer) != (report.phase, report.layer):
        notes = (_progress_note(report),)
    if _round_of_all(job) > reached:
        job = replace(job, waiting_since=now)
    deadlines = job.manifest.deadlines
    own_step = min(now - report.waiting_seconds, job.waiting_since + deadlines.pause_seconds)
    deadline = max(job.deadline, own_step + deadlines.round_seconds)
    if job.paused_since is not None and deadline > now:
        job, notes = replace(job, paused_since=None), (*notes, Note("resumed", {"hospital": agent}))
    return Step(replace(job, deadline=deadline), notes)


def _round_of_all(job: Job) -> int:
    """The round that every compute party which has not decided has told; 0 before all have told something."""
    parties = [] if job.manifest.secret is None else job.manifest.secret.compute_parties
    told = [member for a in parties if (member := job.members[AgentId(a)]).decision is None]
    return min((0 if m.progress is None else m.progress.rounds for m in told), default=0)


def _progress_note(report: Progress) -> Note:
    return Note(
        "progress",
        {
            "hospital": report.agent,
            "phase": report.phase,
            "layer": report.layer,
            "layers": report.layers,
            "rounds": report.rounds,
            "sent_bytes": report.sent_bytes,
            "seconds": report.seconds,
        },
    )
