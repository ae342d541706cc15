"""Attributes and a class made of several columns: the same in files and databases, faults by column and rule."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import pytest

from hospital_agent.records import open_source
from hospital_agent.records.asked_source import AskedSource
from hospital_agent.records.contract_check import check_table
from hospital_agent.records.files import read_table
from hospital_agent.records.recoding import recoded
from hospital_agent.records.rows import RecordRows
from hospital_agent.records.source import DataSettings
from hospital_agent.records.sql_ways import THERE, way_of
from privet.__main__ import run
from shared.contract.files import contract_of
from shared.contract.schema import schema_of_contract
from shared.errors import InputError
from shared.wire.contract import DataContract
from tests.support.databases import postgres_database
from tests.support.derived import AGREED, COLUMNS, CONTRACT, DOCUMENT, MADE, ROWS, SCHEMA, codes, csv_text

STAY = AGREED["derived"][1]
SALT = b"salt of sixteen!"


OF_DATES = """
SELECT 70 AS weight, 1.75 AS height, DATE '2020-01-01' + CAST(i AS INTEGER) AS admitted,
  CASE WHEN i % 10 = 0 THEN NULL
    ELSE TIMESTAMP '2020-01-01 23:59:00' + INTERVAL '1' DAY * CAST(i + i % 13 - 3 AS INTEGER) END AS discharged,
  'no' AS cough, 'no' AS fever, 'yes' AS bladder, 'no' AS nephritis, 'f' AS sex"""


def of_file(folder: Path, text: str, contract: DataContract = CONTRACT, **settings: Any) -> DataSettings:
    path = folder / "records.csv"
    path.write_text(text, encoding="utf-8")
    return DataSettings(path=path, contract=contract, **settings)


def in_duckdb(folder: Path) -> DataSettings:
    """Numbers and dates with the engine's own types, NULL for empty fields."""
    with duckdb.connect(str(folder / "ward.db")) as engine:
        path = folder / "rows.csv"
        path.write_text(csv_text(), encoding="utf-8")
        engine.execute(
            "CREATE TABLE ward AS SELECT * REPLACE (CAST(weight AS DECIMAL(6, 2)) AS weight, "
            "CAST(height AS DECIMAL(5, 3)) AS height) "
            f"FROM read_csv('{path}', all_varchar = true, nullstr = '')"
        )
    return DataSettings(url=f"duckdb://{folder / 'ward.db'}", table="ward", contract=CONTRACT)


def rows_of(rows: RecordRows) -> list[tuple[int, ...]]:
    return sorted(zip(*[line.tolist() for line in (*rows.attributes, rows.classes)], strict=True))


def test_files_and_databases_make_the_same_of_the_same_columns(tmp_path: Path) -> None:
    file, database = of_file(tmp_path, csv_text()), in_duckdb(tmp_path)
    for settings in (file, database):
        frozen = open_source(settings, tmp_path / "frozen").freeze(SCHEMA, SALT)
        assert rows_of(frozen.rows()) == sorted(codes())
        assert frozen.notes == ()
    assert way_of(database, SCHEMA) == THERE


def test_days_between_columns_of_dates_are_counted_there(tmp_path: Path) -> None:
    """More pairs of dates than combinations are fetched; times of day and empty fields among them."""
    with duckdb.connect(str(tmp_path / "ward.db")) as engine:
        engine.execute(f"CREATE TABLE ward AS {OF_DATES} FROM range(3000) t(i)")
    settings = DataSettings(url=f"duckdb://{tmp_path / 'ward.db'}", table="ward", contract=CONTRACT)
    assert way_of(settings, SCHEMA) == THERE
    frozen = open_source(settings, tmp_path / "frozen").freeze(SCHEMA, SALT)
    assert sorted(row[1] for row in rows_of(frozen.rows())) == sorted(stay_codes())
    copied = replace(
        settings, missing_codes=("n/a",)
    )  # a code for missing is a text, so the dates are read as texts
    assert "'stay' is spelled, or made of others" in way_of(copied, SCHEMA)
    again = open_source(copied, tmp_path / "copied").freeze(SCHEMA, SALT)
    assert sorted(row[1] for row in rows_of(again.rows())) == sorted(stay_codes())


