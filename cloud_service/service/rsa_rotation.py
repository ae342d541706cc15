"""A new RSA key for the cloud while jobs run: made, certified, switched to, and the old one deleted when it has served.

A job's manifest names the key under which its mask seeds are wrapped, so each job ends under the key it began with.
Which key new jobs get, the certificate in force says; joining the authority's new bundle is the switch. Keys lie
beside one another and are told apart by their fingerprints, so an interruption at any step loses nothing:

1. `privet cloud rotate-rsa`: the new key's file, then the request for it. Again: the same key, the request once more.
2. `privet authority certify`, then `privet cloud join`: one transaction, after which every replica that finds the key
   on its disk uses it. A replica without the file answers "later" for jobs under it, and says which file it lacks.
3. `Clearing`: a key that was in force, is not any more, and under which no job runs, is deleted.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import structlog

from cloud_service.service import acts, folder
from cloud_service.service.federation import Membership
from cloud_service.service.folder import CloudKeyPair
from cloud_service.store import directory, jobs
from cloud_service.store.database import Database
from shared.crypto import certificates
from shared.crypto.certificates import Subject
from shared.crypto.wrapping import WrappingKey
from shared.errors import InputError
from shared.wire.base import decode_base64url

_log = structlog.get_logger()
CLEARING_SECONDS: Final = 60.0
_SETTLED_SECONDS: Final = 300
"""So long after a switch a replica may still begin a job under the key before; nothing is deleted until then."""


@dataclass(frozen=True, slots=True)
class Rotation:
    """The keys on this disk by what they are for; fingerprints in hex."""

    current: str
    pending: tuple[str, ...]
    retired: tuple[str, ...]
    needed: frozenset[str]


def look(database: Database, keys: CloudKeyPair, membership: Membership) -> Rotation:
    """What stands: the key in force, those not certified yet, those before, and which of them running jobs need."""
    joined = membership.current()
    current = str(certificates.read(joined.certificate).rsa_sha256)
    here = set() if keys.folder is None else set(folder.rsa_keys(keys.folder))
    with database.read() as connection:
        before = {
            str(certificates.read(row.certificate).rsa_sha256) for row in directory.federations(connection)
        }
        manifests = jobs.living_manifests(connection)
    needed = frozenset(
        WrappingKey.from_der(decode_base64url(m.rsa_public_key, what="rsa_public_key")).fingerprint
        for m in manifests
    )
    others = here - {current}
    return Rotation(
        current, tuple(sorted(others - before - needed)), tuple(sorted(others & (before | needed))), needed
    )


def begin(database: Database, keys: CloudKeyPair, membership: Membership, now: int) -> Subject:
    """Make a key beside the one in force, or take the one that waits already, and write the request for it.

    Raises: InputError: the keys have no folder, or this cloud has not joined.
    """
    if keys.folder is None:
        raise InputError("the keys lie in no folder", remedy="Run it with the cloud's own folder.")
    pending = look(database, keys, membership).pending
    fingerprint = pending[0] if pending else folder.add_rsa_key(keys.folder).public.fingerprint
    subject = folder.write_request(keys.folder, keys.identity, fingerprint)
    with database.write() as connection:
        acts.record(connection, actor=acts.OPERATOR, act="rsa_requested", subject=fingerprint, now=now)
    return subject


@dataclass(frozen=True, slots=True)
class Clearing:
    """Deletes from this replica's disk what no job needs any more."""

    database: Database
    keys: CloudKeyPair
    membership: Membership
    clock: Callable[[], int]

    def clear(self) -> list[str]:
        """The names of the files that were deleted."""
        if self.keys.folder is None or len(folder.rsa_keys(self.keys.folder)) < 2:
            return []
        now = self.clock()
        with self.database.read() as connection:
            newest = directory.newest_federation(connection)
        if newest is None or now - newest.stored < _SETTLED_SECONDS:
            return []
        found = look(self.database, self.keys, self.membership)
        return [
            name
            for fingerprint in found.retired
            if fingerprint not in found.needed and (name := self._delete(self.keys.folder, fingerprint, now))
        ]

    def _delete(self, path: Path, fingerprint: str, now: int) -> str | None:
        # The act comes first: a key that is gone without a record would be worse than a record without effect.
        with self.database.write() as connection:
            acts.record(connection, actor=acts.PROGRAM, act="rsa_deleted", subject=fingerprint, now=now)
        name = folder.delete_rsa_key(path, fingerprint)
        self.keys.forget(fingerprint)
        _log.info("an RSA key that no job needs was deleted", file=name)
        return name
