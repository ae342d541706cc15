"""What the authority's commands tell: each result as a document and as text with the next step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

from cryptography.x509 import load_der_x509_certificate

from shared.protocol.enrolment import fingerprint, request_fingerprint, spoken
from shared.reports import Report
from shared.wire.enrolment import Federation, Member
from trusted_authority.bundles import Written, former_holders, without_share
from trusted_authority.dealing import key_mode_of
from trusted_authority.requests import Request
from trusted_authority.vault import Vault

KEY_LIFE: Final = timedelta(days=365)
RENEWAL_NOTICE: Final = timedelta(days=60)
MIN_AGENTS: Final = 3


def warnings_of(vault: Vault, federation: Federation, now: datetime) -> list[str]:
    """What the authority should do soon, each as a sentence with the command."""
    return [
        *_rotation_warnings(vault, federation, now),
        *_share_warnings(federation),
        *_certificate_warnings(vault, federation, now),
        *_member_warnings(federation),
        *_storage_warnings(vault),
    ]


def _rotation_warnings(vault: Vault, federation: Federation, now: datetime) -> list[str]:
    former = former_holders(vault, federation)
    warnings = []
    if former:
        warnings.append(
            f"{', '.join(former)} left and still holds the current key: run `privet authority rotate` before the "
            "next job, or certify it again to take the removal back."
        )
    if now - _key_made(vault, federation) > KEY_LIFE:
        warnings.append("The key is more than a year old: run `privet authority rotate`.")
    return warnings


def _share_warnings(federation: Federation) -> list[str]:
    """Key mode threshold: who has no share, and what a smaller threshold costs."""
    spec = federation.threshold
    if spec is None:
        return []
    shareless, holders = without_share(federation), len(spec.holders)
    warnings = []
    if shareless:
        warnings.append(
            f"{', '.join(shareless)} came after the key was dealt and holds no share of it, so there is no bundle for "
            "it yet: run `privet authority rotate`, and every member imports its new bundle."
        )
    if spec.threshold < holders:
        warnings.append(
            f"{spec.threshold} of {holders} agents open a sum together. Two different sums of one round stay closed "
            f"only while fewer than {2 * spec.threshold - holders} of the agents work against the others; with "
            f"--threshold {holders} one honest agent is enough."
        )
    return warnings


def _certificate_warnings(vault: Vault, federation: Federation, now: datetime) -> list[str]:
    ending = [
        member.id for member in federation.members if _certificate_end(vault, member) - now < RENEWAL_NOTICE
    ]
    if not ending:
        return []
    told = (
        f"Certificates end within {RENEWAL_NOTICE.days} days: {', '.join(ending)}. Certify the same requests again "
        f"(`privet authority certify {vault.folder} ID.csr ...`); each member imports its new bundle with `join`."
    )
    return [told]


def _member_warnings(federation: Federation) -> list[str]:
    agents = sum(member.role == "agent" for member in federation.members)
    warnings = []
    if agents < MIN_AGENTS:
        warnings.append(f"A job needs at least {MIN_AGENTS} agents; certified so far: {agents}.")
    if agents == len(federation.members):
        warnings.append("The cloud is not certified yet.")
    return warnings


def _storage_warnings(vault: Vault) -> list[str]:
    if vault.is_protected():
        return []
    return ["The private files are not under a passphrase: keep this folder on an encrypted, offline disk."]


def _key_made(vault: Vault, federation: Federation) -> datetime:
    return datetime.fromtimestamp(vault.epoch_record(federation.epoch).created, UTC)


def _certificate_end(vault: Vault, member: Member) -> datetime:
    return load_der_x509_certificate(vault.certificate(member).der).not_valid_after_utc


def root_fingerprint(vault: Vault) -> str:
    """The root's fingerprint, 64 hex digits."""
    return fingerprint(vault.root_certificate())


def founded(vault: Vault, federation: Federation, now: datetime) -> Report:
    """After `init`."""
    warnings = warnings_of(vault, federation, now)
    document = {**_federation_document(vault, federation, now), "warnings": warnings}
    text = [
        f"Founded the federation {federation.name} in {vault.folder}: a {federation.key_bits}-bit key, epoch 1.",
        "",
        *_root_lines(vault),
        "",
        *_warning_lines(warnings),
        f"Next: privet authority certify {vault.folder} cloud.csr HOSPITAL.csr ...",
    ]
    return Report(document, "\n".join(text))


