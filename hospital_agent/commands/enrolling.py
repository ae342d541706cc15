"""`init` and `join`: an agent's folder, its keys, and its place in a federation."""

from __future__ import annotations

import re
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from hospital_agent.commands.arguments import Folder
from machine.files import write_file
from shared.errors import ErrorCode, InputError, PeerError, TemporaryError
from shared.reports import Report

if TYPE_CHECKING:
    from hospital_agent.keyring import Keyring
    from hospital_agent.settings import AgentSettings

_SETTINGS_TEMPLATE: Final = """\
# The settings of this hospital's agent; PRIVET_AGENT_* variables win over them.
id = "{id}"
{cloud}
# PEM file of a private certificate authority, if the way to the cloud has one.
# ca_bundle = "ca.pem"
# If the cloud asks for client certificates (mutual TLS):
# client_certificate = "client.crt"
# client_key = "client.key"
policy = "policy.toml"

[data]
# A file (delimited text, ARFF, Excel or Parquet), or a database: url with table or query. How a file is written is
# found out; privet data inspect tells, and names the setting where it is wrong.
# path = "records.csv"
# The class column, by name or 1-based position; without it, the study's name for it.
# class = "diagnosis"
# Columns that are no attribute. Columns that the study does not name are ignored anyway.
# drop = ["patient id"]
# Texts that stand for an empty field.
# missing = ["?", "NA"]
# The column that tells patients apart, so that all records of one stay together where some are held out.
# patient = "patient id"
# Records, without classes, that trees kept shared (mode gain-ratio) are asked about, in place of the records above.
# ask = "new-patients.csv"
# true for test data of no patient.
synthetic = false

[local]
# The prediction server of this hospital's own programs.
serve = true
host = "127.0.0.1"
port = 8711

[compute]
# The way of sealed frames to the cloud in jobs on secret shares: "auto", "websocket" or "long-poll".
channel = "auto"
# As a compute party: where the two others connect directly (HOST:PORT, or a range for several jobs at a time), and
# the host under which they find it. Without it, frames go through the cloud.
# listen = "10.0.0.5:8720-8729"
# advertise = "agent.hospital.example"
"""
_CLOUD_LINE: Final = re.compile(r"^#?[ \t]*cloud[ \t]*=.*$", re.MULTILINE)
_CLOUD_EXAMPLE: Final = '# cloud = "https://cloud.example"'


def init(
    folder: Folder,
    agent: Annotated[str, typer.Option("--id", help="This hospital's id: 1 to 64 of a-z, 0-9 and -.")],
    cloud: Annotated[str | None, typer.Option(help="The cloud's base URL, if it is known already.")] = None,
    key_file: Annotated[
        Path | None,
        typer.Option(
            "--key-file",
            help="Encrypt the folder's private files under this key: 32 bytes (openssl rand -base64 32) or a "
            "passphrase, in a file elsewhere.",
        ),
    ] = None,
) -> Report:
    """Make an agent: its keys, its certificate request, its settings and its policy."""
    from hospital_agent.commands.protecting import UNPROTECTED
    from hospital_agent.keyring import Keyring
    from hospital_agent.places import PLACES
    from hospital_agent.policy import TEMPLATE as POLICY_TEMPLATE
    from hospital_agent.protection import Protection
    from hospital_agent.settings import SETTINGS_FILE, load_settings
    from shared.protocol.enrolment import spoken

    # Keys come last: a setting that is refused leaves none behind, and the corrected command works.
    Keyring.check_new(folder, agent)
    line = _CLOUD_EXAMPLE if cloud is None else f"cloud = {_quoted(cloud)}"
    own = folder / SETTINGS_FILE
    if PLACES.settings_path(folder) == own or not PLACES.settings_path(folder).exists():
        write_file(own, _SETTINGS_TEMPLATE.format(id=agent, cloud=line).encode())
    write_file(folder / "policy.toml", POLICY_TEMPLATE.encode())
    if load_settings(folder).id != agent:
        raise InputError(
            f"these settings are of another agent than {agent}",
            where=str(PLACES.settings_path(folder)),
            remedy="Give that id, or correct it there.",
        )
    key_file = key_file or PLACES.find_key_file()
    protection = Protection(folder) if key_file is None else Protection.begin(folder, key_file)
    ring = Keyring.create(folder, agent, protection)
    fingerprint = ring.request_fingerprint(agent)
    request = folder / f"{agent}.csr"
    return Report(
        document={
            "agent": agent,
            "folder": str(folder),
            "request": str(request),
            "request_sha256": fingerprint,
            "encrypted": protection.is_on,
        },
        text=(
            f"Agent {agent} is made in {folder}.\n"
            f"1. Send {request} to the trusted authority, and read it this fingerprint over the telephone:\n"
            f"   {spoken(fingerprint)}\n"
            f"2. Name your records in {folder / SETTINGS_FILE} and your rules in {folder / 'policy.toml'}.\n"
            f"3. With the authority's bundle: privet agent join {folder} --bundle FILE --root-sha256 HEX"
            f"{'' if protection.is_on else f'{chr(10)}Note: {UNPROTECTED}.'}"
        ),
    )


