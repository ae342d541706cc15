"""A hospital joins a job: what it checks of the offer, and who the other members are by their own signatures."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import Final

from shared.crypto.certificates import Role
from shared.crypto.wrapping import WrappingKey
from shared.errors import ErrorCode, InputError, PeerError
from shared.ids import CLOUD, EVERYONE, AgentId
from shared.protocol.agent_effects import HospitalKeys
from shared.protocol.envelopes import Sealed, body_of, reseal, verify
from shared.protocol.layout import root_slots
from shared.protocol.participation import Participation, Peer, schema_of
from shared.protocol.trust import Trust
from shared.tree.criteria import f_table_sha256
from shared.tree.schema_checks import is_plain_line
from shared.wire.base import decode_base64url
from shared.wire.envelope import MessageType, SignedEnvelope
from shared.wire.manifest import MAX_CELLS, Manifest
from shared.wire.rounds import JobAccept, JobDecline, JobOffer, Roster

F_TABLE_BITS: Final = 32
MAX_OFFER_BYTES: Final = 2**25
"""Longer offers are refused: an agent keeps each in its journal and reads it again and again."""


def read_offer(sealed: Sealed, own: AgentId, keys: HospitalKeys) -> Manifest:
    """Check an offer all the way; own policy and data come after it.

    Raises: PeerError: bad signature, foreign certificate, manifest that does not fit this federation.
    """
    if len(sealed.raw) > MAX_OFFER_BYTES:
        raise PeerError(ErrorCode.TOO_LARGE, f"job offer: at most {MAX_OFFER_BYTES} bytes")
    manifest = body_of(sealed.envelope, JobOffer).manifest
    cloud = keys.trust.certificate(
        decode_base64url(manifest.cloud_certificate, what="cloud_certificate"), role=Role.CLOUD
    )
    verify(sealed, cloud.public_key)
    rsa_key = _read_manifest_parts(manifest)
    expected: list[tuple[bool, str]] = [
        (sealed.envelope.mh == hashlib.sha256(manifest.canonical()).hexdigest(), "mh"),
        (sealed.envelope.job == manifest.job, "job"),
        (sealed.envelope.sender == CLOUD and sealed.envelope.to == EVERYONE, "from or to"),
        (own in manifest.invited and manifest.invited == sorted(set(manifest.invited)), "invited"),
        (rsa_key.fingerprint == cloud.rsa_sha256, "rsa_public_key"),
        (manifest.f_table_sha256 == f_table_sha256(F_TABLE_BITS), "f_table_sha256"),
        (is_plain_line(manifest.question), "question: not one line of plain text"),
        (root_slots(manifest.schema_) <= MAX_CELLS, "schema: too many cells"),
    ]
    wrong = [name for fits, name in expected if not fits]
    if wrong:
        raise PeerError(ErrorCode.MALFORMED, f"job offer: {', '.join(wrong)} does not fit; declined")
    _check_key_mode(manifest, keys)
    return manifest


def _check_key_mode(manifest: Manifest, keys: HospitalKeys) -> None:
    """The manifest's key and who may open sums with it must be what the trusted authority has dealt to this agent."""
    round_keys = keys.round_keys
    if manifest.key_id != round_keys.cipher.public.key_id:
        raise PeerError(
            ErrorCode.MALFORMED,
            "job offer: it uses another Paillier key than this agent holds; import the newest bundle "
            "(`privet agent join --bundle`)",
        )
    if manifest.is_secret:
        return  # it works on shares of records, and only the federation secret is used
    if manifest.key_mode != round_keys.key_mode:
        raise PeerError(
            ErrorCode.MALFORMED,
            f"job offer: key mode {manifest.key_mode}, but the key was dealt for {round_keys.key_mode}; declined",
        )
    if manifest.key_mode == "threshold":
        strangers = sorted(set(manifest.invited) - {str(agent) for agent in round_keys.holders})
        if manifest.threshold != round_keys.share.threshold_key.threshold or strangers:
            raise PeerError(
                ErrorCode.MALFORMED,
                "job offer: another threshold than the key's, or an invited hospital without a share of it; declined",
            )


