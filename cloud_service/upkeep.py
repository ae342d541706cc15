"""The operator's commands for the life of a cloud: tables, backups, keys, retention. `add_to` adds them all."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cloud_service.places import Folder
from shared.errors import InputError
from shared.reports import Report

if TYPE_CHECKING:
    from cloud_service.store.database import Database
    from cloud_service.store.schema import SchemaState

Yes = Annotated[bool, typer.Option("--yes", help="Do not ask.")]


def add_to(app: typer.Typer) -> None:
    """Add every command of this module to `privet cloud`."""
    app.command()(migrate)
    app.command()(backup)
    app.command()(restore)
    app.command("rotate-rsa")(rotate_rsa)
    app.command()(purge)
    app.command()(limits)


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
        raise InputError(
            f"not confirmed: {question.removesuffix(' Go on?')}", remedy="Add --yes, or run it at a terminal."
        )
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


def backup(
    folder: Folder,
    out: Annotated[Path, typer.Option("--out", help="The file to write; it must not be there yet.")],
) -> Report:
    """Copy the database into one file, while the cloud may serve. Keys and settings are kept apart from it."""
    from cloud_service.service import backups
    from cloud_service.service.services import unix_time

    with opened(folder) as database:
        manifest = backups.take(database, out, unix_time())
    running = sorted(job for job, place in manifest.jobs.items() if place["state"] not in _OVER)
    return Report(
        document={"file": str(out), "running": running, **backups.described(manifest)},
        text=(
            f"Wrote {out}: revision {manifest.revision}, {len(manifest.jobs)} jobs, {len(running)} of them running.\n"
            f"It holds no private key: keep identity.pem, rsa*.pem and cloud.toml of {folder} as well, elsewhere.\n"
            "Jobs that run now could not go on after a restore, because their hospitals will have seen more."
        ),
    )


def restore(
    folder: Folder,
    source: Annotated[Path, typer.Option("--from", help="A file of `privet cloud backup`.")],
    replace: Annotated[
        bool,
        typer.Option("--replace", help="Put it in the place of the database that is there, which is kept."),
    ] = False,
) -> Report:
    """Put a backup back. Every job that ran in it is ended: its hospitals saw what the backup does not know."""
    from cloud_service.service import backups
    from cloud_service.service.folder import load_keys
    from cloud_service.service.services import unix_time
    from cloud_service.store import backups as store

    now, signer = unix_time(), load_keys(folder).identity
    with opened(folder) as database:
        kept = _free_name(folder, now)
        was_empty = store.is_empty(database) and not store.is_unfinished(database)
        if not was_empty and not replace:
            raise InputError(
                "there is a database already",
                where="database_url",
                remedy="Add --replace to put the backup in its place; what is there is kept in a file.",
            )
        restored = backups.put_back(database, source, kept, signer, now)
    before = f"What was there is in {kept}.\n" if kept.exists() else ""
    lost = f"{', '.join(restored.lost)}. Begin them anew" if restored.lost else "none"
    return Report(
        document={
            "restored": restored.manifest.sha256,
            "time": restored.manifest.time,
            "ended": [str(job) for job in restored.lost],
            "kept": str(kept) if kept.exists() else None,
        },
        text=(
            f"Restored what was there at {_moment(restored.manifest.time)}. {before}"
            f"Jobs ended as history_lost: {lost}.\n"
            "What was changed since then is as it was: look at tokens that were revoked, people that were removed,\n"
            "studies that were closed, approvals that were withdrawn. Import the newest bundle (privet cloud join)."
        ),
    )


def rotate_rsa(folder: Folder) -> Report:
    """Make a new RSA key beside the one in use, and the request to certify it. Jobs that run keep the old key."""
    from cloud_service.service.federation import Membership
    from cloud_service.service.folder import REQUEST_FILE, load_keys
    from cloud_service.service.rsa_rotation import begin
    from cloud_service.service.services import unix_time
    from cloud_service.store import schema
    from shared.protocol.enrolment import request_fingerprint, spoken

    with opened(folder) as database:
        schema.require_current(database)
        keys = load_keys(folder)
        subject = begin(database, keys, Membership(database, keys), unix_time())
    name = f"rsa-{str(subject.second_key)[:16]}.pem"
    fingerprint = request_fingerprint(subject)
    return Report(
        document={
            "request": str(folder / REQUEST_FILE),
            "request_fingerprint": fingerprint,
            "key_file": name,
            "rsa_sha256": subject.second_key,
        },
        text=(
            f"Made {name} and {folder / REQUEST_FILE}. Request fingerprint: {spoken(fingerprint)}\n"
            f"1. Where other replicas have folders of their own: copy {name} into each, mode 0600.\n"
            "2. Have the request certified (privet authority certify DIR cloud.csr), comparing the fingerprint.\n"
            f"3. privet cloud join {folder} --bundle cloud.bundle\n"
            "Running jobs end under the old key; the cloud deletes it when none needs it any more."
        ),
    )


def purge(
    folder: Folder,
    study: Annotated[str | None, typer.Option("--study", help="All jobs of this study.")] = None,
    job: Annotated[str | None, typer.Option("--job", help="This job.")] = None,
    yes: Yes = False,
) -> Report:
    """Delete the messages and events of jobs that are over, before their time. It cannot be undone."""
    import sys

    import structlog

    from cloud_service.service import acts
    from cloud_service.service.retention import Retention
    from cloud_service.service.services import unix_time
    from cloud_service.store import retention, schema
    from shared.ids import JobId

    if (study is None) == (job is None):
        raise InputError(
            "name either a study or a job", where="--study, --job", remedy="Give one of the two."
        )
    with opened(folder) as database:
        schema.require_current(database)
        with database.read() as connection:
            chosen = [JobId(str(job))] if study is None else retention.jobs_of(connection, study)
            running = [name for name in chosen if retention.is_over(connection, name) is False]
        if running or not chosen:
            raise InputError(
                "some of them are not over" if running else "there is nothing to delete",
                where=", ".join(running) or f"study {study}",
                remedy="Wait for their end, or cancel them first."
                if running
                else "See privet cloud job list.",
            )
        confirm(f"Messages and events of {len(chosen)} jobs are gone for good then. Go on?", yes=yes)
        # Standard output is the report's alone; standard error is looked up at every line, as it may be replaced.
        structlog.configure(logger_factory=lambda *_names: structlog.PrintLogger(sys.stderr))
        purging = Retention(database, 0, unix_time)
        done = [name for name in chosen if purging.clear(name, acts.OPERATOR)]
        database.forget_deleted()
        database.give_back_space(whole=True)
    return Report(
        {"purged": [str(name) for name in done]},
        f"Deleted messages and events of {len(done)} jobs. Logs, ledgers, results and this act stay.",
    )


def limits(folder: Folder) -> Report:
    """Every limit that this cloud sets: who is held to it, how much, and the setting."""
    from cloud_service.limits import in_force
    from cloud_service.settings import load_settings

    found = in_force(load_settings(folder))
    width = max(len(limit.what) for limit in found)
    return Report(
        {"limits": [{"what": one.what, "limit": one.value, "setting": one.setting} for one in found]},
        "\n".join(f"{one.what:<{width}}  {one.value}  ({one.setting or 'fixed'})" for one in found),
    )


_OVER = frozenset({"DONE", "FAILED", "CANCELLED"})


def _free_name(folder: Path, now: int) -> Path:
    """Where the database goes that a restore replaces."""
    stem = f"before-restore-{datetime.fromtimestamp(now, UTC):%Y%m%dT%H%M%SZ}"
    for number in range(1000):
        path = folder / (f"{stem}.db" if number == 0 else f"{stem}-{number}.db")
        if not path.exists():
            return path
    raise InputError("too many databases are kept here", where=str(folder), remedy="Remove old ones.")


def _moment(time: int) -> str:
    return datetime.fromtimestamp(time, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
