"""`ledger`, `figures` and `audit export`: what a job has told whom, and this hospital's own log for others to check."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hospital_agent.commands.arguments import Folder, JobPrefix
from machine.files import write_new
from shared.reports import Report

if TYPE_CHECKING:
    from hospital_agent.journal import Journal

audit = typer.Typer(help="This hospital's own log.", no_args_is_help=True, add_completion=False)


def ledger(
    folder: Folder,
    job: JobPrefix,
    html: Annotated[
        Path | None, typer.Option("--html", metavar="FILE", help="Write it as a page as well.")
    ] = None,
) -> Report:
    """Who learns what by a job: at most, and so far. Read from this hospital's own journal; nothing is sent."""
    from hospital_agent.journal import Journal
    from hospital_agent.people.ledgers import ledgers_of
    from hospital_agent.settings import load_settings
    from shared.protocol.disclosure_page import ledger_page, ledger_text

    settings = load_settings(folder)
    with Journal.open(folder) as journal:
        entry = journal.find(job)
        forecast, fact = ledgers_of(journal, entry, str(settings.id))
    document = {
        "job": entry.job,
        "status": entry.status.value,
        "forecast": forecast.to_json(),
        "fact": fact.to_json(),
        "own": {"sent_bytes": dict(entry.tally.sent), "received_bytes": dict(entry.tally.received)},
    }
    text = ledger_text(forecast, fact)
    if html is not None:
        write_new(html, ledger_page(document, keeper=str(settings.id)).encode())
        text += f"\nThe page is in {html}."
    return Report(document, text)


def figures(
    folder: Folder,
    job: JobPrefix,
) -> Report:
    """Figures of a finished job that its study publishes: the very document that left this hospital, made once more."""
    from hospital_agent.people.published import published_document, published_lines

    document = published_document(folder, job)
    return Report(document, "\n".join(published_lines(document)))


@audit.command("export")
def export_audit(
    folder: Folder,
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help="A new file.")],
    job: Annotated[
        str | None,
        typer.Option(
            "--job", metavar="JOB", help="Show only this job's records; of others only their hashes."
        ),
    ] = None,
) -> Report:
    """Write this hospital's log, signed, for `privet audit verify`. It names jobs, messages and hashes, no counts."""
    from hospital_agent.journal import Journal
    from hospital_agent.keyring import Keyring
    from hospital_agent.people.log_file import signed_log

    ring = Keyring.open(folder)
    with Journal.open(folder) as journal:
        wanted = None if job is None else _job_of(journal, job)
        written = signed_log(journal, ring, wanted)
    write_new(out, written.content)
    shown, records = written.shown, written.records
    return Report(
        {"file": str(out), "records": records, "shown": shown, "job": wanted},
        f"{shown} of {records} records are in {out}.\nNext: privet audit verify {out} CLOUD_FILE",
    )


def _job_of(journal: Journal, prefix: str) -> str:
    """The job that begins so, also one that was forgotten: its records stay. Raises: InputError."""
    known = {str(record["job"]) for record in journal.audit_records() if "job" in record}
    found = [job for job in known if prefix and job.startswith(prefix)]
    return found[0] if len(found) == 1 else journal.find(prefix).job