def join(
    folder: Folder,
    bundle: Annotated[Path, typer.Option(help="The bundle that the trusted authority made for this agent.")],
    root_sha256: Annotated[
        str | None,
        typer.Option(
            "--root-sha256",
            "--root-fingerprint",
            help="The root's fingerprint as the authority reads it out; blanks are fine. Needed the first time.",
        ),
    ] = None,
    cloud: Annotated[str | None, typer.Option(help="The cloud's base URL; kept in the settings.")] = None,
) -> Report:
    """Import the authority's bundle, the first or a newer one, and register at the cloud."""
    from hospital_agent.keyring import Keyring
    from hospital_agent.settings import load_settings

    if cloud is not None:
        _set_cloud(folder, cloud)
    settings = load_settings(folder)
    ring = Keyring.open(folder)
    federation = ring.join(bundle, root_sha256, settings.id)
    registered, remark = _register(settings, ring)
    return Report(
        document={
            "agent": settings.id,
            "federation": federation.name,
            "epoch": federation.epoch,
            "key_bits": federation.key_bits,
            "root_sha256": ring.root_sha256,
            "hospitals": [member.id for member in federation.members if member.role == "agent"],
            "registered": registered,
        },
        text=(
            f"Agent {settings.id} belongs to the federation {federation.name}, epoch {federation.epoch}. {remark}\n"
            f"Next: {_next_step(folder, settings)}"
        ),
    )


def _next_step(folder: Path, settings: AgentSettings) -> str:
    """What is missing before the agent can work: the records, most often."""
    if settings.data.path is None and settings.data.url is None:
        return (
            f"name the records in {folder / 'agent.toml'} (path or url under [data]; privet data inspect says what "
            f"a file holds), then: privet agent run {folder}"
        )
    return f"privet agent run {folder}"


def _register(settings: AgentSettings, ring: Keyring) -> tuple[bool, str]:
    from hospital_agent.cloud import CloudClient
    from shared.wire.base import encode_base64url

    if settings.cloud is None or ring.certificate is None:
        return False, "No cloud is set yet: name it with `--cloud URL` or in the settings."
    client = CloudClient.of(settings, ring.identity)
    try:
        with client:
            client.fetch_federation()
            client.register(encode_base64url(ring.certificate.der), version("privet"))
    except TemporaryError as error:
        return False, f"It will register when it runs: {error}."
    except PeerError as error:
        if error.code is not ErrorCode.UNKNOWN_AGENT:
            raise
        # The bundle holds; the cloud has an older list, for another second or until its people import theirs.
        return (
            False,
            f"It will register when it runs and the cloud has imported its newest bundle too: {error}.",
        )
    return True, "It is registered at the cloud."


def _set_cloud(folder: Path, url: str) -> None:
    from hospital_agent.settings import SETTINGS_FILE

    path = folder / SETTINGS_FILE
    text = path.read_text(encoding="utf-8")
    line = f"cloud = {_quoted(url)}"
    changed, times = _CLOUD_LINE.subn(lambda _: line, text, count=1)
    write_file(path, (changed if times else f"{line}\n{text}").encode())


def _quoted(url: str) -> str:
    """A URL as a TOML string."""
    if not url.isprintable() or set(url) & set('"\\ '):
        raise InputError("not a URL", where="--cloud", remedy="Write it like https://cloud.example")
    return f'"{url}"'
