"""The logs of a job at the cloud and at the hospitals, held against each other.

Each names messages by their hashes and holds the other's heads. So a message that one side sent and the other does not
know, a sum over other contributions than were sent, and a history that was shown to one hospital only all stand out,
whoever of the parties kept the false log. Records of versions that did not write something are not compared in it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

from shared.crypto import certificates
from shared.errors import PeerError
from shared.protocol.audit_check import Finding, Log
from shared.protocol.audit_cloud import Record, cloud_alone, counted, key_of, place_of
from shared.texts import text
from shared.wire.base import decode_base64url
from shared.wire.envelope import MessageType

_TO_ALL = (
    MessageType.ROSTER,
    MessageType.ROUND_OPEN,
    MessageType.AGGREGATE,
    MessageType.PARTIALS,
    MessageType.JOB_DONE,
)
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
            findings += _readable(cloud, cloud_alone(cloud))
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
        key = key_of(cloud, agent)
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
                round=counted(record.get("round")),
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
        key = (str(record["type"]), *place_of(record))
        owner, sha256 = first.setdefault(key, (hospital.owner, str(record["sha256"])))
        if record["sha256"] != sha256:
            told = text(
                "log.sent_another", hospital=hospital.owner, type=key[0], round=counted(key[1]), owner=owner
            )
            yield Finding("told_differently", hospital.name, told, number)
