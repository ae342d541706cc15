"""Certificate requests as they come in: read, checked, and compared with who is certified already."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from machine.files import read_file
from shared.crypto import certificates
from shared.crypto.certificates import Role, Subject
from shared.errors import InputError, PeerError
from shared.wire.enrolment import MAX_MEMBERS, Federation, Member
from trusted_authority.vault import Vault

_MAX_REQUEST_BYTES: Final = 2**14


@dataclass(frozen=True, slots=True)
class Request:
    """A certificate request that was read and checked, and the member it would replace, if any."""

    path: Path
    subject: Subject
    replaces: Member | None


def read_requests(vault: Vault, paths: Sequence[Path], *, replace: bool) -> list[Request]:
    """Requests whose self-signature holds, each for an id and a key that are free, or to be replaced.

    Raises: InputError: the first file that is not such a request, with the next step.
    """
    federation = vault.federation()
    taken = {vault.certificate(member).public_key: member.id for member in federation.members}
    requests = [_read_request(vault, federation, path, replace=replace) for path in paths]
    for request in requests:
        owner = taken.setdefault(request.subject.public_key, request.subject.id)
        if owner != request.subject.id:
            raise _refused(
                request.path, f"its key is already certified for {owner}", "Make a key of its own."
            )
    ids = {member.id for member in federation.members} | {request.subject.id for request in requests}
    if len(ids) > MAX_MEMBERS:
        raise InputError(f"a federation has at most {MAX_MEMBERS} members", remedy="Remove one first.")
    if len({request.subject.id for request in requests}) != len(requests):
        raise InputError(
            "two of the requests are for the same id", remedy="Give one request for each member."
        )
    return requests


def _read_request(vault: Vault, federation: Federation, path: Path, *, replace: bool) -> Request:
    pem = read_file(path, max_bytes=_MAX_REQUEST_BYTES, remedy="Name the .csr file that the member sent.")
    try:
        subject = certificates.parse_request(pem)
    except PeerError as error:
        raise _refused(path, str(error), "Ask the member to send its request again.") from None
    member = federation.member(subject.id)
    same_keys = member is not None and vault.certificate(member).subject == subject
    if member is not None and not same_keys and not replace and not _changes_rsa(vault, member, subject):
        raise _refused(
            path,
            f"{subject.id} is already certified for another key",
            "If that member really made new keys (ask it by telephone), add --replace.",
        )
    return Request(path, subject, member)


def _changes_rsa(vault: Vault, member: Member, subject: Subject) -> bool:
    """Whether the cloud asks for a new RSA key by its certified identity, which signed the request."""
    known = vault.certificate(member).subject
    return known.role is Role.CLOUD and (known.role, known.public_key) == (subject.role, subject.public_key)


def _refused(path: Path, message: str, remedy: str) -> InputError:
    return InputError(message, where=str(path), remedy=remedy)
