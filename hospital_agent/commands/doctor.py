"""`privet agent doctor`: everything an agent needs, looked at one by one, with the remedy for each problem."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from hospital_agent.commands.arguments import Folder
from machine.folder_checks import check_private, check_usable, room_on_disk
from shared.checkups import Check, Skipped, examine, report_of
from shared.errors import InputError, PrivetError
from shared.reports import Report

if TYPE_CHECKING:
    from hospital_agent.cloud.way import Way
    from hospital_agent.keyring import Keyring
    from hospital_agent.settings import AgentSettings
    from shared.tree.schema import Schema

_LEAST_FREE_BYTES: Final = 200 * 2**20
_SALT_BYTES: Final = 32


def doctor(
    folder: Folder,
    schema: Annotated[
        Path | None,
        typer.Option(
            help="A study's schema that the records should fit; else those of the studies shown here."
        ),
    ] = None,
) -> Report:
    """Look over this agent, its records and its way to the cloud: each check passes or is a problem with its remedy.

    Exit code 0: no problem; 3: something here; 4: the cloud refuses this hospital; 5: the way or the cloud, try later.
    """
    return report_of(examine(Doctor(folder, schema).checks()))


class Doctor:
    """One examination of the agent in `folder`. Changes nothing, and shows no value of any record."""

    def __init__(self, folder: Path, schema: Path | None = None) -> None:
        self._folder = folder
        self._schema = schema

    def checks(self) -> list[Check]:
        """All of them, in the order in which one builds on another."""
        names: list[tuple[str, Callable[[], str], str]] = [
            ("settings", self.settings, "Correct the file."),
            ("policy", self.policy, "Correct the policy file; deploy/policy.toml explains each rule."),
            (
                "permissions",
                self.permissions,
                "Give the folder and all in it to the user that runs the agent.",
            ),
            ("disk", self.disk, "Make room on the disk."),
            ("keys", self.keys, "Restore the folder from a backup, or join again."),
            ("key protection", self.protection, "Hand the key over as docs/errors/A021.md says."),
            ("certificate", self.certificate, "Import the newest bundle (privet agent join)."),
            (
                "journal",
                self.journal,
                "Restore the folder from a backup; never copy the journal of a running agent.",
            ),
            ("records", self.records, "Correct [data] in agent.toml; privet agent check-data explains more."),
            ("traces", self.traces, "Install the extra, or leave the setting out."),
            ("proxy", self.proxy, "Set or unset HTTPS_PROXY and NO_PROXY for the service."),
            ("name", self.name, "Correct cloud in agent.toml, or the name server of this machine."),
            (
                "route",
                self.route,
                "Open the firewall outwards for this address, or name a proxy in HTTPS_PROXY.",
            ),
            (
                "cloud",
                self.cloud,
                "Have the proxy allow the cloud's name; ask the cloud's people whether it runs.",
            ),
            (
                "tls",
                self.tls,
                "Name the authority in ca_bundle, or have the cloud's people renew the certificate.",
            ),
            ("clock", self.clock, "Set the clock."),
            ("versions", self.versions, "Upgrade the older side (docs/operations.md)."),
            (
                "membership",
                self.membership,
                "Start the agent once, which registers it; if that is refused, ask the trusted authority for its list.",
            ),
        ]
        return [Check(name, look, remedy) for name, look, remedy in names]

    # --- here -------------------------------------------------------------------------------------------------

    def settings(self) -> str:
        """agent.toml, the environment, secret files."""
        if self._settings.cloud is None:
            raise InputError("no cloud is set", remedy='Add a line such as cloud = "https://cloud.example".')
        return f"they hold; this is {self._settings.id}"

    def policy(self) -> str:
        """The policy file."""
        from hospital_agent.policy import load_policy

        return f"it holds; approval is {load_policy(self._known.policy).approval}"

    def permissions(self) -> str:
        """The folder and the private files in it are this user's alone."""
        private = [self._folder, *sorted((self._folder / "keys").glob("*"))]
        check_private(private)
        check_usable([*private, *self._folder.glob("journal*")])
        return "only this user reads and writes the folder and its keys"

    def disk(self) -> str:
        """Room for the journal, frozen records and models."""
        return room_on_disk(self._folder, _LEAST_FREE_BYTES)

    def keys(self) -> str:
        """The key files, and the newest epoch's key."""
        ring = self._keyring
        if ring.is_member and not ring.holds_newest_epoch:
            raise InputError(
                "the federation has a newer key than this folder", where=str(self._folder / "bundles")
            )
        return "the key files are whole"

    def protection(self) -> str:
        """Whether the private files are encrypted, and their key is at hand."""
        from hospital_agent.protection import Protection

        if Protection.of(self._folder).is_on:
            return "the private files are encrypted, and their key is at hand"
        return "the private files are not encrypted (privet agent protect would): the disk should be"

    def certificate(self) -> str:
        """The own certificate, today and in a month."""
        from shared.protocol.expiry import looked_at

        own = self._keyring.certificate
        if own is None:
            raise InputError("this agent has not joined a federation", remedy="Run: privet agent join")
        return f"it is good until {looked_at(own, int(time.time()))}"

    def journal(self) -> str:
        """The journal's database, and that its log is one chain."""
        from hospital_agent.journal import Journal
        from hospital_agent.journal.store import JOURNAL_FILE

        if not (self._folder / JOURNAL_FILE).is_file():
            raise Skipped("there is none yet")
        with Journal.open(self._folder) as journal:
            found = journal.connection.execute("PRAGMA quick_check").fetchone()[0]
            if found != "ok":
                raise InputError("the journal is damaged", where=JOURNAL_FILE, number="A012")
        return "it is whole"

    def records(self) -> str:
        """The records can be read, and their columns fit the schemas that are known here."""
        from hospital_agent.daemon.office import data_settings
        from hospital_agent.records import open_source
        from shared.rng import random_bytes

        data = self._known.data
        if data.path is None and data.url is None:
            raise InputError("no records are named", where="[data] in agent.toml", remedy="Set path or url.")
        with tempfile.TemporaryDirectory(dir=self._folder, prefix="doctor-") as room:
            source = open_source(data_settings(data), Path(room))
            if data.path is not None:
                with data.path.open("rb") as file:
                    file.read(1)
            schemas = self._schemas()
            for name, schema in schemas.items():
                try:
                    source.freeze(schema, random_bytes(_SALT_BYTES))
                except InputError as error:
                    raise InputError(f"they do not fit {name}: {error}", number=error.number) from None
        return (
            f"they fit {', '.join(schemas)}"
            if schemas
            else "they are there; no study was shown that they must fit"
        )

    def traces(self) -> str:
        """Whether what is set can be exported."""
        from hospital_agent.telemetry import TRACES

        TRACES.check(self._known.telemetry.endpoint)
        return "they go to a collector" if self._known.telemetry.endpoint else "none are exported"

    # --- the way to the cloud ---------------------------------------------------------------------------------

    def proxy(self) -> str:
        """Which one the surroundings name."""
        proxy = self._way.proxy
        return "none leads to the cloud" if proxy is None else f"{proxy} leads to the cloud"

    def name(self) -> str:
        """It can be looked up."""
        return self._way.look_up()

    def route(self) -> str:
        """Something listens there."""
        return self._way.connect()

    def cloud(self) -> str:
        """It answers."""
        return self._way.ask()

    def tls(self) -> str:
        """The cloud's certificate on the way."""
        if not self._way.url.startswith("https:"):
            raise Skipped("the cloud is on this machine, without TLS")
        if self._way.proxy is not None:
            raise Skipped("the way leads through a proxy; the check `cloud` has verified the chain")
        return self._way.certificate()

    def clock(self) -> str:
        """Against the cloud's."""
        self._need_cloud()
        return self._way.clock()

    def versions(self) -> str:
        """Agent and cloud are near enough to one another."""
        from shared.protocol.versions import check_window

        self._need_cloud()
        own, there = version("privet"), self._way.version()
        check_window(own, there)
        return f"agent {own} and cloud {there} work together"

    def membership(self) -> str:
        """A signed poll is accepted, as the daemon sends it."""
        from hospital_agent.cloud import CloudClient
        from hospital_agent.journal import Journal

        self._need_cloud()
        with Journal.open(self._folder) as journal:
            cursor = journal.cursor
        with CloudClient.of(self._known, self._keyring.identity) as client:
            client.poll(cursor, wait_seconds=0)
        return "the cloud knows this hospital and accepts its signature"

    # --- what checks share ------------------------------------------------------------------------------------

    @cached_property
    def _settings(self) -> AgentSettings:
        from hospital_agent.settings import load_settings

        return load_settings(self._folder)

    @property
    def _known(self) -> AgentSettings:
        try:
            return self._settings
        except PrivetError:
            raise Skipped("the settings do not hold") from None

    @cached_property
    def _keyring(self) -> Keyring:
        from hospital_agent.keyring import Keyring

        return Keyring.open(self._folder)

    @cached_property
    def _way(self) -> Way:
        from hospital_agent.cloud.way import Way

        settings = self._known
        if settings.cloud is None:
            raise Skipped("no cloud is set")
        return Way(str(settings.cloud), settings.ca_bundle, settings.client_files)

    def _need_cloud(self) -> None:
        if not self._way.is_reached:
            raise Skipped("the cloud was not reached")

    def _schemas(self) -> dict[str, Schema]:
        from hospital_agent.commands.running import read_schema
        from hospital_agent.journal import Journal, studies
        from shared.tree.schema import Schema

        if self._schema is not None:
            return {"the schema given": read_schema(self._schema)}
        with Journal.open(self._folder) as journal:
            shown = [entry.document for entry in studies.studies(journal) if not entry.closed]
        return {
            f"study {one.id}": Schema.from_json(one.schema_.model_dump(mode="json", by_alias=True))
            for one in shown
        }
