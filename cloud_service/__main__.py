"""`privet cloud`: make the folder, join a federation, prepare the database, serve, give out tokens, plan jobs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cloud_service import (
    advising,
    commands,
    disclosing,
    doctoring,
    inspecting,
    people_commands,
    protecting,
    study_commands,
    upkeep,
)
from cloud_service.places import Folder
from machine.starting import loading
from shared.reports import Report

app = typer.Typer(
    help="Run the cloud that prompts, adds and returns.", no_args_is_help=True, add_completion=False
)
app.add_typer(people_commands.people, name="person")
app.add_typer(people_commands.tokens, name="token")
app.add_typer(study_commands.studies, name="study")
app.add_typer(commands.jobs, name="job")
upkeep.add_to(app)
protecting.add_to(app)
disclosing.add_to(app)
inspecting.add_to(app)
doctoring.add_to(app)
advising.add_to(app)


@app.command()
def init(
    folder: Folder,
    key_file: Annotated[
        Path | None,
        typer.Option(
            "--key-file",
            help="Encrypt the private keys under this one: 32 bytes (openssl rand -base64 32) or a passphrase, in a "
            "file elsewhere.",
        ),
    ] = None,
) -> Report:
    """Make the folder: two keys, the certificate request, and settings to edit."""
    from cloud_service.protecting import UNPROTECTED
    from cloud_service.protection import PROTECTION_FILE
    from cloud_service.service import folder as folders
    from shared.protocol.enrolment import request_fingerprint, spoken

    subject = folders.create(folder, key_file)
    encrypted = (folder / PROTECTION_FILE).is_file()
    request = folder / folders.REQUEST_FILE
    fingerprint = request_fingerprint(subject)
    return Report(
        document={
            "folder": str(folder),
            "request": str(request),
            "request_fingerprint": fingerprint,
            "encrypted": encrypted,
        },
        text=(
            f"Made {folder} with the cloud's keys and settings.\n"
            f"Request fingerprint: {spoken(fingerprint)}\n"
            f"Next: give {request} to the trusted authority (privet authority certify), compare the fingerprint,\n"
            f"choose the database in {folder / 'cloud.toml'}, for membership is kept in it,\n"
            f"then: privet cloud join {folder} --bundle cloud.bundle --root-sha256 FINGERPRINT"
            f"{'' if encrypted else f'{chr(10)}Note: {UNPROTECTED}.'}"
        ),
    )


@app.command()
def join(
    folder: Folder,
    bundle: Annotated[
        Path, typer.Option("--bundle", help="The file cloud.bundle from the trusted authority.")
    ],
    root_sha256: Annotated[
        str | None,
        typer.Option("--root-sha256", help="The root's fingerprint as read over the telephone; needed once."),
    ] = None,
) -> Report:
    """Verify a bundle and keep it; prepares an empty database. Join again when members or keys have changed."""
    from cloud_service.service import folder as folders
    from cloud_service.service.federation import Membership
    from cloud_service.service.services import unix_time
    from cloud_service.settings import load_settings
    from cloud_service.store import schema
    from cloud_service.store.database import Database
    from machine.files import read_file
    from shared.protocol.enrolment import typed
    from shared.wire.enrolment import MAX_BUNDLE_BYTES

    settings = load_settings(folder)
    raw = read_file(bundle, max_bytes=MAX_BUNDLE_BYTES, remedy="Get cloud.bundle from the trusted authority.")
    root = None if root_sha256 is None else typed(root_sha256, where="--root-sha256")
    database = Database(settings.database)
    try:
        if schema.state(database).current is None:
            schema.upgrade(database)
        schema.require_current(database)
        joined = Membership(database, folders.load_keys(folder)).join(raw, root, unix_time())
    finally:
        database.dispose()
    federation = joined.federation
    members = [member.id for member in federation.members if member.role == "agent"]
    return Report(
        document={
            "federation": federation.name,
            "epoch": federation.epoch,
            "key_id": federation.key_id,
            "key_bits": federation.key_bits,
            "agents": members,
        },
        text=(
            f"Joined {federation.name}, epoch {federation.epoch}, {federation.key_bits}-bit key.\n"
            f"Hospitals: {', '.join(members) or 'none yet'}\n"
            f"{_after_joining(folder, is_first=root is not None)}"
        ),
    )


def _after_joining(folder: Path, *, is_first: bool) -> str:
    if not is_first:
        return "A cloud that serves works by it within a second."
    return (
        f"Next: privet cloud person add {folder} --name NAME --role coordinator (for programs: privet cloud token "
        f"create {folder} --label NAME --role ROLE),\nthen privet cloud serve {folder}"
    )


@app.command()
def serve(
    folder: Folder,
    host: Annotated[str | None, typer.Option("--host", help="Address to listen on.")] = None,
    port: Annotated[
        int | None, typer.Option("--port", min=0, max=65535, help="Port to listen on; 0 takes a free one.")
    ] = None,
) -> None:
    """Serve agents and people until stopped (Ctrl-C or SIGTERM)."""
    with loading():
        import structlog

        from cloud_service.api.server import run
        from cloud_service.app import create_app, prepare
        from cloud_service.protecting import UNPROTECTED
        from cloud_service.protection import Protection
        from cloud_service.service import logs
        from cloud_service.service.services import unix_time
        from cloud_service.service.telemetry import TRACES
        from cloud_service.settings import check_listening, load_settings
        from shared.errors import starting

        with starting(full="C019", closed="C018", other="C090"):
            settings = load_settings(folder, host=host, port=port)
            check_listening(settings)
            TRACES.check(settings.telemetry.endpoint)
            services = prepare(settings)
            services.membership.check_clock(unix_time())
            application = create_app(services)
    logs.configure()
    if not Protection.of(folder).is_on:
        structlog.get_logger().warning("not encrypted", remedy=UNPROTECTED)
    with TRACES.exporting(settings.telemetry.endpoint, "privet-cloud"):
        run(application, settings, services.notifier.close)
