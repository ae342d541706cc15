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
        text = "something has not the form that a log's records have, here or in the log it was held against"
        yield Finding("unreadable", log.name, text)


def _roots(logs: Sequence[Log]) -> Iterator[Finding]:
    for log in logs[1:]:
        if log.file.header.root != logs[0].file.header.root:
            yield Finding(
                "other_root", log.name, f"its certificates hang on another root than {logs[0].name}'s"
            )


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
            text = f"{second.name} has another record here: {one.exporter} has kept two histories"
            yield Finding("two_histories", first.name, text, number)
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
            text = f"it holds a head of {agent}'s log that {agent} has not signed"
            yield Finding("claim_forged", cloud.name, text, number)
            continue
        if int(claim["n"]) < last.get(agent, -1):
            text = f"{agent}'s own log had fewer records than before: it was put back, or {agent} keeps two"
            yield Finding("claim_backwards", cloud.name, text, number)
        last[agent] = max(int(claim["n"]), last.get(agent, -1))


def _echoes(cloud: Log) -> Iterator[Finding]:
    """Heads of this log that hospitals had seen when they sent something."""
    for number, record in cloud.shown.items():
        echo = record.get("echo")
        if echo is None or "refused" in record:
            continue
        place = cloud.places.get(str(echo))
        if place is None:
            text = (
                f"{record.get('from')} had seen a head that is not of this log: it was shown another history"
            )
            yield Finding("unknown_echo", cloud.name, text, number)
        elif place >= number:
            yield Finding(
                "head_out_of_order",
                cloud.name,
                f"{record.get('from')} names a head that is only reached later",
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
            text = f"a second {record['type']} of {record['from']} was taken in round {_place(record)[0]}"
            yield Finding("taken_twice", cloud.name, text, number)
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
            yield Finding("two_sums", cloud.name, f"round {place[0]} has a second sum", number)
        summed.add(place[0])
        if "list_sha256" in record and record["list_sha256"] != list_hash(sorted(contributed[place])):
            text = f"the sum of round {place[0]} is not over the contributions that this log took for it"
            yield Finding("sum_list_differs", cloud.name, text, number)


def _messages(cloud: Log) -> Iterator[Finding]:
    """The signed messages that came with the log: genuine, in the log, and decisions all alike."""
    logged = {str(record["sha256"]): number for number, record in _taken(cloud)}
    stated: dict[tuple[int, int], dict[bytes, str]] = defaultdict(dict)
    for text in cloud.file.messages:
        try:
            sealed = unseal(text.encode(), max_bytes=_MAX_MESSAGE_BYTES)
            key = _key_of(cloud, sealed.envelope.sender)
            if key is None:
                raise KeyError(sealed.envelope.sender)
            verify(sealed, key)
        except (PeerError, KeyError):
            yield Finding("message_forged", cloud.name, "a message in it is not signed by its sender")
            continue
        envelope = sealed.envelope
        number = logged.get(sealed.sha256)
        if number is None:
            said = f"a {envelope.type} of {envelope.sender} is in it that its records do not name"
            yield Finding("message_not_in_log", cloud.name, said)
        if envelope.mh != cloud.file.header.manifest_sha256:
            yield Finding(
                "manifest_differs",
                cloud.name,
                f"{envelope.sender} speaks of another manifest than the log",
                number,
            )
        if envelope.type in _STATED:
            stated[envelope.round, envelope.attempt][_essence(envelope)] = envelope.sender
    for place, said_by in stated.items():
        if len(said_by) > 1:
            who = " and ".join(sorted(said_by.values()))
            yield Finding("decisions_differ", cloud.name, f"round {place[0]}: {who} have decided differently")


def _essence(envelope: Envelope) -> bytes:
    """What members must state alike: all but the head each has last seen."""
    return canonical_json({key: value for key, value in envelope.body.items() if key != "head"})


def _trees(cloud: Log) -> Iterator[Finding]:
    first: tuple[str, str] | None = None
    for number, record in _taken(cloud):
        if record["type"] != MessageType.ATTEST or "tree_sha256" not in record:
            continue
        if first is not None and record["tree_sha256"] != first[1]:
            text = f"{record['from']} attests another tree than {first[0]}"
            yield Finding("trees_differ", cloud.name, text, number)
        first = first or (str(record["from"]), str(record["tree_sha256"]))


def _acts(acts: Log, cloud: Log) -> Iterator[Finding]:
    """The head of the job's log that went into the log of acts when the job ended."""
    for number, record in acts.shown.items():
        if record.get("act") == "job_ended" and record.get("subject") == cloud.file.header.job:
            place = cloud.places.get(str(record.get("head")))
            if place is None or place + 1 != record.get("records"):
                text = f"the job's log ended here with another head than {cloud.name} has"
                yield Finding("act_differs", acts.name, text, number)


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
            text = f"the cloud took another key for {agent}'s than the one that signs here"
            yield Finding("certificate_differs", hospital.name, text)
    yield from _manifests(cloud, hospital, records)
    yield from _sent(agent, cloud, hospital, records)
    yield from _received(agent, cloud, hospital, records)
    yield from _taken_of(agent, cloud, hospital, records)


def _manifests(cloud: Log, hospital: Log, records: Sequence[tuple[int, Record]]) -> Iterator[Finding]:
    for number, record in records:
        if "mh" in record and record["mh"] != cloud.file.header.manifest_sha256:
            text = f"{hospital.owner} was offered another manifest than the cloud's log is about"
            yield Finding("manifest_differs", hospital.name, text, number)


def _sent(agent: str, cloud: Log, hospital: Log, records: Sequence[tuple[int, Record]]) -> Iterator[Finding]:
    """What the hospital has a receipt for is in the cloud's log, and the receipt's head comes after it."""
    logged = {str(r["sha256"]): n for n, r in cloud.shown.items() if r.get("from") == agent}
    for number, record in records:
        if record.get("kind") != "sent":
            continue
        place = logged.get(str(record.get("sha256")))
        if place is None:
            text = (
                f"{agent} has a receipt for its {record.get('type')} of round {record.get('round')}; "
                f"{cloud.name} does not have it"
            )
            yield Finding("not_in_cloud_log", hospital.name, text, number)
            continue
        head = cloud.places.get(str(record.get("head")))
        if head is None:
            text = f"the receipt's head is not of {cloud.name}: {agent} was shown another history"
            yield Finding("unknown_head", hospital.name, text, number)
        elif head < place:
            text = "the receipt's head comes before the message that it is for"
            yield Finding("head_out_of_order", hospital.name, text, number)


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
            text = f"{agent} was sent a {record.get('type')} that {cloud.name} does not have: another history"
            yield Finding("not_sent_by_cloud", hospital.name, text, number)
            continue
        theirs = found[1].get("list_sha256")
        if "list_sha256" in record and theirs not in (None, record["list_sha256"]):
            text = "the list of contributions in this sum is another one in the cloud's log"
            yield Finding("sum_differs", hospital.name, text, number)
        head = cloud.places.get(str(record.get("head")))
        if head is None:
            text = f"the head that {agent} had seen is not of {cloud.name}: it was shown another history"
            yield Finding("unknown_head", hospital.name, text, number)


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
            text = f"it has a {record['type']} of {agent} that {hospital.name} knows nothing of"
            yield Finding("not_in_hospital_log", cloud.name, text, number)
        claim = record.get("journal")
        if not isinstance(claim, dict):
            continue
        head = hospital.heads.get(int(claim["n"]))
        if head is None:
            text = (
                f"{agent}'s log had a record {claim['n']} when this came; {hospital.name} ends before it, "
                "so it was exported earlier, cut, or put back from a backup"
            )
            yield Finding("claim_missing", cloud.name, text, number)
        elif head != claim["head"]:
            text = f"{agent}'s log had another record {claim['n']} when this came than {hospital.name} has"
            yield Finding("claim_differs", cloud.name, text, number)


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
            text = f"{hospital.owner} was sent another {key[0]} of round {key[1]} than {owner}"
            yield Finding("told_differently", hospital.name, text, number)
