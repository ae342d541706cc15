"""What the authority does: found a federation, certify, remove, rotate, write bundles.

Each step reads the vault, writes what is new beside what is there, and last the signed document that makes it
count (see `trusted_authority.vault`). Time is an argument; questions to a person are asked by the command.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

from shared.crypto import certificates
from shared.crypto.certificates import Certificate, Subject, Validity
from shared.crypto.identity import IdentityKey
from shared.crypto.paillier_private import PrivateKey, generate
from shared.errors import InputError
from shared.ids import CLOUD
from shared.protocol.enrolment import sign_federation
from shared.rng import random_bytes
from shared.wire.base import encode_base64url
from shared.wire.enrolment import (
    DealtSecrets,
    Federation,
    FederationSecrets,
    KeyBits,
    Member,
    SignedFederation,
)
from shared.wire.manifest import KeyMode
from trusted_authority.bundles import Written, bundle_path, write_bundles
from trusted_authority.dealing import NewKey, Primes, deal_key, key_mode_of, random_primes
from trusted_authority.requests import Request
from trusted_authority.vault import EpochRecord, Vault

ROOT_YEARS: Final = 20
CERTIFICATE_YEARS: Final = 2
_CLOCK_SLACK: Final = timedelta(days=1)
"""Certificates begin a day early, so that a member's slow clock does not refuse them."""


def found(
    folder: Path, *, name: str, key_bits: KeyBits, passphrase: str | None, now: datetime
) -> tuple[Vault, Federation]:
    """A new federation with its root, its first key and no members.

    Raises: InputError: something is in `folder` already.
    """
    vault = Vault.create(folder)
    root = IdentityKey.generate()
    root_certificate = certificates.create_root(root, name, _validity(now, ROOT_YEARS), _serial())
    vault.write_root(root, root_certificate, passphrase)
    private = generate(key_bits)
    _write_epoch(vault, _secrets(private, 1), passphrase, now)
    federation = Federation(
        name=name,
        epoch=1,
        key_id=private.public.key_id,
        n=f"{private.public.n:x}",
        key_bits=key_bits,
        root_certificate=encode_base64url(root_certificate),
        members=[],
        issued=int(now.timestamp()),
    )
    vault.write_document(sign_federation(root, federation))
    return vault.publish(folder), federation


def certify(vault: Vault, requests: Iterable[Request], *, out: Path, now: datetime) -> Written:
    """Issue certificates, and write the new members' bundles, the cloud's and the document."""
    root = vault.root_key()
    federation = vault.federation()
    issued = [_issue(root, vault.root_certificate(), request.subject, now) for request in requests]
    for certificate in issued:
        vault.write_certificate(certificate)
    names = {certificate.id for certificate in issued}
    kept = [member for member in federation.members if member.id not in names]
    members = [*kept, *(_member(certificate) for certificate in issued)]
    document = _next_document(root, federation, members, now)
    vault.write_document(document)
    return write_bundles(vault, [*names, CLOUD], out=out)


def remove(vault: Vault, member_id: str, *, out: Path, now: datetime) -> Written:
    """Drop a member from the document; undone by certifying its request again.

    Raises: InputError: no such member.
    """
    federation = vault.federation()
    if federation.member(member_id) is None:
        raise InputError(
            f"no member of that id in {federation.name}",
            where=member_id,
            remedy="List the members with `privet authority show`.",
        )
    members = [member for member in federation.members if member.id != member_id]
    vault.write_document(_next_document(vault.root_key(), federation, members, now))
    bundle_path(out, member_id).unlink(missing_ok=True)
    return write_bundles(vault, [CLOUD], out=out)


def rotate(
    vault: Vault,
    *,
    key_bits: KeyBits | None,
    out: Path,
    now: datetime,
    key_mode: KeyMode | None = None,
    threshold: int | None = None,
    primes: Primes = random_primes,
) -> Written:
    """A new Paillier key and federation secret under the next epoch, and new bundles for every member.

    Args: key_mode: None for the present one. threshold: of key mode threshold, how many agents open a sum together;
        None for all that are certified now. primes: safe primes for a key in shares.
    Raises: InputError: a threshold that keeps no promise, fewer than three agents, or one without key mode threshold.
    """
    root = vault.root_key()
    federation = vault.federation()
    epoch, bits = federation.epoch + 1, key_bits or federation.key_bits
    if (key_mode or key_mode_of(federation)) == "threshold":
        new = deal_key(federation, epoch, bits, threshold, primes)
    elif threshold is not None:
        raise InputError(
            "a threshold belongs to key mode threshold",
            where="--threshold",
            remedy="Add --key-mode threshold, or leave it out.",
        )
    else:
        private = generate(bits)
        new = NewKey(private.public, _secrets(private, epoch), None)
    _write_epoch(vault, new.secrets, vault.passphrase(), now)
    changes = {
        "epoch": epoch,
        "key_id": new.public.key_id,
        "n": f"{new.public.n:x}",
        "key_bits": new.public.bits,
        "threshold": new.spec,
    }
    renewed = federation.model_copy(update=changes)
    vault.write_document(_next_document(root, renewed, renewed.members, now))
    return write_bundles(vault, [member.id for member in renewed.members], out=out)


def _write_epoch(
    vault: Vault, secrets: FederationSecrets | DealtSecrets, passphrase: str | None, now: datetime
) -> None:
    vault.write_secrets(secrets, passphrase)
    vault.write_epoch_record(EpochRecord(epoch=secrets.epoch, created=int(now.timestamp()), holders=[]))


def _secrets(private: PrivateKey, epoch: int) -> FederationSecrets:
    return FederationSecrets.model_validate(
        {
            "p": f"{private.p:x}",
            "q": f"{private.q:x}",
            "G": random_bytes(32).hex(),
            "key_id": private.public.key_id,
            "epoch": epoch,
        }
    )


def _next_document(
    root: IdentityKey, federation: Federation, members: Sequence[Member], now: datetime
) -> SignedFederation:
    changes = {
        "members": sorted(members, key=lambda member: member.id),
        "issued": max(int(now.timestamp()), federation.issued + 1),
    }
    return sign_federation(root, federation.model_copy(update=changes))


def _issue(root: IdentityKey, root_certificate: bytes, subject: Subject, now: datetime) -> Certificate:
    der = certificates.issue(root, root_certificate, subject, _validity(now, CERTIFICATE_YEARS), _serial())
    return certificates.verify(der, root_certificate)


def _member(certificate: Certificate) -> Member:
    return Member(id=certificate.id, role=certificate.role.value, certificate_sha256=certificate.sha256)


def _validity(now: datetime, years: int) -> Validity:
    return Validity(now - _CLOCK_SLACK, now + timedelta(days=365 * years))


def _serial() -> int:
    # 126 random bits: unique, and as RFC 5280 asks positive and of at most 20 bytes.
    return int.from_bytes(random_bytes(16), "big") >> 1 | 1
