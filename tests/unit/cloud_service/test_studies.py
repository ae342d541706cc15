"""Defaults of a study's document, and what it makes of a job's plan."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from cloud_service.service.drafting import Frame, Question, StudyRules, draft
from cloud_service.service.planning import JobPlan, SecretPlan
from cloud_service.service.refusals import ConflictError
from cloud_service.service.terms import Terms
from shared.errors import InputError
from shared.wire.manifest import SchemaSpec
from shared.wire.noise import NoiseSpec
from shared.wire.study import StudyDocument
from tests.support.clinic import SCHEMA

HOSPITALS = ("h1", "h2", "h3", "h4")


def made(
    rules: StudyRules | None = None,
    *,
    synthetic: bool = False,
    key_mode: Any = "shared",
    schema: Mapping[str, Any] = SCHEMA,
) -> StudyDocument:
    spec = SchemaSpec.model_validate(schema)
    question = Question("study", "who is ill?", spec, False, "counts", synthetic)
    return draft(question, rules or StudyRules(), Frame("ab" * 32, HOSPITALS, key_mode, 100, 200))


def test_what_nobody_said_is_safe() -> None:
    document = made()
    assert (document.profiles, document.members) == (["hardened"], list(HOSPITALS))
    assert (document.min_hospitals, document.min_node, document.min_child) == (3, 10, 5)
    assert (document.max_depth, document.max_shrinks, document.max_jobs) == (12, 1, 20)
    assert (document.created, document.expires, document.key_mode) == (100, 200, "shared")
    assert made(key_mode="threshold").key_mode == "threshold"


def test_a_study_whose_numbers_no_job_could_use_is_not_made() -> None:
    numbers = {"minimum": "0", "maximum": "9", "decimals": 0}
    schema = {"attributes": [{"name": "pulse", "values": [], "numeric": numbers}], "class": SCHEMA["class"]}
    with pytest.raises(InputError, match=r"'pulse': a number without cut points.*hardened.*privet data grid"):
        made(schema=schema)
    assert made(StudyRules(profiles=["secret-gainratio"], compute_parties=HOSPITALS[:3]), schema=schema)
    assert made(synthetic=True, schema=schema)


def test_test_data_is_open() -> None:
    document = made(synthetic=True, key_mode="threshold")
    assert set(document.profiles) == {"hardened", "paper", "secret-id3", "secret-gainratio"}
    assert (document.min_node, document.max_depth, document.key_mode) == (1, None, "shared")
    assert made(StudyRules(min_node=20), synthetic=True).min_node == 20


@pytest.mark.parametrize(
    ("rules", "name", "value"),
    [
        ({"max_depth": 0}, "max_depth", None),
        ({"max_shrinks": 0}, "max_shrinks", 0),
        ({"members": ["h3", "h1", "h2"]}, "members", ["h1", "h2", "h3"]),
        ({"profiles": ["secret-id3"]}, "criteria", ["information-gain"]),
        ({"noise": NoiseSpec(sigma_squared=400)}, "profiles", ["hardened"]),
        ({"expires": 150}, "expires", 150),
    ],
)
def test_what_was_said_counts(rules: dict[str, Any], name: str, value: object) -> None:
    assert getattr(made(StudyRules(**rules)), name) == value


@pytest.mark.parametrize(
    "rules", [{"members": ["h1", "h2", "h9"]}, {"expires": 99}, {"profiles": ["paper"]}, {"max_jobs": 0}]
)
def test_a_rule_that_does_not_hold_is_named(rules: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        made(StudyRules(**rules))


def terms(states: dict[str, str] | None = None, **rules: Any) -> Terms:
    document = made(StudyRules(**rules))
    return Terms(document, {**dict.fromkeys(HOSPITALS, "pending"), **(states or {})}, [], HOSPITALS[:3])


def test_defaults_of_a_plan_follow_the_document_and_wishes_do_not() -> None:
    strict = terms(min_node=30, max_depth=4, max_shrinks=0)
    fitted = strict.fit(JobPlan())
    assert (fitted.min_node, fitted.min_child, fitted.max_depth, fitted.max_shrinks) == (30, 5, 4, 0)
    assert strict.fit(JobPlan(min_node=11, max_depth=9)).min_node == 11


def test_the_only_mode_of_a_document_is_the_plans() -> None:
    parties = ["h2", "h1", "h3"]
    fitted = terms(profiles=["secret-id3"], compute_parties=parties, max_records=50).fit(JobPlan())
    assert (fitted.mode, fitted.secret.compute_parties) == ("id3", parties)
    assert fitted.secret.max_records == 50
    chosen = JobPlan(mode="gain-ratio", secret=SecretPlan(compute_parties=["h1", "h2", "h3"]))
    assert terms(profiles=["secret-id3"]).fit(chosen).mode == "gain-ratio"


def test_noise_of_a_document_is_the_plans_and_not_less() -> None:
    fitted = terms(noise=NoiseSpec(sigma_squared=401)).fit(JobPlan())
    assert fitted.noise is not None
    assert fitted.noise.spec().sigma_squared in (401, 402)


@pytest.mark.parametrize("state", ["declined", "withdrawn"])
def test_who_said_no_is_not_invited(state: str) -> None:
    asked = terms({"h4": state})
    assert asked.candidates == {"h1", "h2", "h3"}
    with pytest.raises(ConflictError, match=f"h4 has {state}"):
        asked.check_invited(["h1", "h4"])
    with pytest.raises(InputError, match="not a member"):
        asked.check_invited(["h9"])


def test_a_study_may_want_all_to_have_approved() -> None:
    waiting = terms({"h1": "approved"}, start="approved")
    assert waiting.candidates == {"h1"}
    with pytest.raises(ConflictError, match="not approved yet"):
        waiting.check_invited(["h1", "h2"])


def test_a_document_is_named_only_where_all_agents_know_of_documents() -> None:
    assert terms().named_to(["h1", "h2"])["study_sha256"] == made().sha256
    assert terms().named_to(["h1", "h4"]) == {}
