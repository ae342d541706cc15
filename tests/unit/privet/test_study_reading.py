"""An exported tree asked in the spellings of hospitals: as `privet agent predict`, which reads by the same contract."""

from __future__ import annotations

import json
import stat
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from privet.__main__ import run
from privet.estimator import PrivetTreeClassifier
from shared.contract.asking import record_reader
from shared.contract.files import contract_of
from shared.contract.schema import schema_of_contract
from shared.errors import InputError
from shared.export import FormatName
from shared.export.document import read_document, to_document, to_json
from shared.export.formats import reading_of, render
from shared.export.subject import Origin, Subject
from shared.tree.binary_tests import AtMost
from shared.tree.model import Leaf, Split, Tree
from shared.tree.prediction import predict
from tests.support.export_judges import run_python

pd = pytest.importorskip("pandas")

DOCUMENT: dict[str, Any] = {
    "name": "heart",
    "attributes": [
        {"name": "cp", "kind": "category", "spelling": "number",
         "values": [{"value": "1"}, {"value": "2"}, {"value": "3"}, {"value": "4", "texts": ["5"]}]},
        {"name": "thal", "columns": ["Thallium"], "kind": "category", "spelling": "number",
         "missing_codes": ["?", "-9"], "missing_policy": "category",
         "values": [{"value": "3", "texts": ["normal"]}, {"value": "6"}, {"value": "7"}]},
        {"name": "chol", "kind": "number", "cuts": ["200", "250"], "minimum": "0", "maximum": "700",
         "missing_codes": ["0", "?"], "missing_policy": "category"},
        {"name": "sex", "columns": ["Geschlecht"], "kind": "category", "spelling": "folded",
         "values": [{"value": "0", "texts": ["weiblich"]}, {"value": "1", "texts": ["männlich"]}]},
        {"name": "oldpeak", "kind": "number", "minimum": "-3", "maximum": "7", "decimals": 1,
         "missing_as": "0", "missing_codes": ["-9"]},
    ],
    "class": {"name": "num", "spelling": "number",
              "values": [{"value": "0"}, {"value": "1", "texts": ["2", "3", "4"]}]},
}  # fmt: skip
HOLDING: tuple[FormatName, ...] = ("json", "sklearn", "python")
pytestmark = pytest.mark.filterwarnings("ignore:X does not have valid feature names")
CONTRACT = contract_of(DOCUMENT, "heart")
SCHEMA = schema_of_contract(CONTRACT)
PEAK = Split(4, (Leaf(0, (9, 1)), Leaf(1, (1, 9))), 0, (10, 10), AtMost(Decimal("1.5")))
THAL = Split(1, (PEAK, Leaf(1, (0, 5)), Leaf(1, (0, 8)), Leaf(0, (3, 1))), 1, (13, 24))
SEX = Split(3, (Leaf(0, (6, 2)), Leaf(1, (1, 7))), 0, (7, 9))
CHOL = Split(2, (Leaf(0, (5, 0)), SEX, Leaf(1, (0, 4)), Leaf(1, (1, 3))), 0, (13, 16))
TREE = Tree(Split(0, (Leaf(0, (4, 0)), CHOL, Leaf(0, (9, 3)), THAL), 0, (39, 43)))
SUBJECT = Subject.prepare(TREE, SCHEMA, "counts", Origin(study="heart"), CONTRACT)
NAMES = [attribute.name for attribute in SCHEMA.attributes]
SPELLED = [
    ["4.0", "7.0", "233", "männlich", "2.3"],
    ["4", "3.0", "233.0", "M\u00c4NNLICH", "1.50"],
    ["5.0", "NORMAL", "?", "1", "9"],
    ["4.0", "normal", "0", "1", "-9"],
    ["+4", "-9.0", "0", "0", "1.6"],
    ["2.0", "?", "0.0", "Weiblich", ""],
    ["2.0", "", "201", "weiblich", "1"],
    ["2", "3", "201", " mannlich ", "1"],
    ["2", "3", "800", "divers", "1"],
    ["9", "3", "250", "1", "1"],
    ["", "3", "250", "1", "1"],
]


def asked(records: list[dict[str, Any]]) -> list[str]:
    """The answers of `privet agent predict`."""
    read = record_reader(CONTRACT)
    return [predict(TREE, SCHEMA, read(record), "counts").label for record in records]


