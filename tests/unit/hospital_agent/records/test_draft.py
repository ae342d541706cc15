from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest

from hospital_agent.records.draft import draft_schema
from hospital_agent.records.files import read_table
from hospital_agent.records.source import DataSettings
from hospital_agent.records.table import Table
from shared.errors import InputError


def table(path: Path, content: str, has_header: bool | None = True) -> Table:
    path.write_text(content)
    return read_table(DataSettings(path=path, has_header=has_header))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "ward.csv"


def test_values_and_classes_are_pooled_and_sorted(file: Path, tmp_path: Path) -> None:
    first = table(file, "id,sex,stage,ill\n1,m,b,yes\n2,f,,yes\n")
    second = table(tmp_path / "other.csv", "ill,stage,sex,id\nno,a,m,3\n")
    schema = draft_schema([first, second], "ill", drop=["id"])
    assert [(a.name, a.values) for a in schema.attributes] == [
        ("sex", ("f", "m")),
        ("stage", ("missing", "a", "b")),
    ]
    assert (schema.class_name, schema.classes) == ("ill", ("no", "yes"))


def test_cut_points_make_an_attribute_numeric(file: Path) -> None:
    schema = draft_schema([table(file, "t,ill\n36.1,no\n,yes\n")], 2, cuts={"t": [Decimal("37.5")]})
    assert schema.attributes[0].values == ("<= 37.5", "> 37.5", "missing")


def test_a_hospital_with_one_class_takes_part(file: Path, tmp_path: Path) -> None:
    tables = [table(file, "a,c\nx,yes\n"), table(tmp_path / "other.csv", "a,c\nx,no\n")]
    assert draft_schema(tables, "c").classes == ("no", "yes")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            "id,a,c\n" + "".join(f"p{n},x,{n % 2}\n" for n in range(20)),
            (
                "ward.csv, column 'id': nearly every row has its own value, as in an identifier. Leave it out with "
                "--drop 'id', or give it cut points if it is a measurement."
            ),
        ),
        (
            "id,a,c\n" + "".join(f"p{n % 257},x,{n % 2}\n" for n in range(600)),
            (
                "ward.csv, column 'id': more than 256 distinct values. Leave it out with --drop 'id', or give it cut "
                "points if it is a measurement."
            ),
        ),
        (
            "a,c\nx,yes\ny,yes\n",
            (
                "ward.csv, class column 'c': all records have one and the same class. Name another class column with "
                "--class, or add records of another class."
            ),
        ),
        (
            "a,c\nx,yes\ny,\nz,no\n",
            (
                "ward.csv, class column 'c', line 3: a record without a class. Fill the field or remove the record; "
                "only records with a known class can be learned from."
            ),
        ),
        (
            "a,c\n" + "".join(f"x,c{n}\n" for n in range(65)),
            "ward.csv, class column 'c': more than 64 classes. Name another class column with --class.",
        ),
    ],
    ids=["identifier", "too many values", "one class", "no class", "too many classes"],
)
def test_faults_name_the_column_and_the_remedy(file: Path, content: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        draft_schema([table(file, content)], "c")
    assert str(caught.value) == message


def test_files_with_other_columns(file: Path, tmp_path: Path) -> None:
    tables = [table(file, "a,b,c\nx,y,yes\n"), table(tmp_path / "other.csv", "a,c\nx,no\n")]
    with pytest.raises(InputError, match=r"^other\.csv: there is no column 'b', which ward\.csv has"):
        draft_schema(tables, "c")


def test_a_dropped_column_that_is_not_there(file: Path) -> None:
    with pytest.raises(InputError, match=r"no column 'id'.* Name one of them with --drop"):
        draft_schema([table(file, "a,c\nx,yes\ny,no\n")], "c", drop=["id"])


def test_a_class_column_that_is_dropped(file: Path) -> None:
    with pytest.raises(
        InputError, match=r"class column 'c': the class column is to be left out\. Name another"
    ):
        draft_schema([table(file, "a,c\nx,yes\ny,no\n")], "c", drop=["2"])


def test_a_fault_of_the_tables_together_blames_no_single_one(file: Path, tmp_path: Path) -> None:
    def part(name: str, start: int) -> Table:
        return table(
            tmp_path / name, "v,a,c\n" + "".join(f"v{start + n % 150},x,{n % 2}\n" for n in range(300))
        )

    with pytest.raises(
        InputError, match=r"^ward\.csv and 1 more file, column 'v': more than 256 distinct values"
    ):
        draft_schema([part("ward.csv", 0), part("b.csv", 150)], "c")


def test_numbers_too_fine_for_32_bits_name_the_column_and_what_to_do(file: Path) -> None:
    content = "t,c\n36.1000000000001,x\n39.5,y\n"
    with pytest.raises(
        InputError, match=r"^ward\.csv, column 't': .*13 decimals.*Round the numbers.*--cut.*--drop 't'"
    ):
        draft_schema([table(file, content)], "c", numbers=True)


def test_values_that_a_file_declares_stay_as_declared(tmp_path: Path) -> None:
    head = "@relation r\n@attribute size {small, large, huge}\n@attribute n numeric\n"
    head += "@attribute ill {yes, no, unsure}\n@data\n"
    first, second = tmp_path / "first.arff", tmp_path / "second.csv"
    first.write_text(head + "large,1,no\nsmall,2,yes\n?,2,yes\n")
    second.write_text("size,n,ill\ntiny,1,no\nlarge,1,yes\n")
    schema = draft_schema([read_table(DataSettings(path=path)) for path in (first, second)], "ill")
    assert schema.attributes[0].values == ("small", "large", "huge", "missing", "tiny")
    assert schema.classes == ("yes", "no", "unsure")
    first.write_text(head + "large,1,no\nsmall,2,no\n")
    with pytest.raises(InputError, match="all records have one and the same class"):
        draft_schema([read_table(DataSettings(path=first))], "ill")
