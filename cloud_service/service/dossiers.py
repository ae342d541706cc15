"""A study's dossier for an ethics board: what was asked, who agreed, who learned what, and by which keys and programs.

No trees, only their fingerprints, and no count of records with some property; of secret jobs, how many records were
shared, as all members are told. The page of it is made by `shared.protocol.disclosure_page`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any, Final

from sqlalchemy import Connection

from cloud_service.service.federation import Membership
from cloud_service.service.governance import Governance
from cloud_service.service.ledgers import ledger_of
from cloud_service.service.studies import Studies, StudyView
from cloud_service.store import acts, directory, jobs
from cloud_service.store.database import Database
from cloud_service.store.jobs import StoredJob
from shared.crypto import certificates
from shared.protocol.disclosure_words import unknown_in_words
from shared.protocol.enrolment import fingerprint
from shared.protocol.expiry import ends
from shared.texts import text
from shared.wire.manifest import AttributeSpec

DOSSIER_VERSION: Final = 1
_PAGE: Final = 100
_SHOWN_ELSEWHERE: Final = frozenset(
    {"v", "id", "federation", "question", "schema", "members", "publish_tree", "disclosure", "synthetic"}
)


@dataclass(frozen=True, slots=True)
class Dossiers:
    """Read only."""

    database: Database
    membership: Membership
    studies: Studies
    governance: Governance
    clock: Callable[[], int]

    def of_study(self, study_id: str, hospital: str | None = None) -> dict[str, Any]:
        """The dossier as a JSON document. Args: hospital: only jobs that invite it. Raises: UnknownThingError."""
        view = self.studies.get(study_id)
        joined = self.membership.current()
        standings = [] if view.document is None else self.governance.standings(view.document)
        answers = {each.hospital: each for each in standings}
        with self.database.read() as connection:
            stored = _all_jobs(connection, study_id, hospital)
            newest = acts.newest(connection)
            chosen = _acts_about(connection, {study_id, *(each.job.manifest.job for each in stored)})
            names = sorted(answers.keys() | {str(a) for each in stored for a in each.job.members})
            return {
                "privet_dossier": DOSSIER_VERSION,
                "made": self.clock(),
                "version": version("privet"),
                "study": _study(view),
                "members": [_member(connection, name, answers.get(name)) for name in names],
                "root_sha256": fingerprint(joined.trust.root),
                "epochs": [
                    {
                        "epoch": row.epoch,
                        "key_id": row.key_id,
                        "document_sha256": row.sha256,
                        "joined": row.stored,
                    }
                    for row in directory.federations(connection)
                ],
                "jobs": [_job(connection, each) for each in stored],
                "acts": chosen,
                "acts_head": None if newest is None else newest[1],
                "cannot_be_known": [*unknown_in_words(), text("ledger.cannot_be_known.elsewhere")],
            }


def _all_jobs(connection: Connection, study: str, hospital: str | None) -> list[StoredJob]:
    """Every job of the study, or those that invite a hospital, the oldest first."""
    found: list[StoredJob] = []
    before: tuple[int, str] | None = None
    while page := jobs.page(
        connection, study=study, state=None, before=before, limit=_PAGE, hospital=hospital
    ):
        found += page
        before = (page[-1].created, page[-1].job.manifest.job)
    return found[::-1]


def _acts_about(connection: Connection, subjects: set[str]) -> list[Mapping[str, Any]]:
    records = (json.loads(entry.record) for entry in acts.all_of(connection))
    return [record for record in records if record["subject"] in subjects]


def _study(view: StudyView) -> dict[str, Any]:
    document = view.document
    rules = None if document is None else document.model_dump(mode="json", by_alias=True)
    return {
        "id": view.id,
        "question": view.question,
        "created": view.created,
        "closed": view.closed,
        "synthetic": view.synthetic,
        "publish_tree": view.publish_tree,
        "disclosure": view.disclosure,
        "attributes": [_attribute(attribute) for attribute in view.schema.attributes],
        "class_name": view.schema.class_.name,
        "classes": list(view.schema.class_.labels),
        "document_sha256": None if document is None else document.sha256,
        "rules": None
        if rules is None
        else {name: value for name, value in rules.items() if name not in _SHOWN_ELSEWHERE},
    }


def _attribute(attribute: AttributeSpec) -> dict[str, Any]:
    kind = "values" if attribute.cuts is None else "intervals of a number"
    if attribute.numeric is not None:
        kind = f"a number from {attribute.numeric.minimum} to {attribute.numeric.maximum}"
    return {"name": attribute.name, "kind": kind, "values": list(attribute.values)}


def _member(connection: Connection, name: str, standing: Any) -> dict[str, Any]:
    row = directory.hospital(connection, name)
    certificate = None if row is None else certificates.read(bytes(row.certificate))
    return {
        "hospital": name,
        "answer": text("dossier.asked_each") if standing is None else standing.state,
        "reason": "" if standing is None else " ".join(filter(None, (standing.code, standing.reason))),
        "since": None if standing is None else standing.since,
        "version": None if row is None else row.version,
        "certificate_sha256": None if certificate is None else certificate.sha256,
        "certificate_until": None if certificate is None else ends(certificate),
    }


def _job(connection: Connection, stored: StoredJob) -> dict[str, Any]:
    job = stored.job
    agreed = {member.attested for member in job.members.values() if member.attested is not None}
    return ledger_of(connection, stored).to_json() | {
        "manifest_sha256": job.mh,
        "key_id": job.manifest.key_id,
        "tree_sha256": agreed.pop() if len(agreed) == 1 else None,
        "certificates": {
            str(agent): fingerprint(job.members[agent].certificate) for agent in sorted(job.members)
        },
    }
