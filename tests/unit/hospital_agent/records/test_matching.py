from __future__ import annotations

from pathlib import Path

import pytest

from hospital_agent.records.files import read_table
from hospital_agent.records.matching import CodedRecords, encode
from hospital_agent.records.source import DataSettings
from shared.errors import InputError
from shared.tree.schema import Attribute, Schema

SCHEMA = Schema.create(
    [Attribute("sex", ("f", "m")), Attribute.numeric("temp", ["37.5", "38"], missing="unknown")],
    "ill",
    ["no", "yes"],
)
GOOD = "sex,temp,ill\nf,37.5,no\nm,37.6,yes\nf,38.5,yes\nm,,no\n"
CODES = [[0, 1, 0, 1], [0, 1, 2, 3], [0, 1, 1, 0]]


def coded(tmp_path: Path, content: str, schema: Schema = SCHEMA, **settings: object) -> CodedRecords:
    path = tmp_path / "ward.csv"
    path.write_text(content)
    data = DataSettings(path=path, **settings)  # type: ignore[arg-type]
    return encode(read_table(data), schema, data)


def test_columns_are_found_by_name_in_any_order(tmp_path: Path) -> None:
    lines = [line.split(",") for line in GOOD.splitlines()]
    turned = "\n".join(",".join([line[2], "note", line[1], line[0]]) for line in lines)
    found = coded(tmp_path, turned, has_header=True)
    assert found.codes.tolist() == CODES
    assert found.notes == ("columns that the study does not use: note",)


def test_columns_of_a_file_without_header_are_found_by_position(tmp_path: Path) -> None:
    rows = "".join(f"p{n},{line}\n" for n, line in enumerate(GOOD.splitlines()[1:]))
    assert coded(tmp_path, rows, class_column=4, drop=(1,)).codes.tolist() == CODES


def test_columns_can_be_renamed(tmp_path: Path) -> None:
    content = GOOD.replace("sex,temp,ill", "geschlecht,temperatur,krank")
    rename = {"geschlecht": "sex", "temperatur": "temp", "krank": "ill"}
    assert coded(tmp_path, content, rename=rename).codes.tolist() == CODES


def test_a_decimal_comma_is_found_and_can_be_denied(tmp_path: Path) -> None:
    content = GOOD.replace(",", ";").replace(".", ",")
    for declared in (True, None):
        assert coded(tmp_path, content, decimal_comma=declared).codes.tolist() == CODES
    with pytest.raises(InputError, match=r"column 'temp', line 2: expected a finite decimal number"):
        coded(tmp_path, content, decimal_comma=False)


def test_one_class_at_one_hospital_is_a_note(tmp_path: Path) -> None:
    assert coded(tmp_path, "sex,temp,ill\nf,37,no\nm,39,no\n").notes == (
        "only one class occurs in these records",
    )


@pytest.mark.parametrize(
    ("content", "where", "what"),
    [
        (
            "sex,temp,ill\nf,37,no\nx,37,no\nz,36,no\n",
            "ward.csv, column 'sex', line 3",
            "2 different texts of the column",
        ),
        ("sex,temp,ill\nf,37,no\n,37,no\n", "ward.csv, column 'sex', line 3", "an empty field"),
        ("sex,temp,ill\nf,NaN,no\n", "ward.csv, column 'temp', line 2", "expected a finite decimal number"),
        ("sex,temp,ill\nf,37,no\nf,inf,no\n", "ward.csv, column 'temp', line 3", "expected a finite decimal"),
        ("sex,temp,ill\nf,37 C,no\n", "ward.csv, column 'temp', line 2", "expected a finite decimal number"),
        (
            "sex,temp,ill\nf,37,no\n\nm,37,maybe\n",
            "ward.csv, column 'ill', line 4",
            "a class that the schema",
        ),
        ("sex,temp,ill\nf,37,no\nm,37,\n", "ward.csv, column 'ill', line 3", "a class that the schema"),
        ("sex,temp\nf,37\n", "ward.csv", "the class column 'ill' is missing."),
        (
            "sex,ill\nf,no\n",
            "ward.csv",
            "the study's attribute 'temp' has no column here (1 missing in all).",
        ),
    ],
)
def test_faults_name_file_column_and_first_line(tmp_path: Path, content: str, where: str, what: str) -> None:
    with pytest.raises(InputError) as caught:
        coded(tmp_path, content, has_header=True)
    assert caught.value.where == where
    assert what in str(caught.value)
    assert caught.value.remedy
    for value in ("maybe", "37 C", "inf ", "NaN "):
        assert value not in str(caught.value).replace(caught.value.remedy, "")


def test_a_wrong_number_of_columns_without_header(tmp_path: Path) -> None:
    rows = "1,f,37,no\n2,m,38,yes\n"
    many = r"has no header and 3 attribute columns; the study has 2\. Take columns out with drop"
    with pytest.raises(InputError, match=many):
        coded(tmp_path, rows, class_column=4)
    with pytest.raises(InputError, match=r"the study has 2\. Take columns of the study out of drop"):
        coded(tmp_path, rows, class_column=4, drop=(1, 2))
    with pytest.raises(InputError, match=r"the study has 2\. Add the study's other columns"):
        coded(tmp_path, "f,no\nm,yes\n", class_column=2, has_header=False)


def test_a_dropped_column_that_the_study_uses(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"'temp' has no column here .* Take that column out of drop"):
        coded(tmp_path, GOOD, drop=("temp",))


def test_a_class_that_is_named_nowhere(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no column 'outcome'"):
        coded(tmp_path, GOOD, class_column="outcome")


def test_two_columns_renamed_alike(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="after renaming: columns 1 and 2 are both named 'temp'"):
        coded(tmp_path, GOOD, rename={"sex": "temp"})


def test_256_values_fit_a_byte(tmp_path: Path) -> None:
    values = [f"v{n:03}" for n in range(256)]
    schema = Schema.create([Attribute("a", tuple(values))], "c", ["x", "y"])
    content = "a,c\n" + "".join(f"{value},{'xy'[n % 2]}\n" for n, value in enumerate(values))
    assert coded(tmp_path, content, schema).codes[0].tolist() == list(range(256))
