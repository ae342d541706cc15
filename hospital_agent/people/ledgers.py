"""Who learns what by a job: at most, and so far, read from this hospital's own journal."""

from __future__ import annotations

from collections.abc import Iterator

from hospital_agent.daemon.casework import manifest_of
from hospital_agent.journal import JobEntry, Journal
from shared.crypto.certificates import read
from shared.protocol.disclosure import Ledger, forecast
from shared.protocol.disclosure_facts import course_of, fact
from shared.wire.base import decode_base64url


def ledgers_of(journal: Journal, entry: JobEntry, own: str) -> tuple[Ledger, Ledger]:
    """The forecast and the fact ledger of a journalled job. Args: own: this hospital's id."""
    manifest = manifest_of(entry)
    records = [record for record in journal.audit_records() if record.get("job") == entry.job]
    course = course_of(records, own)
    course.roster = tuple(_members(entry.certificates)) if entry.certificates else ()
    for record in records:
        if record.get("kind") == "computed":
            course.opened = record.get("opened", {})
        if record.get("kind") == "ended" and record.get("code"):
            course.ended = str(record["code"])
    return forecast(manifest), fact(manifest, course)


def _members(encoded: tuple[str, ...]) -> Iterator[str]:
    """Ids in the certificates of a roster, which were verified when it came."""
    for text in encoded:
        yield str(read(decode_base64url(text, what="certificate")).id)