@pytest.mark.parametrize("odd", ["DATE 'infinity'", "DATE '10000-01-01'", "TIMESTAMP '-infinity'"])
def test_dates_that_reading_knows_no_text_of_are_refused_there_too(tmp_path: Path, odd: str) -> None:
    with duckdb.connect(str(tmp_path / "ward.db")) as engine:
        engine.execute(f"CREATE TABLE ward AS {OF_DATES} FROM range(30) t(i)")
        engine.execute(
            f"CREATE TABLE odd AS SELECT * REPLACE (CAST({odd} AS DATE) AS admitted) FROM ward LIMIT 1"
        )
        engine.execute("INSERT INTO ward SELECT * FROM odd")
    settings = DataSettings(url=f"duckdb://{tmp_path / 'ward.db'}", table="ward", contract=CONTRACT)
    with pytest.raises(InputError, match="column 'stay'") as refused:
        open_source(settings, tmp_path / "frozen").freeze(SCHEMA, SALT)
    assert not any(text in str(refused.value) for text in ("infinity", "10000"))


def stay_codes() -> list[int]:
    """Of the rows of OF_DATES."""
    stays = [None if i % 10 == 0 else i % 13 - 3 for i in range(3000)]
    return [3 if stay is None else (stay > 0) + (stay > 7) for stay in stays]


@pytest.mark.long
def test_postgresql_makes_the_same(postgres_server: str, tmp_path: Path) -> None:
    import psycopg

    with postgres_database(postgres_server) as url, psycopg.connect(url, autocommit=True) as engine:
        columns = ", ".join(f"{name} text" for name in COLUMNS)
        engine.execute(f"CREATE TABLE ward ({columns})")
        marks = ", ".join(["nullif(%s, '')"] * len(COLUMNS))
        for fields, _ in ROWS:
            engine.execute(f"INSERT INTO ward VALUES ({marks})", fields)
        engine.execute(f"CREATE TABLE stays AS {OF_DATES} FROM generate_series(0, 2999) t(i)")
        texts = DataSettings(url=url, table="ward", contract=CONTRACT)
        frozen = open_source(texts, tmp_path / "texts").freeze(SCHEMA, SALT)
        assert rows_of(frozen.rows()) == sorted(codes())
        assert way_of(texts, SCHEMA) == THERE
        dates = DataSettings(url=url, table="stays", contract=CONTRACT)
        assert way_of(dates, SCHEMA) == THERE
        found = open_source(dates, tmp_path / "dates").freeze(SCHEMA, SALT).rows()
        assert sorted(row[1] for row in rows_of(found)) == sorted(stay_codes())
        engine.execute("UPDATE stays SET admitted = 'infinity' WHERE admitted = '2020-01-03'")
        with pytest.raises(InputError, match="column 'stay': texts that the schema does not list"):
            open_source(dates, tmp_path / "infinite").freeze(SCHEMA, SALT)


def test_a_number_of_too_many_combinations_is_copied_and_says_so(tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "ward.db")) as engine:
        engine.execute(
            "CREATE TABLE ward AS SELECT 40 + (i % 100) AS weight, 1.5 + (i // 100) / 100.0 AS height, "
            "'2026-01-01' AS admitted, '2026-01-02' AS discharged, 'no' AS cough, 'no' AS fever, "
            "'yes' AS bladder, 'no' AS nephritis, 'f' AS sex FROM range(2000) t(i)"
        )
    settings = DataSettings(url=f"duckdb://{tmp_path / 'ward.db'}", table="ward", contract=CONTRACT)
    assert "made of others, in 1000 ways" in way_of(settings, SCHEMA)
    frozen = open_source(settings, tmp_path / "frozen").freeze(SCHEMA, SALT)
    assert frozen.row_count == 2000
    assert "column 'bmi' is spelled" in frozen.notes[-1]


def test_the_records_as_the_study_reads_them(tmp_path: Path) -> None:
    settings = of_file(tmp_path, csv_text())
    table = list(
        csv.reader(io.StringIO(recoded(read_table(settings), CONTRACT, settings, classes=True).decode()))
    )
    assert table[0] == ["bmi", "stay", "sex", "ill", "diagnosis"]
    assert [[row[0], row[1], row[3], row[4]] for row in table[1:]] == MADE


def test_units_decimal_commas_and_codes_of_one_hospital(tmp_path: Path) -> None:
    """154.3 pounds are 69.98944291 kg: over 1.75 squared that is 22.85."""
    fields = ["154,3", "1,75", "30.01.2026", "02.02.2026", "nein", "no", "yes", "yes", "f"]
    text = "\n".join([";".join(COLUMNS), ";".join(fields), ";".join(["k.A.", *fields[1:]])])
    settings = of_file(tmp_path, text, units={"weight": "[lb_av]"}, missing_codes=("k.A.",))
    table = recoded(read_table(settings), CONTRACT, settings, classes=True).decode().splitlines()
    assert table[1:] == ["22.9,3,f,no,both", ",3,f,no,both"]


