"""Files as hospitals and archives really give them, from the folder of public data next to this checkout."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from hospital_agent.records import DataSettings, open_source
from hospital_agent.records.draft import draft_schema
from hospital_agent.records.files import read_table
from hospital_agent.records.table import Table
from shared.errors import InputError
from shared.tree.frontier import NodeQuery
from shared.tree.schema import Attribute, Schema
from tests.support.reference_data import DATA, SKIP_REASON, is_available

pytestmark = pytest.mark.skipif(not is_available(), reason=SKIP_REASON)

HEART = [
    "age",
    "sex",
    "cp",
    "trestbps",
    "chol",
    "fbs",
    "restecg",
    "thalach",
    "exang",
    "oldpeak",
    "slope",
    "ca",
    "thal",
]


def read(name: str, **settings: Any) -> Table:
    return read_table(DataSettings(path=DATA / name, **settings))


@pytest.mark.parametrize(
    ("name", "rows", "columns", "header", "classes", "class_counts"),
    [
        ("acute-inflammations/diagnosis.data", 120, 8, False, 7, {"yes": 59, "no": 61}),
        ("adult/adult.data", 32561, 15, False, 15, {"<=50K": 24720, ">50K": 7841}),
        ("balance-scale/balance-scale.data", 625, 5, False, 1, {"L": 288, "R": 288, "B": 49}),
        ("breast-cancer-ljubljana/breast-cancer.data", 286, 10, False, 1, None),
        ("car-evaluation/car.data", 1728, 7, False, 7, {"unacc": 1210, "acc": 384, "good": 69, "vgood": 65}),
        (
            "early-stage-diabetes/diabetes_data_upload.csv",
            520,
            17,
            True,
            "class",
            {"Positive": 320, "Negative": 200},
        ),
        ("heart-disease/processed.cleveland.data", 303, 14, False, 14, None),
        (
            "indian-liver-patient/Indian Liver Patient Dataset (ILPD).csv",
            583,
            11,
            False,
            11,
            {"1": 416, "2": 167},
        ),
        ("kr-vs-kp/kr-vs-kp.data", 3196, 37, False, 37, {"won": 1669, "nowin": 1527}),
        ("mammographic-mass/mammographic_masses.data", 961, 6, False, 6, {"0": 516, "1": 445}),
        ("spect-heart/SPECT.test", 187, 23, False, 1, {"1": 172, "0": 15}),
        ("thyroid-ann/ann-train.data", 3772, 22, False, 22, {"3": 3488, "2": 191, "1": 93}),
        ("thyroid-recurrence/Thyroid_Diff.csv", 383, 17, True, "Recurred", {"No": 275, "Yes": 108}),
        ("tic-tac-toe/tic-tac-toe.data", 958, 10, False, 10, {"positive": 626, "negative": 332}),
        ("vote/house-votes-84.data", 435, 17, False, 1, {"democrat": 267, "republican": 168}),
    ],
)
def test_layouts_and_classes_are_found(
    name: str, rows: int, columns: int, header: bool, classes: int | str, class_counts: dict[str, int] | None
) -> None:
    table = read(name)
    assert (table.row_count, len(table.columns), table.has_header) == (rows, columns, header)
    if class_counts is not None:
        assert Counter(table.find(classes, "class").texts()) == class_counts


def test_temperatures_in_utf16_with_decimal_commas(tmp_path: Path) -> None:
    names = ["nausea", "lumbar pain", "urine pushing", "micturition pains", "burning of urethra"]
    answers = [Attribute(name, ("no", "yes")) for name in names]
    schema = Schema.create([Attribute.numeric("temperature", ["38"]), *answers], "bladder", ["no", "yes"])
    path = DATA / "acute-inflammations/diagnosis.data"
    data = DataSettings(path=path, class_column=7, drop=(8,), decimal_comma=True)
    frozen = open_source(data, tmp_path).freeze(schema, b"0123456789abcdef")
    cells = frozen.count([NodeQuery((), tuple(range(6)), (0, 1))])
    lines = path.read_text("utf-16").split("\n")
    warm = Counter(
        (float(fields[0].replace(",", ".")) > 38, fields[6])
        for line in lines
        if len(fields := line.split("\t")) > 6
    )
    assert cells[:4] == [warm[False, "no"], warm[False, "yes"], warm[True, "no"], warm[True, "yes"]]
    assert sum(cells) == 6 * 120


def test_two_hospitals_write_the_same_column_in_two_ways(tmp_path: Path) -> None:
    numeric = [Attribute.numeric(name, ["1.5", "54"], missing="unknown") for name in HEART]
    schema = Schema.create(numeric, "num", list("01234"))
    root = [NodeQuery((), tuple(range(13)), tuple(range(5)))]
    for name, rows in (("cleveland", 303), ("hungarian", 294)):
        path = DATA / f"heart-disease/processed.{name}.data"
        data = DataSettings(path=path, class_column=14, missing_codes=("?",))
        frozen = open_source(data, tmp_path).freeze(schema, b"0123456789abcdef")
        assert frozen.row_count == rows
        assert sum(frozen.count(root)) == 13 * rows
    with pytest.raises(
        InputError, match=r"processed\.hungarian\.data, column 'column 4', line \d+: expected a finite"
    ):
        open_source(DataSettings(path=path, class_column=14), tmp_path).freeze(schema, b"0123456789abcdef")


def test_a_study_is_drafted_from_a_real_file() -> None:
    schema = draft_schema([read("car-evaluation/car.data")], 7)
    assert schema.attributes[2] == Attribute("column 3", ("2", "3", "4", "5more"))
    assert schema.classes == ("acc", "good", "unacc", "vgood")


@pytest.mark.parametrize(
    ("name", "class_column", "fault"),
    [
        ("zoo/zoo.data", 18, "column 'column 1': nearly every row has its own value"),
        (
            "breast-cancer-wisconsin-diagnostic/wdbc.data",
            2,
            "column 'column 1': nearly every row has its own value",
        ),
        (
            "breast-cancer-wisconsin-original/breast-cancer-wisconsin.data",
            11,
            "'column 1': nearly every row has its",
        ),
        ("adult/adult.data", 15, "column 'column 3': more than 256 distinct values"),
    ],
)
def test_identifiers_and_measurements_are_pointed_out(name: str, class_column: int, fault: str) -> None:
    with pytest.raises(InputError, match=f"{fault}.*--drop"):
        draft_schema([read(name)], class_column)


def files_of_the_page() -> list[tuple[str, int]]:
    """Every file that the folder's page lists, with its number of rows."""
    if not is_available():
        return []
    lines = (line.split(" | ") for line in (DATA / "README.md").read_text(encoding="utf-8").splitlines())
    rows = [(cells[0].lstrip("| "), cells[1], cells[2]) for cells in lines if len(cells) > 8]
    return [(f"{folder}/{name}", int(count)) for folder, name, count in rows if count.isdecimal()]


@pytest.mark.long
def test_every_file_is_read_as_it_is_without_a_setting() -> None:
    listed = files_of_the_page()
    assert len(listed) >= 32
    assert [(name, read(name).row_count) for name, _ in listed] == listed
    tumor = read("primary-tumor/primary-tumor.arff").find("class", "class")
    assert len(tumor.declared or ()) == 22
    assert len(tumor.values) == 21
