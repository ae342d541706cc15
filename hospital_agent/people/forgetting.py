"""A person has a job that is over forgotten. Its model, its place in the difference rule and its log stay."""

from __future__ import annotations

from hospital_agent.journal import JobEntry, Journal
from shared.errors import InputError


def check_forgettable(journal: Journal, entry: JobEntry) -> None:
    """Raises: InputError: the job can still change, or its last word has not reached the cloud."""
    if not entry.is_over:
        raise InputError(
            f"the job is {entry.status.value}",
            where=f"job {entry.job}",
            remedy="Only a job that is over can be forgotten; decline an offer first.",
        )
    if entry.job in journal.waiting_types():
        raise InputError(
            "this hospital's last message about the job has not reached the cloud, and others wait for it",
            where=f"job {entry.job}",
            remedy="Let the agent run until it has; then forget the job.",
        )


def forget_job(journal: Journal, entry: JobEntry, *, person: str = "") -> None:
    """Remove it from the journal. Args: person: who says so, for the own log. Raises: InputError: not yet."""
    said_by = {"person": person} if person else {}
    with journal.transaction():
        check_forgettable(journal, entry)
        journal.forget(entry.job)
        journal.record("forgotten", job=entry.job, **said_by)
    journal.empty_log()
