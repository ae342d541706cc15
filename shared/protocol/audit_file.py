"""A log in a file, to be checked anywhere without keys: lines of canonical JSON, signed by who kept the log.

First line: whose log it is, with the certificate that signs and the root it hangs on. Then the records, each as its
exact text with the head after it; of a hospital's records about other jobs only the head. Then, in the cloud's log of a
job, the signed messages of the members whose bytes are kept. Last line: how many records there are, the head, and a
signature over everything before it, so that a file that was cut shows it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Annotated, Final, Literal

from pydantic import Field

from shared.crypto import identity
from shared.errors import ErrorCode, PeerError
from shared.protocol.audit_log import START
from shared.protocol.envelopes import Signer
from shared.wire.base import Base64Url, Count, Hex16, Hex32, Hex64, Id, WireModel

_END_CONTEXT: Final = b"ppsdt/1/audit\n"
MAX_LINE_BYTES: Final = 2**24
LogName = Literal["job", "acts", "people", "hospital"]


class Header(WireModel):
    """First line. `log`: the cloud's of one job, of acts or of people, or a hospital's. `root`: certificate, DER.

    `members`: certificates (DER) of the hospitals that a job invited. `exported`: Unix seconds.
    """

    privet_audit: Literal[1] = 1
    log: LogName
    exporter: Id
    job: Hex16 | None = None
    manifest_sha256: Hex32 | None = None
    certificate: Base64Url
    root: Base64Url
    members: Annotated[dict[Id, Base64Url], Field(default_factory=dict)]
    version: Annotated[str, Field(max_length=32)] = ""
    exported: Count


class RecordLine(WireModel):
    """One record. `record`: its canonical text; None where it is about another job than the one asked for."""

    n: Count
    hash: Hex32
    record: str | None = None


class MessageLine(WireModel):
    """A member's signed envelope, exactly as it came."""

    message: str


class End(WireModel):
    """What the signature is over. `sha256`: of all bytes before the last line."""

    records: Count
    head: Hex32
    sha256: Hex32


class EndLine(WireModel):
    """Last line."""

    end: End
    signature: Hex64


@dataclass(frozen=True, slots=True)
class AuditFile:
    """A file that was read. `name`: for people. `sha256`: of the bytes before the last line; None: there is no end."""

    name: str
    header: Header
    records: tuple[RecordLine, ...]
    messages: tuple[str, ...]
    end: EndLine | None
    sha256: str


def export(
    header: Header, records: Iterable[RecordLine], messages: Iterable[bytes], signer: Signer
) -> Iterator[bytes]:
    """The lines of a file, one by one."""
    digest, count, head = hashlib.sha256(), 0, START
    for line in _lines(header, records, messages):
        if isinstance(line, RecordLine):
            count, head = count + 1, line.hash
        raw = line.canonical() + b"\n"
        digest.update(raw)
        yield raw
    end = End(records=count, head=head, sha256=digest.hexdigest())
    signature = signer.sign(_END_CONTEXT + end.canonical()).hex()
    yield EndLine(end=end, signature=signature).canonical() + b"\n"


def _lines(header: Header, records: Iterable[RecordLine], messages: Iterable[bytes]) -> Iterator[WireModel]:
    yield header
    yield from records
    for message in messages:
        yield MessageLine(message=message.decode())


def read(name: str, raw: bytes) -> AuditFile:
    """A file as it stands; nothing is verified yet. Raises: PeerError: `malformed`, naming the line."""
    lines = raw.split(b"\n")
    header = Header.parse(lines[0], what=f"{name} line 1", max_bytes=MAX_LINE_BYTES)
    records, messages, end, read_bytes = [], [], None, len(lines[0]) + 1
    for number, line in enumerate(lines[1:], start=2):
        if not line and number == len(lines):
            break
        what = f"{name} line {number}"
        if end is not None:
            raise PeerError(ErrorCode.MALFORMED, f"{what}: something follows the signed end")
        if line.startswith(b'{"end":'):
            end = EndLine.parse(line, what=what, max_bytes=MAX_LINE_BYTES)
            continue
        if line.startswith(b'{"message":'):
            messages.append(MessageLine.parse(line, what=what, max_bytes=MAX_LINE_BYTES).message)
        else:
            records.append(RecordLine.parse(line, what=what, max_bytes=MAX_LINE_BYTES))
        read_bytes += len(line) + 1
    sha256 = hashlib.sha256(raw[:read_bytes]).hexdigest()
    return AuditFile(name, header, tuple(records), tuple(messages), end, sha256)


def verify_end(file: AuditFile, public_key: bytes) -> None:
    """Whether who kept the log signed this file. Raises: PeerError: `bad_signature`. No end: nothing is checked."""
    if file.end is not None:
        signature = bytes.fromhex(file.end.signature)
        identity.verify(public_key, signature, _END_CONTEXT + file.end.end.canonical(), what="end")
