"""Whether two jobs ran over the same records, whatever their schemas: what the difference rule compares (rule A4).

The salted snapshot hash cannot tell: its salt is fresh for each job, so that it says nothing to the cloud. This one
never leaves the hospital.
"""

from __future__ import annotations

import hashlib

from hospital_agent.records.source import DataSettings
from shared.errors import InputError


def records_identity(settings: DataSettings) -> str:
    """SHA-256 of a file's bytes; for a database, of the place that the settings name, because its rows cannot be hashed
    without reading them all: there every job over one table counts as over the same records.

    Raises: InputError: the file cannot be read.
    """
    if settings.path is None:
        place = "\n".join(str(part) for part in (settings.url, settings.table, settings.query))
        return hashlib.sha256(b"database\n" + place.encode()).hexdigest()
    try:
        with settings.path.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise InputError(
            error.strerror or "cannot be read",
            where=settings.path.name,
            remedy="Set the path of the records to an existing file.",
        ) from None
