"""A job's log at the cloud, held against itself: claims, sums, decisions and trees that must fit one another."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

from shared.crypto import certificates
from shared.errors import PeerError
from shared.protocol.audit_check import Finding, Log
from shared.protocol.audit_log import JournalClaim, SignedClaim, list_hash, verify_claim
from shared.protocol.envelopes import unseal, verify
from shared.texts import text
from shared.wire.base import canonical_json, decode_base64url
from shared.wire.envelope import Envelope, MessageType

_ONCE = (
    MessageType.CONTRIBUTION,
    MessageType.PARTIAL,
    MessageType.DECISION,
    MessageType.NOTIFY,
    MessageType.ATTEST,
)
_STATED = (MessageType.DECISION, MessageType.NOTIFY)
_MAX_MESSAGE_BYTES = 2**27
Record = Mapping[str, Any]


def cloud_alone(cloud: Log) -> Iterator[Finding]:
    """Everything that contradicts within the log."""
    yield from _claims(cloud)
    yield from _echoes(cloud)
    yield from _once(cloud)
    yield from _sums(cloud)
    yield from _messages(cloud)
    yield from _trees(cloud)


def key_of(cloud: Log, agent: str) -> bytes | None:
    """The public key of a hospital by the certificate that the log names; None: it names no good one."""
    encoded = cloud.file.header.members.get(agent)
    if encoded is None:
        return None
    try:
        der = decode_base64url(encoded, what="certificate")
        root = decode_base64url(cloud.file.header.root, what="root")
        certificate = certificates.verify(der, root)
    except PeerError:
        return None
    return certificate.public_key if certificate.id == agent else None


def _claims(cloud: Log) -> Iterator[Finding]:
    """Heads of the hospitals' logs that came with their messages: signed by them, and never going back."""
    last: dict[str, int] = {}
    for number, record in cloud.shown.items():
        claim, agent = record.get("journal"), str(record.get("from", ""))
        if not isinstance(claim, dict):
            continue
        key = key_of(cloud, agent)
        try:
            signed = SignedClaim(
                claim=JournalClaim(
                    agent=agent, message=record["sha256"], number=claim["n"], head=claim["head"]
                ),
                signature=claim["signature"],
            )
            if key is None:
                raise KeyError(agent)
            verify_claim(signed, agent=agent, message=record["sha256"], public_key=key)
        except (PeerError, KeyError, ValueError):
            told = text("log.unsigned_head", agent=agent)
            yield Finding("claim_forged", cloud.name, told, number)
            continue
        if int(claim["n"]) < last.get(agent, -1):
            told = text("log.fewer_records", agent=agent)
            yield Finding("claim_backwards", cloud.name, told, number)
        last[agent] = max(int(claim["n"]), last.get(agent, -1))


def _echoes(cloud: Log) -> Iterator[Finding]:
    """Heads of this log that hospitals had seen when they sent something."""
    for number, record in cloud.shown.items():
        echo = record.get("echo")
        if echo is None or "refused" in record:
            continue
        place = cloud.places.get(str(echo))
        if place is None:
            told = text("log.head_not_here", agent=record.get("from"))
            yield Finding("unknown_echo", cloud.name, told, number)
        elif place >= number:
            yield Finding(
                "head_out_of_order",
                cloud.name,
                text("log.head_later", agent=record.get("from")),
                number,
            )


def _taken(cloud: Log) -> Iterator[tuple[int, Record]]:
    """Members' messages that were not refused."""
    for number, record in cloud.shown.items():
        if "from" in record and "refused" not in record:
            yield number, record


def place_of(record: Record) -> tuple[int, int]:
    """Round and attempt of a message."""
    return int(record.get("round", 0)), int(record.get("attempt", 0))


def _once(cloud: Log) -> Iterator[Finding]:
    seen: set[tuple[Any, ...]] = set()
    for number, record in _taken(cloud):
        if record["type"] not in _ONCE:
            continue
        key = (record["type"], record["from"], place_of(record))
        if key in seen:
            told = text(
                "log.second_message",
                type=record["type"],
                agent=record["from"],
                round=counted(place_of(record)[0]),
            )
            yield Finding("taken_twice", cloud.name, told, number)
        seen.add(key)


def _sums(cloud: Log) -> Iterator[Finding]:
    """Each sum is over the contributions that were taken, and a round has one."""
    contributed: dict[tuple[int, int], list[list[str]]] = defaultdict(list)
    summed: set[int] = set()
    for number, record in cloud.shown.items():
        if record.get("type") == MessageType.CONTRIBUTION and "refused" not in record:
            contributed[place_of(record)].append([str(record["from"]), str(record["sha256"])])
        if record.get("type") != MessageType.AGGREGATE or "from" in record:
            continue
        place = place_of(record)
        if place[0] in summed:
            yield Finding("two_sums", cloud.name, text("log.second_sum", round=counted(place[0])), number)
        summed.add(place[0])
        if "list_sha256" in record and record["list_sha256"] != list_hash(sorted(contributed[place])):
            told = text("log.sum_over_others", round=counted(place[0]))
            yield Finding("sum_list_differs", cloud.name, told, number)


def _messages(cloud: Log) -> Iterator[Finding]:
    """The signed messages that came with the log: genuine, in the log, and decisions all alike."""
    logged = {str(record["sha256"]): number for number, record in _taken(cloud)}
    stated: dict[tuple[int, int], dict[bytes, str]] = defaultdict(dict)
    for line in cloud.file.messages:
        try:
            sealed = unseal(line.encode(), max_bytes=_MAX_MESSAGE_BYTES)
            key = key_of(cloud, sealed.envelope.sender)
            if key is None:
                raise KeyError(sealed.envelope.sender)
            verify(sealed, key)
        except (PeerError, KeyError):
            yield Finding("message_forged", cloud.name, text("log.not_its_sender"))
            continue
        envelope = sealed.envelope
        number = logged.get(sealed.sha256)
        if number is None:
            said = text("log.not_named", type=envelope.type, agent=envelope.sender)
            yield Finding("message_not_in_log", cloud.name, said)
        if envelope.mh != cloud.file.header.manifest_sha256:
            yield Finding(
                "manifest_differs",
                cloud.name,
                text("log.other_manifest_spoken", agent=envelope.sender),
                number,
            )
        if envelope.type in _STATED:
            stated[envelope.round, envelope.attempt][_essence(envelope)] = envelope.sender
    for place, said_by in stated.items():
        if len(said_by) > 1:
            who = " and ".join(sorted(said_by.values()))
            yield Finding(
                "decisions_differ",
                cloud.name,
                text("log.decided_differently", round=counted(place[0]), who=who),
            )


def _essence(envelope: Envelope) -> bytes:
    """What members must state alike: all but the head each has last seen."""
    return canonical_json({key: value for key, value in envelope.body.items() if key != "head"})


def _trees(cloud: Log) -> Iterator[Finding]:
    first: tuple[str, str] | None = None
    for number, record in _taken(cloud):
        if record["type"] != MessageType.ATTEST or "tree_sha256" not in record:
            continue
        if first is not None and record["tree_sha256"] != first[1]:
            told = text("log.other_tree", agent=record["from"], first=first[0])
            yield Finding("trees_differ", cloud.name, told, number)
        first = first or (str(record["from"]), str(record["tree_sha256"]))


def counted(round_number: object) -> object:
    """A round as people count, from 1; logs number them from 0. What is no number is told as it stands."""
    return round_number + 1 if isinstance(round_number, int) else round_number
