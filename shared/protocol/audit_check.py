"""One exported log by itself: is it whole, unbroken, and signed by whom it says?

What two logs say of each other is compared in `shared.protocol.audit_cross`. Nothing here raises for a bad file: each
fault is a finding, in words for who has to ask somebody about it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from shared.crypto import certificates
from shared.crypto.certificates import Role
from shared.errors import InternalError, PeerError
from shared.ids import CLOUD
from shared.protocol import audit_file
from shared.protocol.audit_file import AuditFile, RecordLine
from shared.protocol.audit_log import START, link
from shared.protocol.enrolment import fingerprint
from shared.texts import text
from shared.wire.base import canonical_json, decode_base64url


@dataclass(frozen=True, slots=True)
class Finding:
    """What is wrong. `code`: for programs. `file`: by name. `record`: its number, where it is about one."""

    code: str
    file: str
    text: str
    record: int | None = None

    def __str__(self) -> str:
        """One line for people."""
        place = self.file if self.record is None else text("log.place", file=self.file, record=self.record)
        return text("log.finding", place=place, text=self.text, code=self.code)


@dataclass(frozen=True)
class Log:
    """A file that could be read, with its records as JSON. `shown`: number to record; others are of other jobs."""

    file: AuditFile
    shown: Mapping[int, Mapping[str, Any]] = field(repr=False)

    @property
    def name(self) -> str:
        """The file's name."""
        return self.file.name

    @property
    def owner(self) -> str:
        """Who kept the log: `cloud`, or a hospital's id."""
        return self.file.header.exporter

    @cached_property
    def heads(self) -> Mapping[int, str]:
        """The head after each record, hidden ones included."""
        return {line.n: line.hash for line in self.file.records}

    @cached_property
    def places(self) -> Mapping[str, int]:
        """The number of the record that each head belongs to; -1 for the head of the empty log."""
        return {START: -1} | {line.hash: line.n for line in self.file.records}

    def of_job(self, job: str) -> Iterator[tuple[int, Mapping[str, Any]]]:
        """Records about a job, in order."""
        is_own = self.file.header.log == "job"
        for number, record in self.shown.items():
            if is_own or record.get("job") == job:
                yield number, record


def check(name: str, raw: bytes, root_sha256: str | None = None) -> tuple[Log | None, list[Finding]]:
    """Look at one file. Args: root_sha256: fingerprint of the federation's root, 64 hex digits, where it is known.

    Returns: the log, None where it cannot be read at all, and what is wrong with it.
    """
    try:
        file = audit_file.read(name, raw)
    except PeerError as error:
        return None, [Finding("unreadable", name, text("log.edited", error=error))]
    log = Log(file, {})
    shown: dict[int, Mapping[str, Any]] = {}
    findings = [*_signed(file, root_sha256), *_chained(file, shown), *_ended(file)]
    return Log(log.file, shown), findings


def _signed(file: AuditFile, root_sha256: str | None) -> Iterator[Finding]:
    header = file.header
    role = Role.AGENT if header.log == "hospital" else Role.CLOUD
    try:
        root = decode_base64url(header.root, what="root")
        certificates.root_public_key(root)
        certificate = certificates.verify(decode_base64url(header.certificate, what="certificate"), root)
    except PeerError as error:
        yield Finding("bad_certificate", file.name, text("log.exporter_certificate", error=error))
        return
    if root_sha256 is not None and fingerprint(root) != root_sha256:
        yield Finding("other_root", file.name, text("log.other_root"))
    if (certificate.id, certificate.role) != (header.exporter, role) or (role == Role.CLOUD) != (
        header.exporter == CLOUD
    ):
        told = text("log.wrong_certificate", exporter=header.exporter, role=role, id=certificate.id)
        yield Finding("wrong_signer", file.name, told)
        return
    try:
        audit_file.verify_end(file, certificate.public_key)
    except PeerError:
        told = text("log.wrong_end_signature", exporter=header.exporter)
        yield Finding("bad_signature", file.name, told)


def stretch(name: str, lines: Sequence[RecordLine], head: str, first: int) -> list[Finding]:
    """Look at a part of a log alone. Args: head: before it, 64 hex digits. first: the number of its first record."""
    return list(_links(name, lines, {}, head, first))


def _chained(file: AuditFile, shown: dict[int, Mapping[str, Any]]) -> Iterator[Finding]:
    """The chain, record by record; fills `shown` with what can be read."""
    return _links(file.name, file.records, shown, START, 0)


def _links(
    name: str, lines: Sequence[RecordLine], shown: dict[int, Mapping[str, Any]], head: str, first: int
) -> Iterator[Finding]:
    for expected, line in enumerate(lines, first):
        if line.n != expected:
            told = text("log.wrong_number", expected=expected)
            yield Finding("gap", name, told, line.n)
            return
        if line.record is not None:
            raw = line.record.encode()
            if link(head, raw) != line.hash:
                told = text("log.wrong_head")
                yield Finding("broken_link", name, told, line.n)
            record = _read(raw)
            if record is None:
                yield Finding("unreadable", name, text("log.not_canonical"), line.n)
            else:
                shown[line.n] = record
        head = line.hash


def _read(raw: bytes) -> Mapping[str, Any] | None:
    try:
        value = json.loads(raw)
        is_canonical = isinstance(value, dict) and canonical_json(value) == raw
    except (ValueError, RecursionError, InternalError):  # floats and the like have no canonical form here
        return None
    return value if is_canonical else None


def _ended(file: AuditFile) -> Iterator[Finding]:
    if file.end is None:
        yield Finding("no_end", file.name, text("log.no_end"))
        return
    end = file.end.end
    head = file.records[-1].hash if file.records else START
    if (end.records, end.head) != (len(file.records), head):
        told = text("log.other_end", signed=end.records, here=len(file.records))
        yield Finding("end_differs", file.name, told)
    elif end.sha256 != file.sha256:
        yield Finding("end_differs", file.name, text("log.changed_before_end"))
