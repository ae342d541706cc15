"""Exports of a study that makes attributes of several columns: frames and the Python file answer as the agent does."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from privet.estimator import PrivetTreeClassifier
from shared.contract.asking import record_reader
from shared.contract.files import contract_of
from shared.contract.schema import schema_of_contract
from shared.errors import InputError
from shared.export.document import to_json
from shared.export.formats import render
from shared.export.subject import Origin, Subject
from shared.tree.model import Leaf, Split, Tree
from shared.tree.prediction import predict
from tests.support.derived import COLUMNS, CONTRACT, MADE, ROWS, SCHEMA
from tests.support.export_judges import run_python, run_python_file

pd = pytest.importorskip("pandas")
pytestmark = pytest.mark.filterwarnings("ignore:X does not have valid feature names")
ILL = Split(3, (Leaf(1, (1, 5, 0, 0)), Leaf(3, (0, 0, 1, 6)), Leaf(0, (2, 0, 0, 0))), 1, (3, 5, 1, 6))
STAY = Split(1, (Leaf(0, (7, 0, 0, 0)), ILL, Leaf(2, (0, 0, 8, 1)), Leaf(1, (1, 3, 0, 0))), 2, (11, 8, 9, 7))
BMI = Split(
    0, (STAY, Leaf(2, (0, 0, 4, 0)), Leaf(3, (0, 0, 0, 5)), Leaf(2, (0, 1, 9, 0)), Leaf(0, (4, 0, 0, 0))), 2
)
TREE = Tree(BMI)
SUBJECT = Subject.prepare(TREE, SCHEMA, "class", Origin(study="derived"), CONTRACT)
RECORDS: list[dict[str, Any]] = [dict(zip(COLUMNS, fields, strict=True)) for fields, _ in ROWS]
MORE: list[dict[str, Any]] = [
    {"weight": 70, "Groesse": Decimal("1.75"), "fever": True, "cough": False, "stay": 3},
    {"bmi": 20.5, "admitted": "2026-01-01", "discharged": "02.01.2026", "fever": False, "cough": "NO"},
    {"bmi": "24", "weight": 70},
    {"weight": None, "height": "1.75", "stay": "9"},
]
BROKEN: list[dict[str, Any]] = [
    {"weight": "70", "height": "0"},
    {"weight": "700", "height": "1.75"},
    {"weight": "seventy", "height": "1.75"},
    {"bmi": 20, "admitted": "2026-02-30", "discharged": "2026-02-30"},
    {"bmi": 20, "stay": 3, "cough": "no", "fever": "perhaps"},
]


def asked(records: list[dict[str, Any]]) -> list[str]:
    """The answers of `privet agent predict`."""
    read = record_reader(CONTRACT)
    return [predict(TREE, SCHEMA, read(record), "class").label for record in records]


def estimator() -> PrivetTreeClassifier:
    return PrivetTreeClassifier(json.loads(to_json(SUBJECT))).fit()


def test_frames_are_derived_as_the_agent_derives() -> None:
    expected = asked(RECORDS)
    assert len(set(expected)) >= 3
    frame = pd.DataFrame(RECORDS)
    for one in (
        frame,
        frame[[*COLUMNS[::-1]]],
        frame.assign(bmi="99"),
        frame.rename(columns={"height": "Groesse"}),
    ):
        assert estimator().predict(one).tolist() == expected
    typed = frame.assign(
        weight=pd.to_numeric(frame["weight"]),
        height=pd.to_numeric(frame["height"]),
        discharged=pd.to_datetime(frame["discharged"]),
    )
    assert estimator().predict(typed).tolist() == expected
    made = pd.DataFrame([[*row[:2], "f", row[2]] for row in MADE], columns=["bmi", "stay", "sex", "ill"])
    assert estimator().predict(made).tolist() == expected
    assert estimator().predict(np.array(made, object)).tolist() == expected


def test_the_file_of_python_derives_as_the_agent_does(tmp_path: Path) -> None:
    source = render(SUBJECT, "python").decode()
    assert [answer[0] for answer in run_python(source, [*RECORDS, *MORE])] == asked([*RECORDS, *MORE])
    path = tmp_path / "tree.py"
    path.write_text(source)
    text = "\n".join([",".join(COLUMNS), *(",".join(fields) for fields, _ in ROWS)])
    told = run_python_file(path, text)
    assert [line.split(",")[0] for line in told.stdout.splitlines()[1:]] == asked(RECORDS)
    assert "no column 'bmi'" in run_python_file(path, text.replace("weight", "kilos")).stderr


@pytest.mark.parametrize("record", BROKEN)
def test_what_cannot_be_made_is_refused_everywhere(record: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="derived '") as caught:
        asked([record])
    (answer,) = run_python(render(SUBJECT, "python").decode(), [record])
    assert answer[0] is not None
    assert answer[0].split(":")[0] == str(caught.value).split(":")[0]
    whole = pd.DataFrame([RECORDS[0] | record | {"bmi": None}])
    with pytest.raises(ValueError, match="derived '"):
        estimator().predict(whole)


def test_long_numbers_with_few_decimals_are_read_alike() -> None:
    """More digits than a decimal of Python keeps by itself, of an attribute whose decimals are bounded."""
    ratio = {"kind": "product", "name": "ratio", "columns": ["one", "two"], "powers": [1, -1], "decimals": 1}
    document = {
        "name": "ratio",
        "attributes": [
            {"name": "one", "kind": "number", "cuts": [], "decimals": 1},
            {"name": "two", "kind": "number", "cuts": [], "decimals": 1},
            {"name": "ratio", "kind": "number", "cuts": ["5"]},
        ],
        "class": {"name": "ill", "values": [{"value": "no"}, {"value": "yes"}]},
        "derived": [ratio],
    }
    contract = contract_of(document, "ratio")
    schema, tree = schema_of_contract(contract), Tree(Split(2, (Leaf(0, (1, 0)), Leaf(1, (0, 1))), 0, (1, 1)))
    subject = Subject.prepare(tree, schema, "class", Origin(study="ratio"), contract)
    record = {"one": "8" + "0" * 40 + ".5", "two": "1" + "0" * 40}
    (answer,) = run_python(render(subject, "python").decode(), [record])
    assert answer[0] == predict(tree, schema, record_reader(contract)(record), "class").label == "yes"


def test_a_study_that_derives_nothing_has_no_more_in_its_file() -> None:
    plain = render(Subject.prepare(TREE, SCHEMA, "class", Origin()), "python").decode()
    assert "DERIVED" not in plain
    assert "source_text" not in plain
