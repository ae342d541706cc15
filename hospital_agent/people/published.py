"""What a hospital told the cloud of how good a tree is: the document made once more, held against the log's hash."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hospital_agent.daemon.casework import manifest_of
from hospital_agent.journal import JobEntry, JobStatus, Journal, studies
from hospital_agent.journal.reading import CheckedLog
from hospital_agent.keyring import Keyring
from hospital_agent.models import shelf_of
from hospital_agent.models.published import evaluation_of, importance_of
from hospital_agent.models.tallies import cabinet_of
from hospital_agent.people.ledgers import figures_of
from hospital_agent.settings import load_settings
from shared.errors import InputError
from shared.evaluation.report_tables import Table
from shared.protocol.figures import figures_tables, plain_figures
from shared.protocol.quality import sha256_of
from shared.texts import text
from shared.wire.envelope import MessageType
from shared.wire.quality import Figures, QualityKind, QualitySpec


def published_document(folder: Path, job: str, log: CheckedLog | None = None) -> dict[str, Any]:
    """What left this hospital, or would have left.

    Args: folder: the agent's. job: an id, or its beginning. log: the chain as far as it was checked; else it is
        checked from its start.

    `sent_sha256`: of the figures that left, by the log; None where none did. `sha256`: of those made now.
    Raises: InputError: no such job, it is not complete, or its tree or counts are not here.
    """
    load_settings(folder)
    with Journal.open(folder) as journal:
        entry = journal.find(job)
        known, kind = studies.study(journal, entry.study), figures_of(journal, entry)
        sent = _sent((log or CheckedLog()).of_job(journal, entry.job))
    head: dict[str, Any] = {"job": entry.job, "study": entry.study, "kind": kind, "sent_sha256": sent}
    spec = None if known is None else known.document.quality
    if kind is None or spec is None:
        return head | {"sha256": None, "document": None, "figures": None}
    figures = _made(folder, entry, kind, spec)
    return head | {
        "sha256": sha256_of(figures.canonical().decode()),
        "document": figures.model_dump(mode="json"),
        "figures": plain_figures(figures, manifest_of(entry)),
    }


def published_sentence(document: Mapping[str, Any]) -> str:
    """Whether figures are published, and whether they left."""
    name = "not_published"
    if document["kind"] is not None:
        sent = document["sent_sha256"]
        name = "not_sent" if sent is None else "sent" if sent == document["sha256"] else "sent_others"
    return text(f"figures.{name}", job=document["job"][:8], study=document["study"])


def published_tables(document: Mapping[str, Any]) -> list[Table]:
    """The figures as reports show them; none where the study publishes none of this job."""
    return [] if document["figures"] is None else figures_tables(document["kind"], document["figures"])


def published_lines(document: Mapping[str, Any]) -> list[str]:
    """The same for a terminal."""
    lines = [published_sentence(document)]
    for table in published_tables(document):
        lines += ["", *table.lines()]
    return lines


def _sent(records: Sequence[Mapping[str, Any]]) -> str | None:
    left = (r for r in records if r.get("kind") == "sent" and r.get("type") == MessageType.ATTEST)
    return next((str(r["quality_sha256"]) for r in left if "quality_sha256" in r), None)


def _made(folder: Path, entry: JobEntry, kind: QualityKind, spec: QualitySpec) -> Figures:
    if entry.status is not JobStatus.COMPLETE:
        raise InputError(
            f"the job has no figures: it is {entry.status.value}",
            where=f"job {entry.job}",
            remedy="Wait for its end.",
        )
    ring = Keyring.open(folder)
    own, root = ring.identity.public, ring.hospital_trust().root
    shelf = shelf_of(folder, own, root)
    if kind == "importance":
        return importance_of(shelf.get(entry.job))
    result = cabinet_of(folder, own, root).get(entry.job)
    asked = result.manifest.tally
    return evaluation_of(shelf.get(str(asked and asked.model)), result, spec)
