"""The logs of a job at the cloud and at the hospitals, held against each other.

Each names messages by their hashes and holds the other's heads. So a message that one side sent and the other does not
know, a sum over other contributions than were sent, and a history that was shown to one hospital only all stand out,
whoever of the parties kept the false log. Records of versions that did not write something are not compared in it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
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
_TO_ALL = (
    MessageType.ROSTER,
    MessageType.ROUND_OPEN,
    MessageType.AGGREGATE,
    MessageType.PARTIALS,
    MessageType.JOB_DONE,
)
_MAX_MESSAGE_BYTES = 2**27
Record = Mapping[str, Any]
Told = tuple[str, int, int]
"""A message to all: its type, round and attempt."""


def compare(logs: Sequence[Log]) -> list[Finding]:
    """Everything that contradicts, between all files that were given."""
    findings = [*_roots(logs)]
    for first, second in combinations(logs, 2):
        findings += _one_history(first, second)
    clouds = {str(log.file.header.job): log for log in logs if log.file.header.log == "job"}
    hospitals = [log for log in logs if log.file.header.log == "hospital"]
    for job in sorted(clouds.keys() | _jobs_of(hospitals)):
        cloud = clouds.get(job)
        if cloud is not None:
            findings += _readable(cloud, _cloud_alone(cloud))
            for log in logs:
                findings += _acts(log, cloud) if log.file.header.log == "acts" else ()
            for hospital in hospitals:
                findings += _readable(hospital, _pair(job, cloud, hospital))
        first_told: dict[Told, tuple[str, str]] = {}
        for hospital in hospitals:
            findings += _readable(hospital, _told_alike(job, hospital, first_told))
    return findings


def _readable(log: Log, findings: Iterator[Finding]) -> Iterator[Finding]:
    """The findings, and one more where a record is of a form that no version writes."""
    try:
        yield from findings
    except (KeyError, TypeError, ValueError, AttributeError, PeerError):
        told = text("log.no_form")
        yield Finding("unreadable", log.name, told)


def _roots(logs: Sequence[Log]) -> Iterator[Finding]:
    for log in logs[1:]:
        if log.file.header.root != logs[0].file.header.root:
            yield Finding("other_root", log.name, text("log.roots_differ", other=logs[0].name))


def _jobs_of(hospitals: Sequence[Log]) -> set[str]:
    return {str(record["job"]) for log in hospitals for record in log.shown.values() if "job" in record}


def _one_history(first: Log, second: Log) -> Iterator[Finding]:
    """Two exports of one log: the shorter must be the beginning of the longer."""
    one, other = first.file.header, second.file.header
    if (one.log, one.exporter, one.job if one.log == "job" else None) != (
        other.log,
        other.exporter,
        other.job if other.log == "job" else None,
    ):
        return
    for number in sorted(first.heads.keys() & second.heads.keys()):
        if first.heads[number] != second.heads[number]:
            told = text("log.two_histories", name=second.name, exporter=one.exporter)
            yield Finding("two_histories", first.name, told, number)
            return


# --- the cloud's log by itself --------------------------------------------------------------------------------


def _cloud_alone(cloud: Log) -> Iterator[Finding]:
    yield from _claims(cloud)
    yield from _echoes(cloud)
    yield from _once(cloud)
    yield from _sums(cloud)
    yield from _messages(cloud)
    yield from _trees(cloud)


def _key_of(cloud: Log, agent: str) -> bytes | None:
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
        key = _key_of(cloud, agent)
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


def _place(record: Record) -> tuple[int, int]:
    return int(record.get("round", 0)), int(record.get("attempt", 0))


def _once(cloud: Log) -> Iterator[Finding]:
    seen: set[tuple[Any, ...]] = set()
    for number, record in _taken(cloud):
        if record["type"] not in _ONCE:
            continue
        key = (record["type"], record["from"], _place(record))
        if key in seen:
            told = text(
                "log.second_message",
                type=record["type"],
                agent=record["from"],
                round=_counted(_place(record)[0]),
            )
            yield Finding("taken_twice", cloud.name, told, number)
        seen.add(key)


def _sums(cloud: Log) -> Iterator[Finding]:
    """Each sum is over the contributions that were taken, and a round has one."""
    contributed: dict[tuple[int, int], list[list[str]]] = defaultdict(list)
    summed: set[int] = set()
    for number, record in cloud.shown.items():
        if record.get("type") == MessageType.CONTRIBUTION and "refused" not in record:
            contributed[_place(record)].append([str(record["from"]), str(record["sha256"])])
        if record.get("type") != MessageType.AGGREGATE or "from" in record:
            continue
        place = _place(record)
        if place[0] in summed:
            yield Finding("two_sums", cloud.name, text("log.second_sum", round=_counted(place[0])), number)
        summed.add(place[0])
        if "list_sha256" in record and record["list_sha256"] != list_hash(sorted(contributed[place])):
            told = text("log.sum_over_others", round=_counted(place[0]))
            yield Finding("sum_list_differs", cloud.name, told, number)


def _messages(cloud: Log) -> Iterator[Finding]:
    """The signed messages that came with the log: genuine, in the log, and decisions all alike."""
    logged = {str(record["sha256"]): number for number, record in _taken(cloud)}
    stated: dict[tuple[int, int], dict[bytes, str]] = defaultdict(dict)
    for line in cloud.file.messages:
        try:
            sealed = unseal(line.encode(), max_bytes=_MAX_MESSAGE_BYTES)
            key = _key_of(cloud, sealed.envelope.sender)
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
                text("log.decided_differently", round=_counted(place[0]), who=who),
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


def _acts(acts: Log, cloud: Log) -> Iterator[Finding]:
    """The head of the job's log that went into the log of acts when the job ended."""
    for number, record in acts.shown.items():
        if record.get("act") == "job_ended" and record.get("subject") == cloud.file.header.job:
            place = cloud.places.get(str(record.get("head")))
            if place is None or place + 1 != record.get("records"):
                told = text("log.other_last_head", cloud=cloud.name)
                yield Finding("act_differs", acts.name, told, number)


