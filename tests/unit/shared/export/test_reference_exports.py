"""All trees that other programs grew, through all export forms, over all rows of their data: one answer everywhere."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from shared.export.document import read_document, to_document
from shared.export.dot import to_dot
from shared.export.formats import render
from shared.export.pmml import to_pmml
from shared.export.rules import to_rules
from shared.export.standalone import to_python
from shared.export.svg import to_svg
from tests.support import reference_data
from tests.support.export_cases import Case
from tests.support.export_judges import (
    JPMML,
    Told,
    pmml_schema,
    read_pmml,
    read_rules,
    run_jpmml,
    run_onnx,
    run_pypmml,
    run_python,
)
from tests.support.export_pictures import follow_dot, follow_svg
from tests.support.export_references import reference_case, reference_names

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(
        not reference_data.is_available(), reason="the reference trees are not beside the checkout"
    ),
]
NAMES = reference_names() if reference_data.is_available() else []


def judged(case: Case, folder: Path) -> dict[str, list[Told]]:
    """What every form tells of every record, by form and judge."""
    subject = case.subject
    text, raw = to_pmml(subject), render(subject, "onnx")
    found = {
        "pmml, read by hand": read_pmml(text, case.records, case.schema),
        "onnxruntime": run_onnx(raw, case.records),
        "rules": read_rules(to_rules(subject), case.records),
        "python": run_python(to_python(subject), case.records),
        "estimator": run_estimator(case),
    }
    if shutil.which("java"):
        found["pmml4s"] = run_pypmml(text, case.records, case.schema)
    if shutil.which("java") and JPMML.is_dir():
        path = folder / "tree.pmml"
        path.write_text(text, encoding="utf-8")
        found["jpmml"] = run_jpmml(path, case.records, case.schema)
    return found


def run_estimator(case: Case) -> list[Told]:
    import pandas as pd

    from privet.estimator import PrivetTreeClassifier

    names = [attribute.name for attribute in case.schema.attributes]
    records = pd.DataFrame(
        [[record[name] for name in names] for record in case.records], columns=names, dtype=object
    )
    found = PrivetTreeClassifier(to_document(case.subject)).fit(records)
    shares = map(tuple, found.predict_proba(records).tolist())
    return list(zip(found.predict(records).tolist(), found.apply(records).tolist(), shares, strict=True))


@pytest.mark.parametrize("name", NAMES)
def test_a_reference_tree_answers_alike_in_every_form(name: str, tmp_path: Path) -> None:
    case = reference_case(name)
    assert read_document(to_document(case.subject)) == case.subject
    answers = case.answers()
    for judge, told in judged(case, tmp_path).items():
        assert [row[:2] for row in told] == [(answer.label, answer.place) for answer in answers], judge
        if judge not in ("rules", "python"):
            assert [row[2] for row in told] == [
                pytest.approx(a.distribution, abs=1e-15, rel=0) for a in answers
            ], judge
    assert follow_dot(to_dot(case.subject), case) == follow_svg(to_svg(case.subject), case) == len(answers)
    if JPMML.is_dir():
        import lxml.etree

        assert pmml_schema().validate(lxml.etree.fromstring(to_pmml(case.subject).encode()))


def test_there_are_as_many_trees_and_rows_as_said() -> None:
    cases = [reference_case(name) for name in NAMES]
    print(f"{len(cases)} trees, {sum(len(case.records) for case in cases)} records")
    assert len(cases) >= 70
