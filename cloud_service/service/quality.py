"""Figures of finished jobs that their study publishes: taken only as its document says, kept once all sent the same.

Of each attestation only the hash of its figures is kept. The figures themselves are, once the last member of the job
has sent the very same; until then, and where two differ, nobody reads any here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from sqlalchemy import Connection

from cloud_service.store import governance, jobs, quality
from cloud_service.store.database import Database
from cloud_service.store.jobs import StoredJob
from shared.errors import ErrorCode, PeerError
from shared.protocol.envelopes import Sealed
from shared.protocol.quality import kind_of, published_kind, read_figures, sha256_of
from shared.protocol.states import CloudState
from shared.wire.envelope import MessageType
from shared.wire.manifest import Manifest
from shared.wire.quality import Figures, ImportanceFigures, QualityKind, QualitySpec
from shared.wire.study import StudyDocument

Standing = Literal["published", "waiting", "differ", "kept", "none"]
"""All sent the same; some have not sent; two differ; the study keeps them at the hospitals; this job has none."""


@dataclass(frozen=True, slots=True)
class Published:
    """Where the figures of a job stand. `kind`: None for a job that has none, or whose study keeps them.

    `sent`: their hash by hospital. `missing`: members that attested without figures, or not yet.
    """

    job: str
    kind: QualityKind | None
    standing: Standing
    sent: Mapping[str, str]
    missing: tuple[str, ...]
    sha256: str | None = None
    figures: Figures | None = None


@dataclass(frozen=True, slots=True)
class Quality:
    """Read only."""

    database: Database

    def kind_of(self, stored: StoredJob) -> QualityKind | None:
        """Which figures of a job its study publishes; None: none."""
        with self.database.read() as connection:
            return published_kind(document_of(connection, stored.job.manifest), stored.job.manifest)

    def of_job(self, stored: StoredJob) -> Published:
        """The figures of a finished job, as far as they are here."""
        with self.database.read() as connection:
            document = document_of(connection, stored.job.manifest)
            return _published(connection, document, [stored])[0]

    def published_of(self, stored: StoredJob, hospital: str | None = None) -> list[Published]:
        """Those of `of_tree` that all their hospitals sent alike."""
        return [found for found in self.of_tree(stored, hospital) if found.standing == "published"]

    def of_tree(self, stored: StoredJob, hospital: str | None = None) -> list[Published]:
        """Those of the finished jobs that evaluated a job's tree, the newest first, at most `jobs.MOST_COUNTED`.

        Args: hospital: only jobs that invite it; None for all.
        """
        with self.database.read() as connection:
            counted = jobs.counted_in(connection, stored, hospital)
            done = [one for one in counted if one.job.state is CloudState.DONE]
            return _published(connection, document_of(connection, stored.job.manifest), done)


def check(connection: Connection, stored: StoredJob, sealed: Sealed) -> None:
    """Whether an attestation brings no more than the study's document publishes.

    Raises: PeerError: `malformed` or `too_large`, naming the rule that is broken.
    """
    text = _text_of(sealed)
    if text is None:
        return
    manifest = stored.job.manifest
    document = document_of(connection, manifest)
    kind = published_kind(document, manifest)
    if document is None or document.quality is None or kind is None:
        raise PeerError(
            ErrorCode.MALFORMED, "quality: the study's document does not publish figures of this job"
        )
    figures = _read(text, kind, document.quality, stored)
    if isinstance(figures, ImportanceFigures) and figures.tree_sha256 != sealed.envelope.body.get(
        "tree_sha256"
    ):
        raise PeerError(ErrorCode.MALFORMED, "quality: they are of another tree than is attested")


def keep(connection: Connection, stored: StoredJob, sealed: Sealed) -> None:
    """Note what a member has sent, and keep the figures where it was the last one and all sent the same.

    Under the lock of the job, after `check`.
    """
    text = _text_of(sealed)
    if text is None:
        return
    job, sender = stored.job, sealed.envelope.sender
    quality.add(connection, job.manifest.job, sender, sha256_of(text))
    sent = quality.sent(connection, [job.manifest.job])[job.manifest.job].hashes
    if set(sent) == {str(agent) for agent in job.roster} and len(set(sent.values())) == 1:
        quality.keep(connection, job.manifest.job, sender, text)


def document_of(connection: Connection, manifest: Manifest) -> StudyDocument | None:
    """The document of a job's study; None for a study of before documents."""
    row = governance.document(connection, manifest.study)
    return None if row is None else StudyDocument.model_validate_json(row.document)


def _text_of(sealed: Sealed) -> str | None:
    if sealed.envelope.type is not MessageType.ATTEST:
        return None
    text = sealed.envelope.body.get("quality")
    return text if isinstance(text, str) else None


def _read(text: str, kind: QualityKind, spec: QualitySpec, stored: StoredJob) -> Figures:
    return read_figures(text, kind, spec, stored.job.manifest, [str(agent) for agent in stored.job.roster])


def _published(
    connection: Connection, document: StudyDocument | None, finished: Sequence[StoredJob]
) -> list[Published]:
    """Where the figures of jobs of one study stand. Args: document: of the study."""
    came = quality.sent(connection, [one.job.manifest.job for one in finished])
    return [_standing(document, one, came[one.job.manifest.job]) for one in finished]


def _standing(document: StudyDocument | None, stored: StoredJob, came: quality.Sent) -> Published:
    manifest = stored.job.manifest
    kind = published_kind(document, manifest)
    if document is None or document.quality is None or kind is None:
        nobody_has_any = kind_of(manifest) is None
        return Published(manifest.job, None, "none" if nobody_has_any else "kept", {}, ())
    if came.document is None:
        missing = tuple(str(agent) for agent in stored.job.roster if agent not in came.hashes)
        standing: Standing = "differ" if len(set(came.hashes.values())) > 1 else "waiting"
        return Published(manifest.job, kind, standing, came.hashes, missing)
    figures = _read(came.document, kind, document.quality, stored)
    return Published(manifest.job, kind, "published", came.hashes, (), sha256_of(came.document), figures)