# --- the cloud and one hospital -------------------------------------------------------------------------------


def _pair(job: str, cloud: Log, hospital: Log) -> Iterator[Finding]:
    agent = hospital.owner
    records = list(hospital.of_job(job))
    if not records and not any(r.get("from") == agent for r in cloud.shown.values()):
        return
    mine = cloud.file.header.members.get(agent)
    if mine is not None and mine != hospital.file.header.certificate:
        key = _key_of(cloud, agent)
        der = decode_base64url(hospital.file.header.certificate, what="certificate")
        root = decode_base64url(hospital.file.header.root, what="root")
        if key != certificates.verify(der, root).public_key:
            told = text("log.other_key", agent=agent)
            yield Finding("certificate_differs", hospital.name, told)
    yield from _manifests(cloud, hospital, records)
    yield from _sent(agent, cloud, hospital, records)
    yield from _received(agent, cloud, hospital, records)
    yield from _taken_of(agent, cloud, hospital, records)


def _manifests(cloud: Log, hospital: Log, records: Sequence[tuple[int, Record]]) -> Iterator[Finding]:
    for number, record in records:
        if "mh" in record and record["mh"] != cloud.file.header.manifest_sha256:
            told = text("log.other_manifest", hospital=hospital.owner)
            yield Finding("manifest_differs", hospital.name, told, number)


