"""A model as it is exported: its tree with no more than the study's predictions show, and where it came from."""

from __future__ import annotations

from datetime import UTC, datetime

from hospital_agent.models.answers import notice_of
from hospital_agent.models.model import Model
from shared.export.subject import Origin, Subject
from shared.wire.contract import DataContract


def subject_of(model: Model, version: str, contract: DataContract | None = None) -> Subject:
    """Args: version: of Privet. contract: that of the model's study, None where it has none.

    Raises: InputError: the tree is not here, or no form can hold it.
    """
    manifest = model.manifest
    origin = Origin(
        study=manifest.study,
        question=manifest.question,
        job=model.id,
        date=datetime.fromtimestamp(model.saved, UTC).date().isoformat(),
        hospitals=model.hospitals,
        version=version,
        notice=notice_of(model),
    )
    return Subject.prepare(model.shown_tree, model.schema, manifest.disclosure, origin, contract)
