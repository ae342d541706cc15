"""This hospital's own log as a signed file, for others to check (`privet audit verify`)."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import Any

from hospital_agent.journal import Journal
from hospital_agent.keyring import Keyring
from shared.errors import InputError
from shared.protocol.audit_file import Header, RecordLine, export
from shared.wire.base import encode_base64url


@dataclass(frozen=True, slots=True)
class LogFile:
    """The file, how many records the log has, and how many of them it shows."""

    content: bytes = field(repr=False)
    records: int
    shown: int


def signed_log(journal: Journal, ring: Keyring, job: str | None) -> LogFile:
    """The log as it stands; of a job only its records, and of others their hashes.

    Raises: InputError: the chain is broken, or this hospital has joined no federation.
    """
    journal.audit_records()
    lines = [_line(number, text, head, job) for number, text, head in journal.audit_rows()]
    content = b"".join(export(_header(ring, job), lines, (), ring.identity))
    return LogFile(content, len(lines), sum(line.record is not None for line in lines))


def _header(ring: Keyring, job: str | None) -> Header:
    if ring.certificate is None:
        raise InputError("this hospital has joined no federation", remedy="Join first: privet agent join")
    return Header(
        log="hospital",
        exporter=str(ring.certificate.id),
        job=job,
        certificate=encode_base64url(ring.certificate.der),
        root=encode_base64url(ring.hospital_trust().root),
        members={},
        version=version("privet"),
        exported=int(time.time()),
    )


def _line(number: int, text: str, head: str, wanted: str | None) -> RecordLine:
    record: dict[str, Any] = json.loads(text)
    shown = wanted is None or record.get("job") == wanted
    return RecordLine(n=number, hash=head, record=text if shown else None)
