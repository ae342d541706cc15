"""`privet agent budget`: what jobs with noise have told of this hospital's records, and what is left."""

from __future__ import annotations

from typing import Any

from hospital_agent.commands.arguments import Folder
from shared.reports import Report


def budget(folder: Folder) -> Report:
    """The privacy budget: epsilon spent over each version of the records, by which jobs, and what is left."""
    from hospital_agent.people.budgets import budget_document

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
