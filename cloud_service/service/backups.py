"""Backups as one file: the database, and a manifest that says of when it is and where every job stood.

The file is a tar archive of `manifest.json` and `database`, gzipped, for its owner only. It holds no private key:
`identity.pem`, the `rsa*.pem` files and `cloud.toml` change rarely and are kept apart from it.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import tarfile
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel, ConfigDict, ValidationError

from cloud_service.service import acts
from cloud_service.service.aftermath import Aftermath
from cloud_service.service.checked import CheckedContributions
from cloud_service.service.history import History
from cloud_service.service.notifier import Notifier
from cloud_service.store import backups, schema
from cloud_service.store.database import Database
from shared.errors import InputError
from shared.ids import JobId
from shared.protocol.envelopes import Signer

_MANIFEST: Final = "manifest.json"
_CONTENT: Final = "database"
_MAX_MANIFEST_BYTES: Final = 2**28
_PIECE_BYTES: Final = 2**20
_NOT_A_BACKUP: Final = (
    "Name a file that `privet cloud backup` has written; if it is one, it was damaged on its way."
)


class BackupManifest(BaseModel):
    """What a backup is of. `time`: Unix seconds. `jobs`: state, round, place in the chain and log head of each job."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    format: int
    kind: str
    time: int
    privet: str
    revision: str
    sha256: str
    jobs: dict[str, dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Restored:
    """What a restore came to. `lost`: the jobs that it ended."""

    manifest: BackupManifest
    lost: list[JobId]


def take(database: Database, out: Path, now: int) -> BackupManifest:
    """Write a backup of the database, while the cloud may serve. Nothing appears under `out` before it is whole.

    Raises: InputError: the file is there already, or cannot be written.
    """
    if out.exists():
        raise InputError("there is a file already", where=str(out), remedy="Choose another name.")
    schema.require_current(database)
    try:
        with tempfile.TemporaryDirectory(dir=out.absolute().parent, prefix=".backup-") as room:
            content = Path(room) / _CONTENT
            heads = backups.take(database, content)
            manifest = BackupManifest(
                format=1,
                kind="sqlite" if database.is_sqlite else "postgresql",
                time=now,
                privet=version("privet"),
                revision=heads.revision,
                sha256=_sha256(content),
                jobs=heads.jobs,
            )
            _pack(Path(room) / "whole", content, manifest).replace(out)
    except OSError as error:
        raise InputError(
            f"the backup cannot be written: {error.strerror}", where=str(out), remedy="Name another place."
        ) from None
    with database.write() as connection:
        details = {"sha256": manifest.sha256, "revision": manifest.revision}
        acts.record(
            connection, actor=acts.OPERATOR, act="backup_taken", subject=out.name, now=now, details=details
        )
    return manifest


def _pack(whole: Path, content: Path, manifest: BackupManifest) -> Path:
    descriptor = os.open(whole, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        with tarfile.open(fileobj=file, mode="w:gz", compresslevel=3) as archive:
            raw = manifest.model_dump_json(indent=1).encode()
            entry = tarfile.TarInfo(_MANIFEST)
            entry.size = len(raw)
            archive.addfile(entry, io.BytesIO(raw))
            archive.add(content, _CONTENT)
        file.flush()
        os.fsync(file.fileno())
    return whole


@contextmanager
def opened(file: Path, room: Path) -> Iterator[tuple[BackupManifest, Path]]:
    """The manifest of a backup, and its database unpacked beside `room`, checked against it.

    Raises: InputError: not a backup, or damaged.
    """
    with tempfile.TemporaryDirectory(dir=room, prefix=".restore-") as place:
        content = Path(place) / _CONTENT
        try:
            with tarfile.open(file, "r:gz") as archive:
                manifest = BackupManifest.model_validate_json(_member(archive, _MANIFEST, None))
                _member(archive, _CONTENT, content)
                _read_to_the_end(archive)
        except OSError as error:
            raise InputError(
                error.strerror or "not a backup", where=str(file), remedy=_NOT_A_BACKUP
            ) from None
        except (tarfile.TarError, zlib.error, ValidationError, KeyError, EOFError):
            raise InputError("not a backup", where=str(file), remedy=_NOT_A_BACKUP) from None
        if _sha256(content) != manifest.sha256:
            raise InputError("the backup is damaged", where=str(file), remedy=_NOT_A_BACKUP)
        yield manifest, content


def _read_to_the_end(archive: tarfile.TarFile) -> None:
    """The checksum of all of it stands at its end, and the manifest has no other. Raises: OSError: damaged."""
    stream = archive.fileobj
    while stream is not None and stream.read(_PIECE_BYTES):
        pass


def _member(archive: tarfile.TarFile, name: str, into: Path | None) -> bytes:
    """A member's bytes, or its copy in `into`; names and kinds inside the archive are not followed."""
    found = archive.extractfile(archive.getmember(name))
    if found is None:
        raise KeyError(name)
    if into is None:
        return found.read(_MAX_MANIFEST_BYTES)
    with into.open("wb") as file:
        while piece := found.read(_PIECE_BYTES):
            file.write(piece)
    return b""


def put_back(database: Database, file: Path, kept: Path, signer: Signer, now: int) -> Restored:
    """Replace the database by a backup, and end every job that ran in it: agents have seen what it does not know.

    Args: kept: where what was there goes. Raises: InputError: not a backup, of another kind of database, of a newer
        version, or a cloud is using the database.
    """
    database.dispose()  # its own idle connections would count as somebody's
    backups.require_alone(database)
    with opened(file, kept.parent) as (manifest, content):
        _check(manifest, database, file)
        lost: list[JobId] = []
        database.dispose()
        backups.put_back(
            database, content, kept, lambda restored: lost.extend(_examine(restored, manifest, signer, now))
        )
    return Restored(manifest, lost)


def _check(manifest: BackupManifest, database: Database, file: Path) -> None:
    kind = "sqlite" if database.is_sqlite else "postgresql"
    if manifest.kind != kind:
        raise InputError(
            f"the backup is of {manifest.kind}, database_url names {kind}",
            where=str(file),
            remedy="Restore it into a database of its kind.",
        )
    if manifest.revision not in schema.revisions():
        raise InputError(
            f"the backup is of revision {manifest.revision}, which this version does not know",
            where=str(file),
            remedy=f"Restore it with Privet {manifest.privet} or a newer version.",
        )


def _examine(restored: Database, manifest: BackupManifest, signer: Signer, now: int) -> list[JobId]:
    schema.upgrade(restored)
    history = History(restored, signer, Aftermath(Notifier(), CheckedContributions()), lambda: now)
    with restored.write() as connection:
        lost = history.lose_all(connection)
        acts.record(
            connection,
            actor=acts.OPERATOR,
            act="restored",
            subject=manifest.sha256,
            now=now,
            details={"backup_time": manifest.time, "ended": [str(job) for job in lost]},
        )
    return lost


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def described(manifest: BackupManifest) -> dict[str, Any]:
    """For a report."""
    document: dict[str, Any] = json.loads(manifest.model_dump_json())
    return document
