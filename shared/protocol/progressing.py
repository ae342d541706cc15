"""What a report of progress does to a job at the cloud. A pure step, as those of `shared.protocol.coordinator`."""

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

    Raises: PeerError: `late`: it does not compute (any more). `roster_mismatch`: the agent takes no part.
    """
    if job.state is not CloudState.COMPUTING:
        raise PeerError(ErrorCode.LATE, f"job {job.manifest.job} does not compute: {job.state}")
    agent = AgentId(report.agent)
    if agent not in job.roster:
        raise PeerError(ErrorCode.ROSTER_MISMATCH, f"{agent} is not in the roster of job {job.manifest.job}")
    before = job.members[agent].progress
    job = replace(
        job, members={**job.members, agent: replace(job.members[agent], reported=now, progress=report)}
    )
    if job.manifest.secret is None or agent not in job.manifest.secret.compute_parties:
        return Step(job)
    notes: tuple[Note, ...] = ()
    if before is None or (before.phase, before.layer) != (report.phase, report.layer):
        notes = (_progress_note(report),)
    deadline = max(job.deadline, now - report.waiting_seconds + job.manifest.deadlines.round_seconds)
    if job.paused_since is not None and deadline > now:
        job, notes = replace(job, paused_since=None), (*notes, Note("resumed", {"hospital": agent}))
    return Step(replace(job, deadline=deadline), notes)


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
