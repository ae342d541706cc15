"""Frozen records row by row: value indices, codes in fixed point, and what is refused without telling a value."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest

from hospital_agent.records import DataSettings, RecordSource, Snapshot, open_source
from shared.errors import InputError
from shared.tree.numbers import FixedPoint
from shared.tree.numeric import column_keys, numeric_columns
from shared.tree.schema import Attribute, Schema

# Ibis 12 calls a method that DuckDB 1.5 has renamed; the pins keep both.
pytestmark = pytest.mark.filterwarnings("ignore:fetch_arrow_table:DeprecationWarning")

SALT = b"0123456789abcdef"
SCHEMA = Schema.create(
    [
        Attribute("bmi", (), fixed_point=FixedPoint.create("bmi", "10", "80", 1)),
        Attribute("site", ("lung", "skin", "other"), treat_as="equality"),
        Attribute("psa", (), fixed_point=FixedPoint.create("psa", "0", "4000000", 3, "0")),
        Attribute.numeric("age", ["40", "60"]),
    ],
    "ill",
    ["no", "yes"],
)
CSV = "bmi,age,site,psa,ill\n17.5,40,skin,0.125,yes\n80,41,lung,,no\n10.0,61,other,4000000,yes\n"
TYPES = {"bmi": "DOUBLE", "age": "INTEGER", "site": "VARCHAR", "psa": "DECIMAL(12, 3)", "ill": "VARCHAR"}
BMI, SITE, PSA, AGE, ILL = [75, 700, 0], [1, 0, 2], [125, 0, 4_000_000_000], [0, 1, 2], [1, 0, 1]
LISTED = Schema.create([SCHEMA.attributes[1], SCHEMA.attributes[3]], "ill", ["no", "yes"])


def written(folder: Path, text: str = CSV, **more: Any) -> RecordSource:
    path = folder / "ward.csv"
    path.write_text(text)
    return open_source(DataSettings(path=path, **more), folder / "frozen")


def in_database(folder: Path, text: str = CSV) -> RecordSource:
    (folder / "ward.csv").write_text(text)
    url = f"duckdb://{folder / 'ward.duckdb'}"
    with duckdb.connect(str(folder / "ward.duckdb")) as connection:
        source = f"read_csv('{folder / 'ward.csv'}', header = true, columns = {TYPES})"
        connection.execute(f"CREATE TABLE ward AS SELECT *, 1 AS note FROM {source}")
    return open_source(DataSettings(url=url, table="ward"), folder / "frozen")


def by_row(snapshot: Snapshot) -> list[tuple[int, ...]]:
    rows = snapshot.rows()
    assert rows.row_count == snapshot.row_count
    return list(zip(*(line.tolist() for line in (*rows.attributes, rows.classes)), strict=True))


def test_rows_of_a_file_survive_it(tmp_path: Path) -> None:
    source = written(tmp_path)
    frozen = source.freeze(SCHEMA, SALT)
    (tmp_path / "ward.csv").unlink()
    again = source.reopen(SCHEMA, frozen.sha256)
    expected = list(zip(BMI, SITE, PSA, AGE, ILL, strict=True))
    assert by_row(frozen) == by_row(again) == expected
    rows = again.rows()
    assert [str(line.dtype) for line in rows.attributes] == ["uint32", "uint8", "uint32", "uint8"]
    assert rows.classes.dtype == np.uint8
    keys = column_keys(numeric_columns(SCHEMA), rows.attributes)
    assert keys.tolist() == [BMI, [0, 1, 0], [1, 0, 0], [0, 0, 1], PSA, AGE]


def test_rows_are_no_part_of_any_text(tmp_path: Path) -> None:
    frozen = written(tmp_path).freeze(SCHEMA, SALT)
    assert repr(frozen.rows()) == "RecordRows()"
    assert "array" not in repr(frozen)


def test_altered_numbers_are_noticed(tmp_path: Path) -> None:
    source = written(tmp_path)
    frozen = source.freeze(SCHEMA, SALT)
    path = tmp_path / "frozen" / f"{frozen.sha256}.codes"
    body = bytearray(path.read_bytes())
    body[-20] ^= 1
    path.write_bytes(body)
    with pytest.raises(InputError, match="altered"):
        source.reopen(SCHEMA, frozen.sha256)


def test_rows_of_listed_values_in_a_database(tmp_path: Path) -> None:
    source = in_database(tmp_path)
    frozen = source.freeze(LISTED, SALT)
    expected = sorted(zip(SITE, AGE, ILL, strict=True), key=lambda row: (row[1], row[0], row[2]))
    assert by_row(frozen) == expected
    assert by_row(source.reopen(LISTED, frozen.sha256)) == expected
    with duckdb.connect(str(tmp_path / "ward.duckdb")) as connection:
        connection.execute("UPDATE ward SET site = 'lung'")
    with pytest.raises(InputError, match="changed since"):
        frozen.rows()


def test_numbers_of_a_database_are_copied_when_frozen(tmp_path: Path) -> None:
    source = in_database(tmp_path)
    frozen = source.freeze(SCHEMA, SALT)
    with duckdb.connect(str(tmp_path / "ward.duckdb")) as connection:
        connection.execute("DROP TABLE ward")
    assert by_row(frozen) == by_row(source.reopen(SCHEMA, frozen.sha256))
    assert sorted(by_row(frozen)) == sorted(zip(BMI, SITE, PSA, AGE, ILL, strict=True))
    assert frozen.notes == (
        "columns that the study does not use: note",
        "counted from a copy of their codes, kept by this agent: the study compares numbers as they are",
    )


def test_an_empty_database(tmp_path: Path) -> None:
    source = in_database(tmp_path)
    with duckdb.connect(str(tmp_path / "ward.duckdb")) as connection:
        connection.execute("DELETE FROM ward")
    with pytest.raises(InputError, match="no rows"):
        source.freeze(SCHEMA, SALT)


@pytest.mark.parametrize(
    ("field", "expected"),
    [
        ("", "an empty field, and the schema has no value for it"),
        ("NaN", "expected a finite decimal number"),
        ("17.5 kg", "units"),
        ("17.55", "more decimals than the study declares, 1"),
        ("9.9", "outside the study's range, 10 to 80"),
        ("1e9", "outside the study's range"),
    ],
)
def test_a_bad_number_is_found_with_its_place(tmp_path: Path, field: str, expected: str) -> None:
    source = written(tmp_path, CSV + f"{field},30,skin,1,no\n")
    with pytest.raises(InputError, match=r"ward\.csv, column 'bmi', line 5") as caught:
        source.freeze(SCHEMA, SALT)
    assert expected in str(caught.value)
    assert field in ("", "NaN") or field not in str(caught.value)


def test_bad_numbers_of_a_database_name_table_and_column(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"table 'ward', column 'bmi'.*decimals"):
        in_database(tmp_path, CSV + "17.55,30,skin,1,no\n").freeze(SCHEMA, SALT)


def test_decimal_comma_and_missing_codes(tmp_path: Path) -> None:
    text = CSV.replace(",", ";").replace(".", ",") + "17,5;30;skin;?;no\n"
    source = written(tmp_path, text, decimal_comma=True, missing_codes=("?",))
    assert by_row(source.freeze(SCHEMA, SALT))[-1] == (75, 1, 0, 0, 0)
