"""`privet agent budget`: what jobs with noise have told of this hospital's records, and what is left."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hospital_agent.commands.arguments import Folder
from shared.errors import InputError
from shared.reports import Report

if TYPE_CHECKING:
    from hospital_agent.journal.budget import Ledger, Spending
    from shared.secure_tree.privacy import PrivacyLimit


def budget(folder: Folder) -> Report:
    """The privacy budget: epsilon spent over each version of the records, by which jobs, and what is left."""
    document = budget_document(folder)
    limit = document["limit"]
    what = "each version of the records" if limit["for"] == "snapshot" else "all records together"
    lines = [
        f"Budget of {what}: epsilon {limit['epsilon']} at delta {limit['delta']}.",
        "Epsilons do not add up: the share in % is of what does (rho of zCDP).",
    ]
    for records in document["records"]:
        lines += _records_lines(records)
    if not document["records"]:
        lines.append("No job with noise has been sent anything.")
    if limit["for"] == "all":
        lines.append(
            f"All records together: epsilon {document['epsilon']}, {document['used_percent']} % of the budget."
        )
    return Report(document, "\n".join(lines))


def budget_document(folder: Path) -> dict[str, Any]:
    """The same as plain JSON. `used_percent`: of the cost that the budget allows, which grows with epsilon squared."""
    from hospital_agent.journal import Journal
    from hospital_agent.journal.budget import Ledger, total
    from hospital_agent.policy import load_policy
    from hospital_agent.settings import load_settings
    from shared.secure_tree.privacy import epsilon_of

    settings = load_settings(folder)
    policy = load_policy(settings.policy)
    limit, current = policy.privacy_limit, _current_identity(folder)
    with Journal.open(folder) as journal:
        ledger = Ledger(journal.connection)
        lines = ledger.lines()
        records = [
            _records(ledger, identity, own, limit, is_current=identity == current)
            for identity, own in _grouped(lines, lambda line: line.records_identity)
        ]
    return {
        "limit": {"epsilon": str(limit.epsilon), "delta": str(limit.delta), "for": policy.budget_for},
        "epsilon": str(epsilon_of(total(lines), limit.delta)),
        "used_percent": limit.used_percent(total(lines)),
        "records": records,
    }


def _current_identity(folder: Path) -> str | None:
    from hospital_agent.daemon.office import data_settings
    from hospital_agent.records.identity import records_identity
    from hospital_agent.settings import load_settings

    try:
        return records_identity(data_settings(load_settings(folder).data))
    except InputError:
        return None


def _records(
    ledger: Ledger, identity: str, lines: Sequence[Spending], limit: PrivacyLimit, *, is_current: bool
) -> dict[str, Any]:
    from hospital_agent.journal.budget import total
    from shared.secure_tree.privacy import epsilon_of

    jobs = _grouped(lines, lambda line: line.job)
    return {
        "records_identity": identity,
        "is_current": is_current,
        "epsilon": str(epsilon_of(total(lines), limit.delta)),
        "used_percent": limit.used_percent(total(lines)),
        "jobs": [
            {
                "job": job,
                "study": own[0].study,
                "rounds": len(own),
                "epsilon": str(epsilon_of(total(own), limit.delta)),
                "first": own[0].time,
                "last": own[-1].time,
            }
            for job, own in jobs
        ],
        "jobs_without_noise": ledger.jobs_without_noise(identity),
    }


def _grouped(lines: Sequence[Spending], key: Callable[[Spending], str]) -> list[tuple[str, list[Spending]]]:
    groups: dict[str, list[Spending]] = {}
    for line in lines:
        groups.setdefault(key(line), []).append(line)
    return list(groups.items())


def _records_lines(records: dict[str, Any]) -> list[str]:
    now = ", the present ones" if records["is_current"] else ""
    spent = f"epsilon {records['epsilon']} spent, {records['used_percent']} % of the budget"
    lines = [f"Records {records['records_identity'][:12]}{now}: {spent}."]
    lines += [
        f"  {job['job'][:8]}  {job['study']}: epsilon {job['epsilon']} by itself, contributions: {job['rounds']}"
        for job in records["jobs"]
    ]
    if records["jobs_without_noise"]:
        names = ", ".join(job[:8] for job in records["jobs_without_noise"])
        lines.append(f"  Not covered: results without noise over the same records: {names}")
    return lines
