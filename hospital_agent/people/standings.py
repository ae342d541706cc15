"""Where each job stands, and what it waits for, from the journal alone; as plain JSON."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from hospital_agent.daemon.casework import manifest_of
from hospital_agent.journal import JobEntry, JobStatus
from shared.protocol import waiting
from shared.protocol.states import AgentState
from shared.protocol.waiting import Waiting


def job_document(entry: JobEntry, unsent: Mapping[str, str]) -> dict[str, Any]:
    """One of the jobs of `privet agent status --json`.

    Args: unsent: by job the type of the first own message without an answer.
    """
    found = waiting_of(entry, unsent)
    return {
        "job": entry.job,
        "study": entry.study,
        "status": entry.status.value,
        "phase": entry.phase,
        "round": entry.round,
        "code": entry.code,
        "reason": entry.reason,
        "created": entry.created,
        "updated": entry.updated,
        "seconds": {part: round(value, 6) for part, value in entry.tally.seconds.items()},
        "bytes": {"sent": dict(entry.tally.sent), "received": dict(entry.tally.received)},
        "work": dict(entry.tally.work),
        "waiting": None if found is None else found.document,
    }


def waiting_of(entry: JobEntry, unsent: Mapping[str, str]) -> Waiting | None:
    """One job's; None where it is over or this hospital works. Args: unsent: as for `job_document`."""
    since = int(entry.updated)
    if entry.status is JobStatus.AWAITING:
        return waiting.of_person(manifest_of(entry), int(entry.created))
    if entry.job in unsent:
        return waiting.of_receipt(unsent[entry.job], since)
    if entry.status is not JobStatus.ACTIVE or entry.participation is None:
        return None
    known: dict[str, Any] = dict(entry.participation)
    manifest = manifest_of(entry)
    state = AgentState(known["state"])
    members: Collection[str] = known["roster"] or manifest.invited
    if state is AgentState.COMPUTING and manifest.secret is not None:
        members = manifest.secret.compute_parties
    others = set(members) - {known["own"]}
    return waiting.of_hospital(state, manifest, others, int(known["round"]), since)