def test_a_hospitals_own_column_where_the_others_are_not_there(tmp_path: Path) -> None:
    names = ["bmi" if name == "height" else name for name in COLUMNS]
    text = "\n".join([",".join(names), "70,22.9,2026-01-30,2026-02-02,no,no,no,no,f"])
    settings = of_file(tmp_path, text)
    assert (
        recoded(read_table(settings), CONTRACT, settings, classes=True).decode().splitlines()[1]
        == "22.9,3,f,no,none"
    )
    both = of_file(tmp_path, "\n".join([",".join([*COLUMNS, "bmi"]), ",".join([*ROWS[0][0], "99"])]))
    assert (
        recoded(read_table(both), CONTRACT, both, classes=True).decode().splitlines()[1]
        == "22.9,3,f,yes,both"
    )
    assert "does not use: bmi" in check_table(read_table(both), CONTRACT, both).notes[0]
    lacking = of_file(tmp_path, "\n".join([",".join(COLUMNS[1:]), ",".join(ROWS[0][0][1:])]))
    (fault,) = check_table(read_table(lacking), CONTRACT, lacking).faults
    assert (fault.column, fault.rule) == ("bmi", "missing-column")
    assert "weight" in fault.says


@pytest.mark.parametrize(
    ("column", "text", "name", "rule", "says"),
    [
        ("height", "0", "bmi", "division-by-zero", "a division by 0"),
        ("weight", "900", "bmi", "range", "its column 'weight': a number outside 2 to 400"),
        ("weight", "heavy", "bmi", "no-number", "its column 'weight': expected a number such as 37.5"),
        (
            "admitted",
            "2026-02-30",
            "stay",
            "no-date",
            "its column 'admitted': expected a date written YYYY-MM-DD",
        ),
        ("admitted", "01/02/2026", "stay", "no-date", "its column 'admitted'"),
        (
            "fever",
            "maybe",
            "ill",
            "unknown-value",
            "its column 'fever': a value that the contract does not list",
        ),
        ("cough", "a\x01b", "ill", "unknown-value", "control character"),
    ],
)
def test_faults_by_column_and_rule(
    tmp_path: Path, column: str, text: str, name: str, rule: str, says: str
) -> None:
    fields = list(ROWS[0][0])
    fields[COLUMNS.index(column)] = text
    settings = of_file(tmp_path, csv_text() + ",".join(fields) + "\n")
    (fault,) = check_table(read_table(settings), CONTRACT, settings).faults
    assert (fault.column, fault.rule, fault.texts, fault.first) == (name, rule, 1, "line 8")
    assert says in fault.says
    assert text not in fault.text or text == "0"
    with pytest.raises(InputError, match=f"column '{name}', line 8") as caught:
        open_source(settings, tmp_path / "frozen").freeze(SCHEMA, SALT)
    assert says in str(caught.value)


def test_a_combination_that_nobody_listed(tmp_path: Path) -> None:
    document = json.loads(json.dumps(DOCUMENT))
    del document["derived"][3]["otherwise"]
    contract = contract_of(document, "strict")
    settings = of_file(tmp_path, csv_text(), contract)
    (fault,) = check_table(read_table(settings), contract, settings).faults
    assert (fault.column, fault.rule, fault.first) == ("diagnosis", "unknown-combination", "line 5")
    assert "'bladder', 'nephritis'" in fault.says


def test_records_of_unknown_class_need_none_of_its_columns(tmp_path: Path) -> None:
    settings = of_file(tmp_path, csv_text(names=[*COLUMNS[:6], "bladder", "other", "sex"]))
    asked = AskedSource(settings, tmp_path / "asked").freeze(SCHEMA, SALT)
    assert [row[:4] for row in rows_of(asked.rows())] == sorted(row[:4] for row in codes())


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"derived": [AGREED["derived"][0]]}, "nothing is derived from it"),
        ({"derived": [*AGREED["derived"], AGREED["derived"][0]]}, "derived twice"),
        ({"derived": [*AGREED["derived"], {**AGREED["derived"][1], "name": "los"}]}, "no attribute and no class"),
        ({"derived": [{**AGREED["derived"][0], "columns": ["weight", "size"]}]}, "does not describe"),
        ({"derived": [{**AGREED["derived"][0], "columns": ["weight", "sex"]}]}, "which is a category"),
        ({"derived": [STAY, {**AGREED["derived"][0], "columns": ["weight", "stay"]}]}, "derived itself"),
        ({"derived": [{**AGREED["derived"][1], "name": "ill"}]}, "makes a number"),
        ({"derived": [{**AGREED["derived"][2], "value": "perhaps"}]}, "'perhaps', which is not listed"),
        ({"derived": [{**AGREED["derived"][2], "columns": ["fever", "sex"]}]}, "no value of 'fever', 'sex'"),
        ({"derived": [{**AGREED["derived"][0], "powers": [1, 0]}]}, "one power, which is not 0"),
        ({"derived": [{**AGREED["derived"][0], "columns": ["weight", "weight"]}]}, "reads a column twice"),
        ({"inputs": [*AGREED["inputs"], {"name": "sex", "kind": "category"}]}, "is named for"),
        ({"inputs": [{**AGREED["inputs"][2], "formats": ["DD/MM/YYYY", "MM/DD/YYYY"]}]}, "one text as two dates"),
    ],
)  # fmt: skip
def test_derivations_that_contradict_themselves(change: dict[str, Any], says: str) -> None:
    with pytest.raises(InputError, match=says):
        schema_of_contract(contract_of({**DOCUMENT, **change}, "contract"))


