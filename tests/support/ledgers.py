"""Ledgers in tests: the log of a simulated job, and whether a fact goes beyond its forecast."""

from __future__ import annotations

from typing import Any

from shared.errors import PeerError
from shared.protocol.audit_log import record_of
from shared.protocol.disclosure import Entry, Ledger, Terms
from shared.protocol.disclosure_facts import Course, course_of
from shared.protocol.envelopes import unseal
from shared.tree.schema import Schema
from shared.tree.thresholds import is_ordered
from tests.support.world import MAX_BYTES, World


def exceeding(forecast: Ledger, fact: Ledger) -> list[Entry]:
    """The lines of a fact that its forecast does not have, or has with a smaller amount.

    An amount that the log does not say is the forecast's at most.
    """
    bounds = {(entry.party, entry.learned): entry for entry in forecast.entries}
    return [
        entry for entry in fact.entries if not _is_within(entry, bounds.get((entry.party, entry.learned)))
    ]


def _is_within(entry: Entry, bound: Entry | None) -> bool:
    if bound is None or bound.unit != entry.unit:
        return False
    return bound.amount is None or entry.amount is None or entry.amount <= bound.amount


def terms_of_tables(schema: Schema, max_depth: int | None, *, thresholds: bool = False) -> Terms:
    """What a forecast needs to know of a job over whole tables of this schema, in profile hardened, by 3 hospitals."""
    indexed = list(enumerate(schema.attributes))
    return Terms(
        profile="hardened",
        hospitals=3,
        values=tuple(len(attribute.values) for attribute in schema.attributes),
        classes=schema.class_count,
        max_depth=max_depth,
        fractional=frozenset(index for index, attribute in indexed if attribute.is_fractional),
        ordered=frozenset(index for index, attribute in indexed if thresholds and is_ordered(attribute)),
    )


def listen(world: World) -> list[dict[str, Any]]:
    """From now on, what the cloud's log of the job would say of members' messages."""
    records: list[dict[str, Any]] = []
    post = world.cloud.post

    def heard(raw: bytes, now: int) -> bytes:
        sealed = unseal(raw, max_bytes=MAX_BYTES)
        is_new = (sealed.envelope.sender, sealed.envelope.seq) not in world.cloud.replies
        record = record_of(sealed) | {"from": sealed.envelope.sender}
        try:
            reply = post(raw, now)
        except PeerError as error:
            records.extend([record | {"refused": error.code.value}] if is_new else [])
            raise
        records.extend([record] if is_new else [])
        return reply

    world.cloud.post = heard  # type: ignore[method-assign]
    return records


def course_so_far(world: World, heard: list[dict[str, Any]]) -> Course:
    """What happened in a simulated job."""
    said = [
        record_of(sealed) | {"to": sealed.envelope.to}
        for sealed in (unseal(raw, max_bytes=MAX_BYTES) for raw in world.cloud.inbox)
    ]
    course = course_of([*said, *heard])
    job = world.cloud.job
    course.roster = tuple(map(str, job.roster))
    bodies = {str(a): m.accept.envelope.body for a, m in job.members.items() if m.accept is not None}
    course.records = {a: int(b["records"]) for a, b in bodies.items() if b.get("records") is not None}
    return course
