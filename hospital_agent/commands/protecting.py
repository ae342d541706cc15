"""`privet agent protect` and `classes`: encrypting a folder's private files, and reading one of them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hospital_agent.commands.arguments import Folder, JobPrefix
from machine.arguments import NewKeyFile, RemoveKey, check_key
from shared.errors import InputError
from shared.reports import Report

if TYPE_CHECKING:
    from hospital_agent.protection import Protection

_MAX_CLASSES_BYTES = 2**30
UNPROTECTED = (
    "the private files of this folder are not encrypted: `privet agent protect` with a key file does it"
)


def protect(
    folder: Folder,
    key_file: NewKeyFile = None,
    remove: RemoveKey = False,
) -> Report:
    """Encrypt the private files of an agent that does not run: keys, running jobs, records frozen for them, classes."""
    from hospital_agent.daemon.lock import locked
    from hospital_agent.protection import KEY_FILE, Protection
    from hospital_agent.settings import load_settings

    check_key(key_file, remove=remove)
    load_settings(folder)
    with locked(folder):
        before = Protection.of(folder)
        if key_file is None:
            _convert(folder, before, Protection(folder))
            before.end()
            return Report(
                {"folder": str(folder), "encrypted": False},
                f"The private files of {folder} are as plain files.",
            )
        after = Protection.begin(folder, key_file)
        _convert(folder, after, after)
    text = (
        f"The private files of {folder} are encrypted. Keep a copy of the key apart from the folder's backups: without "
        f"it they are lost.\nNext: {KEY_FILE}={key_file} privet agent run {folder}"
    )
    return Report({"folder": str(folder), "encrypted": True}, text)


def _convert(folder: Path, before: Protection, after: Protection) -> None:
    """Every private file as `after` keeps it; what was converted before a crash is converted again, to the same end."""
    import sqlite3

    from hospital_agent.journal.cover import Cover, convert
    from hospital_agent.journal.schema import connect
    from hospital_agent.journal.store import JOURNAL_FILE
    from machine.files import write_file

    for path in _private_files(folder):
        name = path.relative_to(folder).as_posix()
        write_file(path, after.seal(before.open(path.read_bytes(), name), name))
    for path in sorted((folder / "snapshots").glob("*.codes")):
        write_file(path, after.seal_large(before.open_large(path.read_bytes(), path.name), path.name))
    for path in sorted((folder / "snapshots").glob("*.sql.json")):
        write_file(path, after.seal(before.open(path.read_bytes(), path.name), path.name))
    if (folder / JOURNAL_FILE).is_file():
        connection: sqlite3.Connection = connect(folder / JOURNAL_FILE)
        try:
            convert(connection, Cover(before), Cover(after))
        finally:
            connection.close()


def _private_files(folder: Path) -> list[Path]:
    patterns = ("keys/*", "models/*.npz", "predictions/*.csv", "stewards.json")
    return sorted(path for pattern in patterns for path in folder.glob(pattern) if path.is_file())


def classes(
    folder: Folder,
    job: JobPrefix,
    output: Annotated[
        Path | None,
        typer.Option(
            "--out", "--output", "-o", metavar="FILE", help="Write them here (0600) in place of the screen."
        ),
    ] = None,
) -> Report:
    """The classes that a shared tree gave for this hospital's records, from the folder's own file."""
    from hospital_agent.daemon.office import PREDICTIONS
    from hospital_agent.protection import Protection
    from hospital_agent.settings import load_settings
    from machine.files import write_file

    load_settings(folder)
    found = sorted((folder / PREDICTIONS).glob(f"{job}*.csv")) if job.isalnum() else []
    if len(found) != 1:
        raise InputError(
            "no job with classes has that id" if not found else "several jobs begin with that",
            where=f"job {job}",
            remedy="See `privet agent status` for the ids; only jobs that ask a shared tree give classes.",
        )
    text = Protection.of(folder).read(found[0], max_bytes=_MAX_CLASSES_BYTES, remedy="").decode()
    if output is None:
        return Report({"job": found[0].stem, "classes": text.splitlines()}, text.rstrip("\n"))
    write_file(output, text.encode())
    return Report({"job": found[0].stem, "file": str(output)}, f"The classes are in {output}.")