def estimator() -> PrivetTreeClassifier:
    return PrivetTreeClassifier(json.loads(to_json(SUBJECT))).fit()


def test_cleveland_is_read_as_its_hospital_writes_it() -> None:
    records = [dict(zip(NAMES, row, strict=True)) for row in SPELLED]
    expected = asked(records)
    assert (expected[0], len(set(expected))) == ("1", 2)
    frame = pd.DataFrame(SPELLED, columns=NAMES, dtype=object)
    for columns in (frame, frame.astype("string"), frame.astype("category"), np.array(SPELLED)):
        found = estimator()
        given = columns if hasattr(columns, "columns") else pd.DataFrame(columns, columns=NAMES)
        assert found.predict(given).tolist() == expected
    assert estimator().predict(np.array(SPELLED, object)).tolist() == expected
    bare = PrivetTreeClassifier(to_document(replace(SUBJECT, contract=None))).fit()
    assert bare.predict(frame.iloc[:1]).tolist() == ["0"]  # the fault that this mends: 4.0 is no value to it


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
def test_numbers_of_a_frame_are_read_too(dtype: Any) -> None:
    rows = [[4, 7, 233, 1, 2], [4, -9, 0, 1, 2], [2, 3, 0, 1, 1], [5, 3, 201, 0, -9], [4, 3, 201, 0, 2]]
    frame = pd.DataFrame(rows, columns=NAMES).astype(dtype)
    records = [{name: dtype(value).item() for name, value in zip(NAMES, row, strict=True)} for row in rows]
    assert estimator().predict(frame).tolist() == asked(records)
    assert estimator().predict(frame.to_numpy()).tolist() == asked(records)


def test_a_hospitals_names_of_columns() -> None:
    frame = pd.DataFrame(SPELLED, columns=["cp", "Thallium", "chol", "Geschlecht", "oldpeak"])
    records = [dict(zip(NAMES, row, strict=True)) for row in SPELLED]
    assert estimator().fit(frame).predict(frame).tolist() == asked(records)
    with pytest.raises(ValueError, match="given twice"):
        estimator().predict(frame.assign(thal="3"))


def test_the_file_holds_the_contract_and_old_files_have_none() -> None:
    document = json.loads(to_json(SUBJECT))
    assert read_document(document) == SUBJECT
    assert contract_of(document["contract"], "tree").sha256 == CONTRACT.sha256
    old = to_document(replace(SUBJECT, contract=None))
    assert "contract" not in old
    assert read_document(old).contract is None
    renamed = document["contract"] | {"class": document["contract"]["class"] | {"name": "other"}}
    for wrong in (renamed, {"name": "heart"}, 7):
        with pytest.raises(InputError, match="contract"):
            read_document(document | {"contract": wrong})
    document["contract"]["attributes"][0]["values"].pop()
    with pytest.raises(ValueError, match="not that of the tree's schema"):
        PrivetTreeClassifier(document).fit()


def test_other_forms_say_how_records_must_be() -> None:
    command = "privet data recode heart FILE --agent DIR --out records.csv"
    for form in ("pmml", "rules", "dot", "svg"):
        assert command in render(SUBJECT, form).decode(), form
    for form in ("pmml", "onnx", "rules"):
        assert command in (reading_of(SUBJECT, form) or "")
    for picture in ("dot", "svg"):
        assert reading_of(SUBJECT, picture) is None, "nobody gives records to a picture"
    for holds in HOLDING:
        assert "holds the study's data contract" in (reading_of(SUBJECT, holds) or "")
    assert reading_of(replace(SUBJECT, contract=None), "python") is None


CODES = {
    "name": "diagnosis", "kind": "category", "spelling": "folded",
    "missing_codes": ["ZZZ"], "missing_policy": "category",
    "values": [{"value": "infarct", "prefixes": ["I21", "I22"]}, {"value": "heart", "prefixes": ["I2", "I5"]},
               {"value": "fracture", "texts": ["S72.0", "I"]}, {"value": "all others", "other": True}],
}  # fmt: skip


