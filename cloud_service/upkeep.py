"""The operator's commands for the life of a cloud: tables, backups, keys, retention. `add_to` adds them to the program."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from shared.errors import InputError
from shared.reports import Report

if TYPE_CHECKING:
    from cloud_service.store.database import Database
    from cloud_service.store.schema import SchemaState

Folder = Annotated[Path, typer.Argument(help="The cloud's folder.", metavar="FOLDER")]
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask.")]


def add_to(app: typer.Typer) -> None:
    """Add every command of this module to `privet cloud`."""
    app.command()(migrate)


def migrate(
    folder: Folder,
    to: Annotated[
        str | None,
        typer.Option("--to", metavar="REVISION|-N", help="A revision, or steps back; the newest by default."),
    ] = None,
    check: Annotated[
        bool, typer.Option("--check", help="Change nothing; fail if the database is behind or differs.")
    ] = False,
    yes: Yes = False,
) -> Report:
    """Bring the database's tables to this version, or take steps back. Replicas may go on serving meanwhile."""
    from cloud_service.store import schema

    with opened(folder) as database:
        if check:
            _refuse_other(schema.state(database, compare=True), folder)
        elif to is None:
            schema.upgrade(database)
        else:
            _move(database, to, yes=yes)
        state = schema.state(database)
    if to is None or state.is_current:
        return _migrated(state, "as this version needs")
    return _migrated(state, f"this version needs {state.head} to serve")


def _migrated(state: SchemaState, remark: str) -> Report:
    return Report(
        document={"revision": state.current, "head": state.head, "oldest_code": state.oldest},
        text=f"The database is at revision {state.current}, {remark}.",
    )


def _refuse_other(state: SchemaState, folder: Path) -> None:
    from cloud_service.store import schema

    schema.refuse_newer(state)
    if not state.is_current:
        found = (
            "; ".join(state.differences)
            or f"it is at {state.current or 'no revision'}, needed is {state.head}"
        )
        raise InputError(
            f"the database's tables are not those of this version: {found}",
            where="database_url",
            remedy=f"Run: privet cloud migrate {folder}",
        )


def _move(database: Database, to: str, *, yes: bool) -> None:
    """To a revision in either direction. Raises: InputError: no such revision, or not confirmed."""
    from cloud_service.store import schema

    known = schema.revisions()
    state = schema.state(database)
    schema.refuse_newer(state)
    place = 0 if state.current is None else known.index(state.current) + 1
    wanted = place + int(to) if to.startswith("-") and to[1:].isdigit() else _place_of(to, known)
    if wanted < 0:
        raise InputError("there are not so many steps back", where="--to", remedy="Name a revision, or base.")
    if wanted >= place:
        schema.upgrade(database, known[wanted - 1] if wanted else "base")
        return
    target = known[wanted - 1] if wanted else "base"
    confirm(f"Steps back to {target} delete what the newer tables hold. Go on?", yes=yes)
    schema.downgrade(database, target)


def _place_of(revision: str, known: tuple[str, ...]) -> int:
    if revision in ("base", "head"):
        return 0 if revision == "base" else len(known)
    if revision not in known:
        raise InputError(
            f"this version knows no revision {revision}, only {known[0]} to {known[-1]}",
            where="--to",
            remedy="Name one of these, base, or -1 for one step back.",
        )
    return known.index(revision) + 1


def confirm(question: str, *, yes: bool) -> None:
    """Ask before what cannot be undone. Raises: InputError: no, or nobody is there to ask."""
    import sys

    if yes:
        return
    if not sys.stdin.isatty():
        raise InputError(f"not confirmed: {question}", remedy="Add --yes, or run it at a terminal.")
    if not typer.confirm(question, err=True):
        raise InputError("not confirmed, so nothing was changed", remedy="Run the command again to go on.")


@contextmanager
def opened(folder: Path) -> Iterator[Database]:
    """The database of a cloud's folder."""
    from cloud_service.settings import load_settings
    from cloud_service.store.database import Database

    database = Database(load_settings(folder).database)
    try:
        yield database
    finally:
        database.dispose()