def handed_out(vault: Vault, written: Written, now: datetime, *, headline: str) -> Report:
    """After `certify`, `remove`, `rotate` and `bundles`: what was written, and for whom."""
    warnings = warnings_of(vault, written.federation, now)
    document = {
        **_federation_document(vault, written.federation, now),
        "bundles": {member: str(path) for member, path in written.bundles.items()},
        "document": str(written.document),
        "warnings": warnings,
    }
    text = [
        headline,
        *(f"  {path}  for {member}" for member, path in written.bundles.items()),
        f"  {written.document}  for everyone: the newest list of members",
        "",
        *_root_lines(vault),
        *(["", *_warning_lines(warnings)] if warnings else []),
    ]
    return Report(document, "\n".join(text))


def shown(vault: Vault, federation: Federation, now: datetime) -> Report:
    """After `show`."""
    warnings = warnings_of(vault, federation, now)
    document = {**_federation_document(vault, federation, now), "warnings": warnings}
    days = (now - _key_made(vault, federation)).days
    text = [
        f"Federation {federation.name}, epoch {federation.epoch}",
        f"Key     {federation.key_bits} bits, {days} days old",
        f"Key id  {federation.key_id}",
        *_threshold_lines(federation),
        *_root_lines(vault),
        "",
        *(_member_lines(vault, federation) or ["No members yet."]),
        *(["", *_warning_lines(warnings)] if warnings else []),
    ]
    return Report(document, "\n".join(text))


def question(request: Request) -> str:
    """What a person compares by telephone before a certificate is issued."""
    subject = request.subject
    change = "REPLACES its former certificate; " if request.replaces is not None else ""
    return (
        f"{subject.id} ({subject.role.value}), {change}request fingerprint:\n"
        f"  {spoken(request_fingerprint(subject))}\n"
        "Does the member read the same from its own screen? Certify it"
    )


def headline(ids: Sequence[str], doing: str, meaning: str = "") -> str:
    """What happened to whom, and what that means, before the list of files to hand out."""
    return f"{doing} {', '.join(ids)}. {meaning}Hand out, by any way that arrives whole:"


def _threshold_lines(federation: Federation) -> list[str]:
    spec = federation.threshold
    if spec is None:
        return []
    holders = ", ".join(holder.id for holder in spec.holders)
    return [f"In shares of which {spec.threshold} open a sum; held by {holders}"]


def _root_lines(vault: Vault) -> list[str]:
    return [
        "Root fingerprint, for every member to compare by telephone:",
        f"  {spoken(root_fingerprint(vault))}",
    ]


def _warning_lines(warnings: Sequence[str]) -> list[str]:
    return [f"Note: {warning}" for warning in warnings]


def _member_lines(vault: Vault, federation: Federation) -> list[str]:
    lines = []
    for member in federation.members:
        until = _certificate_end(vault, member).date().isoformat()
        lines.append(f"{member.id}  ({member.role}, certificate until {until})")
        lines.append(f"  {spoken(member.certificate_sha256)}")
    return lines


def _federation_document(vault: Vault, federation: Federation, now: datetime) -> Mapping[str, Any]:
    made = _key_made(vault, federation)
    return {
        "name": federation.name,
        "folder": str(Path(vault.folder)),
        "epoch": federation.epoch,
        "key_id": federation.key_id,
        "key_bits": federation.key_bits,
        "key_mode": key_mode_of(federation),
        "threshold": None if federation.threshold is None else federation.threshold.threshold,
        "key_created": made.isoformat(),
        "key_age_days": (now - made).days,
        "root_sha256": root_fingerprint(vault),
        "members": [
            {
                **member.model_dump(mode="json"),
                "certificate_until": _certificate_end(vault, member).isoformat(),
            }
            for member in federation.members
        ],
        "rotation_due": bool(former_holders(vault, federation)) or now - made > KEY_LIFE,
    }
