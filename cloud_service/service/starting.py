"""That a replica has started, in the log of acts: which program, and under which settings."""

from __future__ import annotations

import hashlib
import json
from importlib.metadata import version

from cloud_service.service import acts
from cloud_service.settings import Settings
from cloud_service.store.database import Database
from shared.configuring import is_secret


def note_start(database: Database, settings: Settings, now: int) -> None:
    """Record a start. Settings stand there by a hash, so that a change shows; secrets are not part of it.

    Raises: AuditUnavailableError: it cannot be recorded, so the cloud does not start.
    """
    details: dict[str, acts.Detail] = {
        "version": version("privet"),
        "settings_sha256": settings_hash(settings),
    }
    subject = settings.replica_address or "cloud"
    with database.write() as connection:
        acts.record(
            connection, actor=acts.PROGRAM, act="cloud_started", subject=subject, now=now, details=details
        )


def settings_hash(settings: Settings) -> str:
    """SHA-256 of all settings that are no secrets."""
    secret = {name for name, field in type(settings).model_fields.items() if is_secret(field)}
    shown = settings.model_dump(mode="json", exclude=secret)
    return hashlib.sha256(json.dumps(shown, sort_keys=True).encode()).hexdigest()
