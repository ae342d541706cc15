"""A study's FHIR mapping: part of what hospitals sign, told in words, held to the schema, absent without a trace."""

from __future__ import annotations

import json
from typing import Any

import pytest

from cloud_service.api.study_models import StudyIn
from cloud_service.service.drafting import Frame, Question, draft
from shared.errors import InputError
from shared.ids import AgentId
from shared.protocol.governing import check_texts
from shared.protocol.plain_words import words_of
from shared.wire.base import check_json_limits
from shared.wire.study import MAX_STUDY_BYTES, SignedStudy, StudyDocument
from tests.support.clinic import SCHEMA
from tests.support.studies import document
from tests.support.ward import MAPPING
from tests.support.world import Parties

PARTIES = Parties([AgentId("h1"), AgentId("h2"), AgentId("h3")])


def test_the_mapping_is_part_of_what_is_signed() -> None:
    without, with_it = document(PARTIES), document(PARTIES, fhir=MAPPING)
    assert b"fhir" not in without.canonical()
    assert with_it.sha256 != without.sha256
    assert StudyDocument.model_validate_json(with_it.canonical()) == with_it


def test_a_signed_document_with_a_mapping_keeps_within_the_limits_of_messages() -> None:
    signed = {"document": json.loads(document(PARTIES, fhir=MAPPING).canonical()), "signature": "0" * 128}
    raw = json.dumps(signed | {"certificate": "AQ"}).encode()
    check_json_limits(raw, what="study", max_bytes=MAX_STUDY_BYTES)
    assert SignedStudy.parse(raw, what="study", max_bytes=MAX_STUDY_BYTES).document.fhir is not None


def test_a_steward_reads_what_clinical_systems_send() -> None:
    text = "\n".join(words_of(document(PARTIES, fhir=MAPPING)))
    for told in (
        "FHIR mapping inflammations, a part of this document",
        "nausea from whether there is a Condition (http://hl7.org/fhir/sid/icd-10|R11*), where there is none: 0",
        "lumbar pain from the latest Observation (http://snomed.info/sct|279039007)",
        "micturition pains from the latest QuestionnaireResponse (question pain)",
        "MedicationRequest (http://www.nlm.nih.gov/research/umls/rxnorm|7980), or a selected draft",
    ):
        assert told in text
    assert "FHIR" not in "\n".join(words_of(document(PARTIES)))


def test_a_mapping_of_another_schema_is_refused() -> None:
    foreign: dict[str, Any] = MAPPING | {"attributes": [MAPPING["attributes"][0] | {"name": "fever"}]}
    with pytest.raises(InputError, match="attribute 'fever': the study has no such attribute"):
        check_texts(document(PARTIES, fhir=foreign))
    wrong: dict[str, Any] = MAPPING | {"attributes": [MAPPING["attributes"][0] | {"absent": "never"}]}
    with pytest.raises(InputError, match="'never' is no value of the study"):
        check_texts(document(PARTIES, fhir=wrong))


def test_people_give_it_with_a_new_study() -> None:
    body = {"id": "s", "question": "q?", "schema": SCHEMA, "fhir": MAPPING}
    asked = StudyIn.model_validate(body)
    question = Question("s", "q?", asked.schema_, publish_tree=False, disclosure="counts", synthetic=False)
    drafted = draft(question, asked.rules(), Frame("0" * 64, ["h1", "h2", "h3"], "shared", 1, 2))
    assert drafted.fhir is not None
    assert drafted.fhir.sha256 == document(PARTIES, fhir=MAPPING).fhir.sha256  # type: ignore[union-attr]