def _read_manifest_parts(manifest: Manifest) -> WrappingKey:
    """The cloud's RSA key, once the schema is seen to be one. Raises: PeerError: either is not what it must be."""
    try:
        schema_of(manifest)
        return WrappingKey.from_der(decode_base64url(manifest.rsa_public_key, what="rsa_public_key"))
    except InputError as error:
        raise PeerError(ErrorCode.MALFORMED, f"job offer: {error}") from None


def decline(manifest: Manifest, code: str) -> JobDecline:
    """Say no, with a code and nothing else."""
    return JobDecline(mh=hashlib.sha256(manifest.canonical()).hexdigest(), code=code)


def join_roster(participation: Participation, sealed: Sealed, keys: HospitalKeys) -> Participation:
    """The participation with its members, once the roster is seen to be what they signed.

    Raises: PeerError: `roster_mismatch`, `policy_min_hospitals`, `bad_signature`, `unknown_agent`.
    """
    body = body_of(sealed.envelope, Roster)
    if participation.members:
        raise PeerError(ErrorCode.ROSTER_MISMATCH, "roster: it is already fixed for this job")
    if len(body.accepts) != len(body.certificates):
        raise PeerError(ErrorCode.ROSTER_MISMATCH, "roster: acceptances and certificates do not pair up")
    peers = tuple(
        _peer(participation, signed, certificate, keys.trust)
        for signed, certificate in zip(body.accepts, body.certificates, strict=True)
    )
    ids = [peer.id for peer in peers]
    own = next((signed for signed in body.accepts if signed.envelope.sender == participation.own), None)
    if ids != sorted(set(ids)) or own is None or reseal(own).sha256 != participation.accept:
        raise PeerError(
            ErrorCode.ROSTER_MISMATCH, "roster: not sorted, or without this hospital's own acceptance"
        )
    if len(ids) < participation.manifest.min_hospitals:
        raise PeerError(ErrorCode.POLICY_MIN_HOSPITALS, "roster: fewer hospitals than the manifest demands")
    _check_secret_roster(participation.manifest, peers)
    joined = replace(participation, members=peers, roster=tuple(ids))
    if joined.context(b"\0" * 32).roster_hash.hex() != body.roster_hash:
        raise PeerError(ErrorCode.ROSTER_MISMATCH, "roster: roster_hash is not the hash of these members")
    return joined


def _check_secret_roster(manifest: Manifest, peers: tuple[Peer, ...]) -> None:
    secret = manifest.secret
    if secret is None:
        return
    if set(secret.compute_parties) - {peer.id for peer in peers}:
        raise PeerError(ErrorCode.ROSTER_MISMATCH, "roster: a compute party of the manifest is not in it")
    if any(peer.records and not secret.takes_records_of(peer.id) for peer in peers):
        raise PeerError(ErrorCode.ROSTER_MISMATCH, "roster: records of a member that is told no classes")
    if not 0 < sum(peer.records or 0 for peer in peers) <= secret.max_records:
        raise PeerError(
            ErrorCode.ROSTER_MISMATCH, "roster: no records, or more than the manifest's max_records"
        )


def _peer(participation: Participation, signed: SignedEnvelope, certificate_text: str, trust: Trust) -> Peer:
    der = decode_base64url(certificate_text, what="certificate")
    certificate = trust.certificate(der, role=Role.AGENT)
    sealed = reseal(signed)
    verify(sealed, certificate.public_key)
    body = body_of(signed.envelope, JobAccept)
    envelope = signed.envelope
    fits = (
        envelope.type is MessageType.JOB_ACCEPT
        and envelope.sender == certificate.id
        and envelope.sender in participation.manifest.invited
        and envelope.job == participation.manifest.job
        and envelope.mh == body.mh == participation.mh
    )
    ephemeral = decode_base64url(body.ephemeral, what="ephemeral")
    fits = fits and (body.records is not None) == participation.manifest.is_secret
    if not fits or len(ephemeral) != 32:
        raise PeerError(
            ErrorCode.ROSTER_MISMATCH, f"roster: the acceptance of {envelope.sender} is not for this job"
        )
    return Peer(
        AgentId(certificate.id),
        hashlib.sha256(der).digest(),
        certificate.public_key,
        ephemeral,
        body.records,
        body.direct,
    )
