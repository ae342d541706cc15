"""`privet cloud ledger`, `dossier`, `evaluation` and `audit export`: who learned what, how good, and logs to check."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cloud_service.places import Folder
from machine.files import write_new
from shared.errors import InputError
from shared.reports import Report

if TYPE_CHECKING:
    from cloud_service.service.services import Services

audit = typer.Typer(help="The cloud's logs, hash-chained.", no_args_is_help=True, add_completion=False)


def add_to(app: typer.Typer) -> None:
    """Add every command of this module to `privet cloud`."""
    app.command()(ledger)
    app.command()(dossier)
    app.command()(evaluation)
    app.add_typer(audit, name="audit")


def ledger(
    folder: Folder,
    job: Annotated[str, typer.Argument(help="The job's id, or its beginning.", metavar="JOB")],
    html: Annotated[
        Path | None, typer.Option("--html", metavar="FILE", help="Write it as a page as well.")
    ] = None,
) -> Report:
    """Who learns what by a job: at most, and so far."""
    from shared.protocol.disclosure_page import ledger_page, ledger_text

    with _services(folder) as services:
        found = services.ledgers.of_job(services.jobs.named(job))
    text = ledger_text(found.forecast, found.fact)
    if html is not None:
        write_new(html, ledger_page(found.to_json(), keeper="the cloud").encode())
        text += f"\nThe page is in {html}."
    return Report(found.to_json(), text)


def dossier(
    folder: Folder,
    study: Annotated[str, typer.Argument(help="The study's id.", metavar="STUDY")],
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="A folder for the two files.")],
) -> Report:
    """Write a study's dossier for an ethics board, as JSON and as one HTML page.

    It holds no tree and no count of records with some property; of secret jobs, how many records were shared.
    """
    from shared.protocol.disclosure_page import dossier_page

    with _services(folder) as services:
        document = services.dossiers.of_study(study)
    out.mkdir(parents=True, exist_ok=True)
    data, page = out / f"{study}.json", out / f"{study}.html"
    write_new(data, json.dumps(document, ensure_ascii=False, indent=2).encode() + b"\n")
    write_new(page, dossier_page(document).encode())
    return Report(
        {"json": str(data), "html": str(page), "jobs": len(document["jobs"])},
        f"The dossier of {study} is in {data} and {page}.",
    )


def evaluation(
    folder: Folder,
    job: Annotated[str, typer.Argument(help="The job's id, or its beginning.", metavar="JOB")],
) -> Report:
    """Figures that a study publishes of a finished job: how good its tree is, and how much each attribute told.

    They are rounded under the study's floor, and here only once every hospital of the job has sent the same.
    """
    from cloud_service.api.quality import quality_of
    from cloud_service.api.quality_words import quality_lines

    with _services(folder) as services:
        found = services.results.finished(services.jobs.named(job))
        document = quality_of(services, found, None)
    return Report(document.model_dump(mode="json"), "\n".join(quality_lines(document)))


@audit.command("export")
def export_audit(
    folder: Folder,
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help="A new file.")],
    job: Annotated[
        str | None,
        typer.Option("--job", metavar="JOB", help="The log of this job; without it, of administrative acts."),
    ] = None,
    people: Annotated[
        bool, typer.Option("--people", help="The log of sign-ins, accounts and tokens instead.")
    ] = False,
) -> Report:
    """Write a log, signed, for `privet audit verify`."""
    if people and job is not None:
        raise InputError("one log at a time", where="--people", remedy="Leave out --job or --people.")
    with _services(folder) as services:
        audits = services.audits
        if job is None:
            lines = audits.of_people() if people else audits.of_acts()
        else:
            job = services.jobs.named(job)
            lines = audits.of_job(job)
        content = b"".join(lines)
    write_new(out, content)
    what = "people" if people else "administrative acts" if job is None else f"job {job}"
    return Report(
        {"file": str(out), "job": job}, f"The log of {what} is in {out}.\nNext: privet audit verify {out}"
    )


@contextmanager
def _services(folder: Path) -> Iterator[Services]:
    """The use cases over the folder's database, with nothing running in the background."""
    from cloud_service.app import prepare
    from cloud_service.service.refusals import ConflictError, UnknownThingError
    from cloud_service.settings import load_settings

    services = prepare(load_settings(folder))
    try:
        yield services
    except (ConflictError, UnknownThingError) as error:
        raise InputError(
            str(error), remedy=f"See: privet cloud job list {folder}, privet cloud study list {folder}"
        ) from None
    finally:
        services.database.dispose()