def test_a_contract_without_derivations_keeps_its_bytes() -> None:
    document = {name: value for name, value in DOCUMENT.items() if name not in ("inputs", "derived")}
    raw = contract_of(document, "contract").canonical()
    assert b'"inputs"' not in raw
    assert b'"derived":' not in raw


def test_draft_merge_and_check_with_an_agreement(tmp_path: Path) -> None:
    """Two hospitals, one in pounds with a comma and its own names, from file to one contract that both fit."""
    agreed, one, two = (tmp_path / name for name in ("agreed.json", "one.csv", "two.csv"))
    agreed.write_text(json.dumps(AGREED))
    one.write_text(csv_text())
    names = ["Groesse" if name == "height" else name for name in COLUMNS]
    two.write_text(csv_text(names=names))
    words = [
        "--class",
        "diagnosis",
        "--cuts",
        "bmi=22.9,25,30",
        "--cuts",
        "stay=0,7",
        "--derive",
        str(agreed),
    ]
    words += ["--name", "derived", "--recode", "sex:male=m", "--missing-policy", "category", "--floor", "1"]
    for place, file in enumerate((one, two)):
        draft = ["data", "draft", str(file), *words, "-o", str(tmp_path / f"{place}.json")]
        assert run(draft) == 0
    merged = tmp_path / "merged.json"
    assert run(["data", "merge", str(tmp_path / "0.json"), str(tmp_path / "1.json"), "-o", str(merged)]) == 0
    contract = contract_of(json.loads(merged.read_text()), "merged")
    assert [one.name for one in contract.derived] == ["bmi", "stay", "ill", "diagnosis"]
    assert {entry.value for entry in contract.class_.values} == {"none", "bladder", "nephritis", "both"}
    for file in (one, two):
        assert run(["data", "check", str(merged), str(file)]) == 0
    other = replace_power(json.loads((tmp_path / "1.json").read_text()))
    (tmp_path / "1.json").write_text(json.dumps(other))
    assert (
        run(["data", "merge", str(tmp_path / "0.json"), str(tmp_path / "1.json"), "-o", str(tmp_path / "n")])
        == 3
    )


def replace_power(document: dict[str, Any]) -> dict[str, Any]:
    document["derived"][0]["powers"] = [1, -1]
    return document


def test_a_draft_tells_what_cannot_be_made(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    agreed, records = tmp_path / "agreed.json", tmp_path / "records.csv"
    agreed.write_text(json.dumps(AGREED))
    records.write_text(csv_text().replace("80,1.60", "80,0"))
    draft = ["data", "draft", str(records), "--class", "diagnosis", "--derive", str(agreed)]
    assert run([*draft, "-o", str(tmp_path / "draft.json")]) == 3
    assert "derived 'bmi', line 4" in capsys.readouterr().err
    records.write_text(csv_text())
    assert run([*draft, "--drop", "weight", "-o", str(tmp_path / "draft.json")]) == 3
    assert "Take it out of drop" in capsys.readouterr().err
    agreed.write_text(json.dumps({**AGREED, "derived": []}))
    assert run([*draft, "-o", str(tmp_path / "draft.json")]) == 3


def test_settings_of_an_agent_name_columns_too(tmp_path: Path) -> None:
    settings = of_file(tmp_path, csv_text(names=["kilos", *COLUMNS[1:]]), rename={"kilos": "weight"})
    frozen = open_source(replace(settings, drop=("sex",)), tmp_path / "frozen")
    with pytest.raises(InputError, match="Take that column out of drop"):
        frozen.freeze(SCHEMA, SALT)
    assert rows_of(open_source(settings, tmp_path / "f").freeze(SCHEMA, SALT).rows()) == sorted(codes())
