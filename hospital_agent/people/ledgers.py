"""Who learns what by a job: at most, and so far, read from this hospital's own journal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from hospital_agent.daemon.casework import manifest_of
from hospital_agent.journal import JobEntry, Journal, studies
from hospital_agent.journal.reading import CheckedLog
from shared.crypto.certificates import read
from shared.protocol.disclosure import Ledger, forecast
from shared.protocol.disclosure_facts import course_of, fact
from shared.protocol.quality import published_kind
from shared.wire.base import decode_base64url
from shared.wire.quality import QualityKind


def ledgers_of(journal: Journal, entry: JobEntry, own: str) -> tuple[Ledger, Ledger]:
    """The forecast and the fact ledger of a journalled job, with the whole chain checked.

    Args: own: this hospital's id. Raises: InputError: the chain was altered.
    """
    return ledgers_from(CheckedLog().of_job(journal, entry.job), entry, own, figures_of(journal, entry))


def figures_of(journal: Journal, entry: JobEntry) -> QualityKind | None:
    """The figures of a job that its study's document publishes."""
    known = studies.study(journal, entry.study)
    return None if known is None else published_kind(known.document, manifest_of(entry))


def ledgers_from(
    records: Sequence[Mapping[str, Any]], entry: JobEntry, own: str, figures: QualityKind | None = None
) -> tuple[Ledger, Ledger]:
    """The same. Args: records: of the job, checked. figures: see `figures_of`."""
    manifest = manifest_of(entry)
    course = course_of(records, own)
    course.roster = tuple(_members(entry.certificates)) if entry.certificates else ()
    for record in records:
        if record.get("kind") == "computed":
            course.opened = record.get("opened", {})
        if record.get("kind") == "ended" and record.get("code"):
            course.ended = str(record["code"])
    return forecast(manifest, figures), fact(manifest, course)


def _members(encoded: tuple[str, ...]) -> Iterator[str]:
    """Ids in the certificates of a roster, which were verified when it came."""
    for text in encoded:
        yield str(read(decode_base64url(text, what="certificate")).id)