def test_the_file_of_python_reads_as_the_agent_does() -> None:
    records: list[dict[str, Any]] = [dict(zip(NAMES, row, strict=True)) for row in SPELLED]
    records += [{"cp": 4.0, "Thallium": Decimal("7.00"), "oldpeak": 2}, {"cp": 2, "chol": None}, {"cp": True}]
    records += [{"cp": 5, "thal": "normal", "oldpeak": "-9.00"}, {"cp": "-0"}, {"cp": "2e0", "chol": "00"}]
    told = run_python(render(SUBJECT, "python").decode(), records)
    assert [answer[0] for answer in told] == asked(records)
    both: list[dict[str, Any]] = [{"cp": 4, "thal": "3", "Thallium": "3"}]
    assert "given twice" in (run_python(render(SUBJECT, "python").decode(), both)[0][0] or "")


def test_the_file_of_python_knows_prefixes_and_the_rest() -> None:
    contract = contract_of(DOCUMENT | {"attributes": [CODES]}, "codes")
    leaves = tuple(Leaf(number % 2, (2 - number % 2, 1 + number % 2)) for number in range(5))
    tree, schema = Tree(Split(0, leaves, 0, (8, 7))), schema_of_contract(contract)
    source = render(Subject.prepare(tree, schema, "counts", Origin(), contract), "python").decode()
    texts = ["I21.4", "i22", "I25", "I50", "s72.0", "S72.1", "I", "Infarct", " HEART ", "zzz", "", "x"]
    told = run_python(source, [{"diagnosis": text} for text in texts])
    read = record_reader(contract)
    places = [
        schema.attributes[0].code_of(str(read({"diagnosis": text})["diagnosis"]) or "missing")
        for text in texts
    ]
    assert [answer[1] for answer in told] == [1 + place for place in places]


def recode(capsys: pytest.CaptureFixture[str], *words: object, code: int = 0) -> Any:
    capsys.readouterr()
    assert run(["data", "recode", *map(str, words), "--json"]) == code, capsys.readouterr()
    return json.loads(capsys.readouterr().out)


def test_records_are_written_as_the_study_reads_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tree, records, out = tmp_path / "tree.json", tmp_path / "records.csv", tmp_path / "read.csv"
    tree.write_text(to_json(SUBJECT), encoding="utf-8")
    # Without what the contract refuses: unlisted values, numbers out of range, an empty field.
    spelled = SPELLED[:2] + SPELLED[3:8]
    lines = ["id;Thallium;cp;chol;Geschlecht;oldpeak"]
    lines += [f"p;{row[1]};{row[0]};{row[2]};{row[3]};{row[4].replace('.', ',')}" for row in spelled]
    records.write_text("\n".join(lines) + "\n", encoding="utf-8")
    made = recode(capsys, tree, records, "--set", "decimal_comma=true", "--set", "missing=[]", "-o", out)
    assert (made["contract"], made["class_column"]) == ("heart", False)
    assert stat.S_IMODE(out.stat().st_mode) == 0o600
    frame = pd.read_csv(out, dtype=str, keep_default_na=False)
    assert list(frame.columns) == NAMES
    assert frame.iloc[0].tolist() == ["4", "7", "233", "1", "2.3"]
    assert frame.iloc[2].tolist()[1:3] == ["3", ""]
    expected = asked([dict(zip(NAMES, row, strict=True)) for row in spelled])
    told = run_python(render(SUBJECT, "python").decode(), frame.to_dict("records"))
    assert [answer[0] for answer in told] == expected
    recode(capsys, tree, records, "-o", out, code=3)


def test_what_does_not_fit_is_not_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    contract, records, out = tmp_path / "contract.json", tmp_path / "records.csv", tmp_path / "read.csv"
    contract.write_text(json.dumps(DOCUMENT))
    records.write_text("cp,thal,chol,sex,oldpeak,num\n4.0,7.0,233,1,2.3,2\n9,3,800,1,1,0\n")
    found = recode(capsys, contract, records, "-o", out, code=1)
    assert [(fault["column"], fault["rule"]) for fault in found["faults"]] == [
        ("cp", "unknown-value"),
        ("chol", "range"),
    ]
    assert not out.exists()
    records.write_text("cp,thal,chol,sex,oldpeak,num\n4.0,-9.0,233,1,2.3,2\n")
    assert recode(capsys, contract, records, "-o", out)["class_column"]
    assert out.read_text() == "cp,thal,chol,sex,oldpeak,num\n4,,233,1,2.3,1\n"
