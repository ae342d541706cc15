"""Every export form answers as `shared.tree.prediction` does: trees at random, hostile texts, missing and unknown."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from shared.export.document import read_document, to_json
from shared.export.formats import render
from shared.export.pmml import to_pmml
from shared.export.rules import to_rules
from shared.export.standalone import to_python
from tests.support.export_cases import Answer, Case, cases
from tests.support.export_judges import (
    JPMML,
    JPMML_MISSING,
    Told,
    pmml_schema,
    read_pmml,
    read_rules,
    run_jpmml,
    run_onnx,
    run_pypmml,
    run_python,
)

fast = settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
thorough = settings(max_examples=250, deadline=None, suppress_health_check=list(HealthCheck))
needs_jpmml = pytest.mark.skipif(not JPMML.is_dir(), reason=JPMML_MISSING)
needs_java = pytest.mark.skipif(shutil.which("java") is None, reason="java is not here")


def agree(told: Sequence[Told], case: Case, *, shares: bool) -> None:
    """Class and place of every answer, and its distribution to the last bit where the form has one."""
    answers = case.answers()
    assert [label for label, _, _ in told] == [answer.label for answer in answers]
    for (_, place, distribution), answer in zip(told, answers, strict=True):
        assert answer.label is None or place == answer.place
        if shares and answer.label is not None:
            assert close(distribution, answer)


def close(distribution: tuple[float, ...] | None, answer: Answer) -> bool:
    if distribution is None or answer.distribution is None:
        return distribution is answer.distribution
    return distribution == pytest.approx(answer.distribution, abs=1e-15, rel=0)


def check_pure_forms(case: Case) -> None:
    subject = case.subject
    assert read_document(json.loads(to_json(subject))) == subject
    agree(read_pmml(to_pmml(subject), case.records, case.schema), case, shares=True)
    agree(read_rules(to_rules(subject), case.records), case, shares=False)
    told = run_python(to_python(subject), case.records)
    agree(told, case, shares=False)
    expected = [None if answer.share is None else (answer.share,) for answer in case.answers()]
    assert [share for _, _, share in told] == expected


def agree_in_parts(told: Sequence[Told], case: Case) -> None:
    """As `agree`, and where all branches answer, their class and its share, which is a sum of doubles."""
    for (label, place, shares), answer in zip(told, case.answers(), strict=True):
        assert (label, place) == (answer.label, answer.place)
        if not answer.is_parted:
            assert close(shares, answer)
        else:
            assert shares is not None
            assert (sum(shares), max(shares)) == pytest.approx((1, answer.share), abs=1e-12, rel=0)


def check_parts(case: Case) -> None:
    subject = case.subject
    assert read_document(json.loads(to_json(subject))) == subject
    told = run_python(to_python(subject), case.records)
    agree(told, case, shares=False)
    for (_, _, share), answer in zip(told, case.answers(), strict=True):
        assert share == (None if answer.share is None else (pytest.approx(answer.share, abs=1e-15, rel=0),))
    agree_in_parts(read_pmml(to_pmml(subject), case.records, case.schema), case)
    for (label, place, share), answer in zip(
        read_rules(to_rules(subject), case.records, case.schema.classes), case.answers(), strict=True
    ):
        assert (label, place) == (answer.label, answer.place)
        assert share == ((pytest.approx(answer.share, abs=1e-15, rel=0),) if answer.is_parted else None)


@fast
@given(cases())
def test_pmml_rules_python_and_json_answer_alike(case: Case) -> None:
    check_pure_forms(case)


@settings(fast, max_examples=15)
@given(cases(in_parts=True))
def test_pmml_rules_python_and_json_let_all_branches_answer_where_the_tree_does(case: Case) -> None:
    check_parts(case)


@pytest.mark.long
@thorough
@given(cases(in_parts=True))
def test_pmml_rules_python_and_json_let_all_branches_answer_on_many(case: Case) -> None:
    check_parts(case)


@settings(fast, max_examples=12)
@given(cases())
def test_onnx_answers_alike(case: Case) -> None:
    pytest.importorskip("onnxruntime")
    agree(run_onnx(render(case.subject, "onnx"), case.records), case, shares=True)


@settings(fast, max_examples=10)
@given(cases(in_parts=True))
def test_onnx_lets_all_branches_answer(case: Case) -> None:
    pytest.importorskip("onnxruntime")
    agree_in_parts(run_onnx(render(case.subject, "onnx"), case.records), case)


@pytest.mark.long
@thorough
@given(cases(in_parts=True))
def test_onnx_lets_all_branches_answer_in_both_evaluators(case: Case) -> None:
    raw = render(case.subject, "onnx")
    agree_in_parts(run_onnx(raw, case.records), case)
    agree_in_parts(run_onnx(raw, case.records, reference=True), case)


@pytest.mark.long
@thorough
@given(cases())
def test_pmml_rules_python_and_json_answer_alike_on_many(case: Case) -> None:
    check_pure_forms(case)


@pytest.mark.long
@settings(thorough, max_examples=300)
@given(cases())
def test_onnx_answers_alike_in_both_evaluators(case: Case) -> None:
    raw = render(case.subject, "onnx")
    agree(run_onnx(raw, case.records), case, shares=True)
    agree(run_onnx(raw, case.records, reference=True), case, shares=True)


@pytest.mark.long
@needs_java
@settings(thorough, max_examples=300)
@given(cases())
def test_an_outside_pmml_engine_answers_alike(case: Case) -> None:
    agree(run_pypmml(to_pmml(case.subject), case.records, case.schema), case, shares=True)


@pytest.mark.long
@needs_java
@needs_jpmml
@settings(thorough, max_examples=300)
@given(case=cases())
def test_a_second_outside_pmml_engine_answers_alike(
    tmp_path_factory: pytest.TempPathFactory, case: Case
) -> None:
    path = tmp_path_factory.getbasetemp() / "tree.pmml"
    path.write_text(to_pmml(case.subject), encoding="utf-8")
    agree(run_jpmml(path, case.records, case.schema), case, shares=True)


@pytest.mark.long
@needs_java
@settings(thorough, max_examples=200)
@given(cases(in_parts=True))
def test_an_outside_pmml_engine_lets_all_branches_answer(case: Case) -> None:
    agree_in_parts(run_pypmml(to_pmml(case.subject), case.records, case.schema), case)


@pytest.mark.long
@needs_java
@needs_jpmml
@settings(thorough, max_examples=200)
@given(case=cases(in_parts=True))
def test_a_second_outside_pmml_engine_lets_all_branches_answer(
    tmp_path_factory: pytest.TempPathFactory, case: Case
) -> None:
    path = tmp_path_factory.getbasetemp() / "tree.pmml"
    path.write_text(to_pmml(case.subject), encoding="utf-8")
    agree_in_parts(run_jpmml(path, case.records, case.schema), case)


@needs_jpmml
@settings(fast, max_examples=12)
@given(st.one_of(cases(), cases(in_parts=True)))
def test_pmml_keeps_to_the_schema(case: Case) -> None:
    import lxml.etree

    document = lxml.etree.fromstring(to_pmml(case.subject).encode())
    assert pmml_schema().validate(document), pmml_schema().error_log
