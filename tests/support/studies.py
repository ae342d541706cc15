"""A study document and a job that keeps to it, for tests of what lies outside."""

from __future__ import annotations

import hashlib
from typing import Any

from shared.wire.manifest import Manifest
from shared.wire.study import StudyDocument
from tests.support.clinic import SCHEMA
from tests.support.world import Parties

CREATED = 1_796_000_000


def document(parties: Parties, **changes: Any) -> StudyDocument:
    """A document of these parties; rules as `changes` says, the others strict."""
    fields: dict[str, Any] = {
        "id": "simulation",
        "federation": hashlib.sha256(parties.root).hexdigest(),
        "question": "does the machine keep its promises?",
        "schema": SCHEMA,
        "members": sorted(parties.names),
        "profiles": ["hardened"],
        "criteria": ["information-gain"],
        "min_hospitals": 3,
        "min_node": 10,
        "min_child": 5,
        "max_depth": 8,
        "max_shrinks": 1,
        "max_jobs": 20,
        "publish_tree": False,
        "disclosure": "probability",
        "synthetic": False,
        "created": CREATED,
        "expires": CREATED + 1000,
        **changes,
    }
    return StudyDocument.model_validate(fields)


def job_of(parties: Parties, study: StudyDocument, /, **changes: Any) -> Manifest:
    """A manifest at the document's very limits."""
    rules: dict[str, Any] = {
        "study_sha256": study.sha256,
        "min_node": study.min_node,
        "min_child": study.min_child,
        "max_depth": study.max_depth,
        "max_shrinks": study.max_shrinks,
        "disclosure": study.disclosure,
        "synthetic": False,
        "created": CREATED + 10,
        "expires": CREATED + 500,
        **changes,
    }
    return parties.manifest(SCHEMA, **rules)
