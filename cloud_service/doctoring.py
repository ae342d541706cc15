"""`privet cloud doctor`: everything a cloud needs, looked at one by one, with the remedy for each problem."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable
from contextlib import closing
from functools import cached_property
from importlib.metadata import version
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

import typer

from cloud_service.places import Folder
from machine.folder_checks import check_private, check_usable, room_on_disk
from shared.checkups import Check, Skipped, examine, report_of
from shared.errors import InputError, PrivetError, TemporaryError
from shared.reports import Report

if TYPE_CHECKING:
    from pathlib import Path

    from cloud_service.service.federation import Membership
    from cloud_service.service.folder import CloudKeyPair
    from cloud_service.settings import Settings
    from cloud_service.store.database import Database

_LEAST_FREE_BYTES: Final = 500 * 2**20
_MAX_OFFSET_SECONDS: Final = 30
_NOTICE_DAYS: Final = 14
_DAY_SECONDS: Final = 86_400
_ANSWER_SECONDS: Final = 4.0


def add_to(app: typer.Typer) -> None:
    """Add the command to `privet cloud`."""
    app.command()(doctor)


def doctor(folder: Folder) -> Report:
    """Look over this cloud, its database and its address: each check passes or is a problem with its remedy.

    Exit code 0: no problem; 3: something here; 5: the database or another machine, try later.
    """
    examination = Doctor(folder)
    try:
        return report_of(examine(examination.checks()))
    finally:
        examination.close()


class Doctor:
    """One examination of the cloud in `folder`. Changes nothing; the cloud may serve meanwhile."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def close(self) -> None:
        """Let go of the database."""
        opened = self.__dict__.get("_opened")
        if opened is not None:
            opened.dispose()

    def checks(self) -> list[Check]:
        """All of them, in the order in which one builds on another."""
        names: list[tuple[str, Callable[[], str], str]] = [
            ("settings", self.settings, "Correct cloud.toml (privet cloud settings --markdown)."),
            (
                "permissions",
                self.permissions,
                "Give the folder and all in it to the user that runs the cloud.",
            ),
            ("disk", self.disk, "Make room on the disk."),
            ("keys", self.keys, "Restore the key files from where they are kept."),
            ("key protection", self.protection, "Hand the key over as docs/errors/C022.md says."),
            ("tls", self.tls, "Renew the certificate, then restart the cloud."),
            (
                "database name",
                self.database_name,
                "Correct database_url, or the name server of this machine.",
            ),
            ("database", self.database, "See that the database server runs and lets this user in."),
            ("schema", self.schema, "Run: privet cloud migrate"),
            ("clock", self.clock, "Set the clocks of this machine and the database server by a time server."),
            ("certificate", self.certificate, "Import the newest bundle (privet cloud join)."),
            ("versions", self.versions, "Upgrade the older side (docs/operations.md)."),
            ("replicas", self.replicas, "Correct [replica] address, or the name server of this machine."),
            ("traces", self.traces, "Install the extra, or leave the setting out."),
            ("address", self.address, "Choose another port, or stop the program that has it."),
        ]
        return [Check(name, look, remedy) for name, look, remedy in names]

    # --- here -------------------------------------------------------------------------------------------------

    def settings(self) -> str:
        """cloud.toml, the environment, secret files, and whether one may listen so."""
        from cloud_service.settings import check_listening

        check_listening(self._settings)
        return "they hold"

    def permissions(self) -> str:
        """The folder is there to be read and written, its private files by this user alone."""
        keys = sorted(self._folder.glob("*.pem"))
        check_usable([self._folder, *keys, *sorted(self._folder.glob("cloud.db*"))])
        check_private(keys)
        return "this user reads and writes the folder, and nobody else its keys"

    def disk(self) -> str:
        """Room for the database, if it is here, and for what is packed on the way to it."""
        return room_on_disk(self._folder, _LEAST_FREE_BYTES)

    def keys(self) -> str:
        """The private key files."""
        _ = self._keys
        return "the key files are whole"

    def protection(self) -> str:
        """Whether the private files are encrypted, and their key is at hand."""
        from cloud_service.protection import Protection

        if Protection.of(self._folder).is_on:
            return "the private files are encrypted, and their key is at hand"
        return "the private files are not encrypted (privet cloud protect would): the disk should be"

    def tls(self) -> str:
        """The certificate for the cloud's address, now and in two weeks."""
        from datetime import UTC, datetime

        from cryptography import x509

        files = self._known.tls_files
        if files is None:
            raise Skipped("this cloud does not end TLS itself")
        end = x509.load_pem_x509_certificate(files[0].read_bytes()).not_valid_after_utc
        days = (end - datetime.fromtimestamp(time.time(), UTC)).total_seconds() / _DAY_SECONDS
        if days < _NOTICE_DAYS:
            raise InputError(f"the TLS certificate ends in {max(0, int(days))} days", where=str(files[0]))
        return f"the TLS certificate is good for {int(days)} days"

    def traces(self) -> str:
        """Whether what is set can be exported."""
        from cloud_service.service.telemetry import TRACES

        TRACES.check(self._known.telemetry.endpoint)
        return "they go to a collector" if self._known.telemetry.endpoint else "none are exported"

    # --- the database -----------------------------------------------------------------------------------------

    def database_name(self) -> str:
        """The server's name can be looked up."""
        from sqlalchemy import make_url

        from cloud_service.store.database import Database

        Database(self._known.database).dispose()
        host = make_url(self._known.database).host
        if not host:
            raise Skipped("the database is a file, or a socket of this machine")
        return _looked_up(host)

    def database(self) -> str:
        """It lets this user in."""
        from cloud_service.store import schema

        schema.state(self._opened)
        return "it answers"

    def schema(self) -> str:
        """The tables are those that this version can work with."""
        from cloud_service.store import schema

        return f"revision {schema.require_current(self._reached).current} suits this version"

    def clock(self) -> str:
        """Against the database's."""
        from cloud_service.store import vitals

        with self._reached.read() as connection:
            offset = vitals.now(connection) - time.time()
        if abs(offset) > _MAX_OFFSET_SECONDS:
            side = "behind" if offset > 0 else "ahead of"
            raise InputError(f"this machine's clock is {round(abs(offset))} seconds {side} the database's")
        return "this machine's clock and the database's agree"

    def certificate(self) -> str:
        """The certificate of the federation, its keys, today and in a month."""
        from shared.crypto.certificates import Role
        from shared.protocol.expiry import looked_at

        joined = self._membership.check_keys()
        own = joined.trust.certificate(joined.certificate, role=Role.CLOUD)
        return f"it belongs to the keys and is good until {looked_at(own, int(time.time()))}"

    def versions(self) -> str:
        """Those of registered agents."""
        from cloud_service.store import directory
        from shared.protocol.versions import check_window

        with self._suitable.read() as connection:
            known = directory.hospitals(connection)
        for hospital in known:
            check_window(hospital.version, version("privet"))
        return f"every registered agent's version works with {version('privet')}"

    # --- the address ------------------------------------------------------------------------------------------

    def replicas(self) -> str:
        """The name under which others reach this one."""
        address = self._known.replica.address
        if not address:
            raise Skipped("this replica has no address of its own")
        return _looked_up(urlsplit(address).hostname or "")

    def address(self) -> str:
        """A cloud answers there, or could be started there."""
        from cloud_service.api.probing import ask_ready

        settings = self._known
        try:
            return f"the cloud at {ask_ready(settings, _ANSWER_SECONDS)} is ready"
        except TemporaryError as silent:
            try:
                with closing(socket.create_server((settings.host, settings.port))):
                    return "no cloud serves now, and its address is free"
            except OSError:
                raise InputError(f"{silent}, and the address cannot be had") from None

    # --- what checks share ------------------------------------------------------------------------------------

    @cached_property
    def _settings(self) -> Settings:
        from cloud_service.settings import load_settings

        return load_settings(self._folder)

    @property
    def _known(self) -> Settings:
        try:
            return self._settings
        except PrivetError:
            raise Skipped("the settings do not hold") from None

    @cached_property
    def _keys(self) -> CloudKeyPair:
        from cloud_service.service.folder import load_keys

        return load_keys(self._folder)

    @cached_property
    def _opened(self) -> Database:
        from cloud_service.store.database import Database

        return Database(self._known.database)

    @property
    def _reached(self) -> Database:
        from cloud_service.store import schema

        database = self._opened
        try:
            schema.state(database)
        except PrivetError:
            raise Skipped("the database was not reached") from None
        return database

    @property
    def _suitable(self) -> Database:
        from cloud_service.store import schema

        database = self._reached
        if not schema.state(database).is_usable:
            raise Skipped("the database's tables do not suit this version")
        return database

    @property
    def _membership(self) -> Membership:
        from cloud_service.service.federation import Membership

        database = self._suitable
        try:
            keys = self._keys
        except PrivetError:
            raise Skipped("the key files do not hold") from None
        return Membership(database, keys)


def _looked_up(host: str) -> str:
    try:
        socket.getaddrinfo(host, None)
    except OSError:
        raise TemporaryError(f"the name {host} leads nowhere") from None
    return f"{host} has an address"
