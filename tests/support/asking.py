"""A study whose hospitals may ask shared trees by themselves, and a job by which one does."""

from __future__ import annotations

import itertools
from typing import Any, Final

from shared.protocol.asking import attest_ask, sign_ask
from shared.wire.asking import Ask, AttestedAsk
from shared.wire.manifest import Manifest
from shared.wire.study import StudyDocument
from tests.support import measured_clinic
from tests.support.studies import CREATED
from tests.support.world import Parties

MODEL: Final = "ab" * 16
RULES: Final = {"questions_per_day": 20, "questions": 500, "records_per_day": 100, "records": 2000}
STUDY: Final[dict[str, Any]] = {
    "schema": measured_clinic.SCHEMA,
    "profiles": ["secret-gainratio"],
    "criteria": ["gain-ratio"],
    "shared_result": True,
    "disclosure": "class",
    "max_shrinks": 0,
    "asking": RULES,
}
"""Changes to a document of `tests.support.studies`."""
_NUMBERS = itertools.count(1)
_FROM_PLAN: Final = object()


def wish(hospital: str, *, records: int = 1, study: str = "simulation", time: int = CREATED + 10) -> Ask:
    """A wish to ask `MODEL`, each about another question."""
    return Ask(
        hospital=hospital,
        study=study,
        model=MODEL,
        question=f"{next(_NUMBERS):032x}",
        records=records,
        time=time,
    )


def attested(parties: Parties, ask: Ask) -> AttestedAsk:
    """The wish under the hospital's own key and certificate."""
    return attest_ask(sign_ask(ask, parties.identities[ask.hospital]), parties.certificates[ask.hospital])


def asked_job(
    parties: Parties,
    study: StudyDocument,
    hospital: str,
    *,
    records: int = 1,
    asked: Any = _FROM_PLAN,
    **changes: Any,
) -> Manifest:
    """The job by which a hospital asks.

    Args: asked: the wish, None where a person at the cloud began the job. changes: of its block `secret`.
    """
    signed = attested(parties, wish(hospital, records=records)) if asked is _FROM_PLAN else asked
    secret = {
        "compute_parties": ["h1", "h2", "h3"],
        "purpose": "predict",
        "result_parties": [hospital],
        "max_records": records,
        "model": MODEL,
        "grid": [],
        "asked": signed,
        **changes,
    }
    return parties.manifest(
        measured_clinic.SCHEMA,
        profile="secret-gainratio",
        criterion="gain-ratio",
        secret=secret,
        study_sha256=study.sha256,
        min_node=study.min_node,
        min_child=study.min_child,
        max_depth=study.max_depth,
        max_shrinks=0,
        skip_known=False,
        disclosure="class",
        synthetic=False,
        created=CREATED + 10,
        expires=CREATED + 500,
    )
