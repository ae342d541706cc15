"""`privet audit verify`: check exported logs against themselves and each other, with no keys and no network."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from shared.errors import InputError
from shared.reports import Report

if TYPE_CHECKING:
    from shared.protocol.audit_check import Finding, Log

app = typer.Typer(help="Check exported logs.", no_args_is_help=True, add_completion=False)

_FAILED: Final = 6
_MAX_FILE_BYTES: Final = 2**31


@app.callback()
def root() -> None:
    """Check exported logs. They need no keys and no network."""


@app.command()
def verify(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE...", help="Files of `privet cloud audit export` and `privet agent audit export`."
        ),
    ],
    root_sha256: Annotated[
        str | None,
        typer.Option("--root-sha256", help="The root's fingerprint, as the trusted authority reads it out."),
    ] = None,
) -> Report:
    """Whether each log is whole and signed, and whether the logs of cloud and hospitals tell one story.

    Exit code 0: nothing contradicts. 6: something does; each finding names file and record.
    """
    from shared.protocol.audit_check import check
    from shared.protocol.audit_cross import compare
    from shared.protocol.enrolment import typed

    root = None if root_sha256 is None else typed(root_sha256, where="--root-sha256")
    logs: list[Log] = []
    findings: list[Finding] = []
    for name, path in _named(files):
        log, found = check(name, _read(path), root)
        findings += found
        if log is not None:
            logs.append(log)
    findings += compare(logs)
    remarks = _remarks(logs, has_root=root is not None)
    document = {
        "ok": not findings,
        "files": [_summary(log) for log in logs],
        "findings": [
            {"code": each.code, "file": each.file, "record": each.record, "text": each.text}
            for each in findings
        ],
        "remarks": remarks,
    }
    verdict = "Nothing contradicts." if not findings else f"{len(findings)} findings:"
    lines = [*map(_line, logs), verdict, *map(str, findings), *(f"Note: {remark}" for remark in remarks)]
    return Report(document, "\n".join(lines), exit_code=_FAILED if findings else 0)


def _named(files: list[Path]) -> list[tuple[str, Path]]:
    """Files by their names; by their paths where two have one name."""
    names = [path.name for path in files]
    return [(str(path) if names.count(path.name) > 1 else path.name, path) for path in files]


def _read(path: Path) -> bytes:
    try:
        if path.stat().st_size > _MAX_FILE_BYTES:
            raise InputError("longer than any exported log", where=str(path))
        return path.read_bytes()
    except OSError as error:
        raise InputError(
            error.strerror or "cannot be read", where=str(path), remedy="Name an exported log."
        ) from None


def _summary(log: Log) -> dict[str, object]:
    header = log.file.header
    return {
        "file": log.name,
        "log": header.log,
        "exporter": header.exporter,
        "job": header.job,
        "records": len(log.file.records),
        "shown": len(log.shown),
        "head": log.file.records[-1].hash if log.file.records else None,
    }


def _line(log: Log) -> str:
    header = log.file.header
    what = {
        "job": f"the cloud's log of job {header.job}",
        "acts": "the cloud's log of acts",
        "people": "the cloud's log of people",
        "hospital": f"the log of {header.exporter}",
    }
    return f"{log.name}: {what[header.log]}, {len(log.file.records)} records"


def _remarks(logs: list[Log], *, has_root: bool) -> list[str]:
    """What was not checked, and why."""
    remarks = []
    if logs and not has_root:
        remarks.append(
            "the root's fingerprint was not compared (--root-sha256): who made up all of these files could have "
            "made up the root as well"
        )
    for log in logs:
        hidden = len(log.file.records) - len(log.shown)
        if hidden:
            remarks.append(f"{log.name} shows {hidden} records of other jobs as hashes only")
    jobs = {log.file.header.job for log in logs if log.file.header.log == "job"}
    owners = {log.owner for log in logs if log.file.header.log == "hospital"}
    for log in logs:
        if log.file.header.log == "job":
            missing = sorted(
                {str(r["from"]) for r in log.shown.values() if isinstance(r.get("from"), str)} - owners
            )
            if missing:
                remarks.append(
                    f"no log was given of {', '.join(missing)}, so {log.name} was not held against it"
                )
    if owners and not jobs:
        remarks.append(
            "no log of the cloud was given, so the hospitals' logs were held against each other only"
        )
    return remarks