def _sent(agent: str, cloud: Log, hospital: Log, records: Sequence[tuple[int, Record]]) -> Iterator[Finding]:
    """What the hospital has a receipt for is in the cloud's log, and the receipt's head comes after it."""
    logged = {str(r["sha256"]): n for n, r in cloud.shown.items() if r.get("from") == agent}
    for number, record in records:
        if record.get("kind") != "sent":
            continue
        place = logged.get(str(record.get("sha256")))
        if place is None:
            told = text(
                "log.lost_message",
                agent=agent,
                type=record.get("type"),
                round=_counted(record.get("round")),
                cloud=cloud.name,
            )
            yield Finding("not_in_cloud_log", hospital.name, told, number)
            continue
        head = cloud.places.get(str(record.get("head")))
        if head is None:
            told = text("log.receipt_head", agent=agent, cloud=cloud.name)
            yield Finding("unknown_head", hospital.name, told, number)
        elif head < place:
            told = text("log.receipt_early")
            yield Finding("head_out_of_order", hospital.name, told, number)


def _received(
    agent: str, cloud: Log, hospital: Log, records: Sequence[tuple[int, Record]]
) -> Iterator[Finding]:
    """What the cloud said to the hospital is what its log says that it said."""
    said = {str(r["sha256"]): (n, r) for n, r in cloud.shown.items() if "to" in r}
    for number, record in records:
        if record.get("kind") != "received":
            continue
        found = said.get(str(record.get("sha256")))
        if found is None:
            told = text("log.unknown_message", agent=agent, type=record.get("type"), cloud=cloud.name)
            yield Finding("not_sent_by_cloud", hospital.name, told, number)
            continue
        theirs = found[1].get("list_sha256")
        if "list_sha256" in record and theirs not in (None, record["list_sha256"]):
            told = text("log.other_contributions")
            yield Finding("sum_differs", hospital.name, told, number)
        head = cloud.places.get(str(record.get("head")))
        if head is None:
            told = text("log.seen_head", agent=agent, cloud=cloud.name)
            yield Finding("unknown_head", hospital.name, told, number)


def _taken_of(
    agent: str, cloud: Log, hospital: Log, records: Sequence[tuple[int, Record]]
) -> Iterator[Finding]:
    """What the cloud says that the hospital sent: does the hospital know of it, and of the heads that came with it?"""
    known = {str(r.get("sha256")) for _, r in records if r.get("kind") in ("sent", "refused", "queued")}
    own = [(n, r) for n, r in cloud.shown.items() if r.get("from") == agent]
    last_known = max((int(r["seq"]) for _, r in own if r["sha256"] in known), default=-1)
    for number, record in own:
        # The newest messages may still be without a receipt where the hospital's log was exported.
        if record["sha256"] not in known and int(record["seq"]) <= last_known:
            told = text("log.not_in_hospitals", type=record["type"], agent=agent, hospital=hospital.name)
            yield Finding("not_in_hospital_log", cloud.name, told, number)
        claim = record.get("journal")
        if not isinstance(claim, dict):
            continue
        head = hospital.heads.get(int(claim["n"]))
        if head is None:
            told = text("log.ends_before", agent=agent, record=claim["n"], hospital=hospital.name)
            yield Finding("claim_missing", cloud.name, told, number)
        elif head != claim["head"]:
            told = text("log.other_record", agent=agent, record=claim["n"], hospital=hospital.name)
            yield Finding("claim_differs", cloud.name, told, number)


def _told_alike(job: str, hospital: Log, first: dict[Told, tuple[str, str]]) -> Iterator[Finding]:
    """A message to all is one and the same: two hospitals that got different ones were shown two histories.

    Args: first: for each message the first hospital that got it, and its hash; grows.
    """
    for number, record in hospital.of_job(job):
        if record.get("kind") != "received" or "attempt" not in record or record["type"] not in _TO_ALL:
            continue
        key = (str(record["type"]), *_place(record))
        owner, sha256 = first.setdefault(key, (hospital.owner, str(record["sha256"])))
        if record["sha256"] != sha256:
            told = text(
                "log.sent_another", hospital=hospital.owner, type=key[0], round=_counted(key[1]), owner=owner
            )
            yield Finding("told_differently", hospital.name, told, number)


def _counted(round_number: object) -> object:
    """A round as people count, from 1; logs number them from 0. What is no number is told as it stands."""
    return round_number + 1 if isinstance(round_number, int) else round_number
