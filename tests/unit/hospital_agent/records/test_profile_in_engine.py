"""A profile asked of an engine is that of the same rows in memory, and takes no more memory for more rows."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import pytest

from hospital_agent.records.files import read_table, write_table
from hospital_agent.records.profile import in_engine
from hospital_agent.records.profile.in_engine import is_asked_there, profile_there
from hospital_agent.records.profile.page import document_of
from hospital_agent.records.profile.profile import Asked, profile_of
from hospital_agent.records.source import DataSettings
from hospital_agent.records.sql_table import read_sql_table
from privet.__main__ import run
from shared.errors import InputError
from tests.support.databases import postgres_database
from tests.support.reference_data import DATA, SKIP_REASON, is_available

pytestmark = pytest.mark.filterwarnings("ignore:fetch_arrow_table:DeprecationWarning")
ROWS = 600


def strange_rows() -> list[dict[str, str]]:
    """Rows with something for nearly every rule."""
    draw = random.Random(7)
    rows = []
    for number in range(ROWS):
        ill = draw.choice(["yes", "no", "no", " no "])
        pulse = draw.choice([0, *range(50, 120)])
        degree = draw.choice(["36.5", "37.0", "37", "38.25", "39.5"])
        rows.append(
            {
                "mrn": str(100_000 + number // 2),
                "surname": f"Person {number}",
                "born": f"19{number % 90 + 10}-0{number % 9 + 1}-11",
                "pulse": str(pulse),
                "twice": str(2 * pulse),
                "degree": degree,
                "words": {"36.5": "low", "37.0": "mid", "37": "mid"}.get(degree, "high"),
                "sex": draw.choice(["f", "F", "m", "?", ""]),
                "known": f"is {ill.strip()}",
                "lab": draw.choice(["1.5", "2.5", "n/a", "-9", "", "7"]),
                "one": "1",
                "note": f"seen again on day {number % 7} and much better than before",
                "ill": ill,
            }
        )
    turned = [row | {"ill": "no" if row["ill"] == "yes" else "yes"} for row in rows[:2]]
    return rows + turned + rows[2:20]


def in_database(folder: Path, rows: list[dict[str, str]]) -> DataSettings:
    path = folder / "rows.json"
    path.write_text("\n".join(map(json.dumps, rows)))
    kinds = ", ".join(f"{name}: 'VARCHAR'" for name in rows[0])
    with duckdb.connect(str(folder / "ward.db")) as engine:
        engine.execute(f"CREATE TABLE ward AS SELECT * FROM read_json('{path}', columns = {{{kinds}}})")
        engine.execute("UPDATE ward SET sex = NULL WHERE sex = ''")
    return DataSettings(url=f"duckdb://{folder / 'ward.db'}", table="ward")


def documents(settings: DataSettings, asked: Asked) -> tuple[Any, Any]:
    """The profile of the engine, and of the rows in memory."""
    table = read_table(settings) if settings.path is not None else read_sql_table(settings)
    memory = profile_of(table, asked.floor, asked.class_column, asked.drop, asked.patient)
    return document_of(profile_there(settings, asked)), document_of(memory)


@pytest.mark.parametrize("floor", [5, pytest.param(1, marks=pytest.mark.long)])
def test_the_same_findings_of_the_same_rows(tmp_path: Path, floor: int) -> None:
    settings = replace(in_database(tmp_path, strange_rows()), missing_codes=("-9",))
    there, memory = documents(settings, Asked(floor, "ill", ("surname",), "mrn"))
    assert there == memory
    codes = {finding["code"] for finding in there["findings"]}
    assert codes >= {"repeated-patients", "duplicate-rows", "date", "constant", "free-text", "same-as"}
    assert codes >= {
        "gives-class-away",
        "missing-code",
        "spelling",
        "impossible-zero",
        "gaps",
        "contradictory-rows",
    }


@pytest.mark.long
def test_postgresql_says_the_same(postgres_server: str) -> None:
    import psycopg

    rows = strange_rows()
    with postgres_database(postgres_server) as url, psycopg.connect(url, autocommit=True) as engine:
        engine.execute(f"CREATE TABLE ward ({', '.join(f'{name} text' for name in rows[0])})")
        marks = ", ".join(["nullif(%s, '')"] * len(rows[0]))
        for row in rows:
            engine.execute(f"INSERT INTO ward VALUES ({marks})", list(row.values()))
        settings = DataSettings(url=url, table="ward", missing_codes=("-9",))
        there, memory = documents(settings, Asked(5, "ill", ("surname",), "mrn"))
    assert there == memory


@pytest.mark.skipif(not is_available(), reason=SKIP_REASON)
@pytest.mark.parametrize(
    "file",
    [
        pytest.param("heart-disease/processed.hungarian.data", marks=pytest.mark.long),
        pytest.param("breast-cancer-wisconsin-original/breast-cancer-wisconsin.data", marks=pytest.mark.long),
        pytest.param("adult/adult.data", marks=pytest.mark.long),
        pytest.param("mushroom/agaricus-lepiota.data", marks=pytest.mark.long),
        pytest.param("thyroid-ann/ann-train.data", marks=pytest.mark.long),
        pytest.param("thyroid-recurrence/Thyroid_Diff.csv", marks=pytest.mark.long),
        pytest.param("acute-inflammations/diagnosis.data", marks=pytest.mark.long),
    ],
)
def test_public_files_as_parquet(tmp_path: Path, file: str) -> None:
    text, packed = tmp_path / "table.csv", tmp_path / "table.parquet"
    write_table(read_table(DataSettings(path=DATA / file)), text)
    duckdb.sql(f"COPY (FROM read_csv('{text}', all_varchar = true)) TO '{packed}' (FORMAT parquet)")
    settings = DataSettings(path=packed)
    assert is_asked_there(settings)
    there, memory = documents(settings, Asked(5, len(there_columns(packed))))
    assert there == memory


def there_columns(packed: Path) -> list[str]:
    return [str(row[0]) for row in duckdb.sql(f"DESCRIBE FROM read_parquet('{packed}')").fetchall()]


def test_a_column_of_more_texts_than_are_fetched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = in_database(tmp_path, strange_rows())
    whole = profile_there(settings, Asked(5, "ill", (), "mrn"))
    monkeypatch.setattr(in_engine, "MAX_TEXTS", 20)
    part = profile_there(settings, Asked(5, "ill", (), "mrn"))
    by_name = {facts.name: facts for facts in part.facts}
    for facts in whole.facts:
        mine = by_name[facts.name]
        assert (mine.rows, mine.different, mine.missing) == (facts.rows, facts.different, facts.missing)
    assert not by_name["mrn"].is_whole
    told = {finding.code: finding.text for finding in whole.findings}
    found = {finding.code: finding.text for finding in part.findings}
    for code in ("repeated-patients", "duplicate-rows", "identifier", "gives-class-away"):
        assert found.get(code) == told.get(code), code


def test_the_command_asks_the_engine_and_shows_where_it_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = in_database(tmp_path, strange_rows())
    words = ["data", "inspect", "--set", f"url={settings.url}", "--set", "table=ward", "--class", "ill"]
    assert run([*words, "--json"]) == 0
    out = capsys.readouterr().out
    assert json.loads(out)["rows"] == ROWS + 20
    assert "column 1 of" not in out


def test_a_draft_of_a_database_is_that_of_its_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = in_database(tmp_path, strange_rows())
    words = [
        "data",
        "draft",
        "--set",
        f"url={settings.url}",
        "--set",
        "table=ward",
        "--class",
        "ill",
        "--apply",
    ]
    words += ["--cuts", "pulse=60,90", "--cuts", "twice=120", "--drop", "mrn", "--missing-policy", "category"]
    found = []
    for texts in (
        in_engine.MAX_TEXTS,
        20,
    ):  # then columns of more texts, which are read into memory as before
        monkeypatch.setattr(in_engine, "MAX_TEXTS", texts)
        out = tmp_path / f"{texts}.json"
        assert run([*words, "-o", str(out)]) == 0
        found.append(out.read_bytes())
    assert found[0] == found[1]


def test_who_waits_is_told_what_is_done(tmp_path: Path) -> None:
    settings = in_database(tmp_path, strange_rows())
    there: list[str] = []
    profile_there(settings, Asked(5, "ill"), there.append)
    here: list[str] = []
    profile_of(read_sql_table(settings), 5, "ill", tell=here.append)
    assert there == here
    assert (there[0], len(there)) == ("column 1 of 13", 15)


def test_what_no_engine_reads(tmp_path: Path) -> None:
    packed = tmp_path / "nested.parquet"
    duckdb.sql(f"COPY (SELECT [1, 2] AS a, 'x' AS b) TO '{packed}' (FORMAT parquet)")
    with pytest.raises(InputError, match="lists, structures or bytes"):
        profile_there(DataSettings(path=packed), Asked(5))
    packed.write_bytes(b"PAR1 and nothing more")
    with pytest.raises(InputError, match="damaged"):
        profile_there(DataSettings(path=packed), Asked(5))
    with pytest.raises(InputError, match="no rows"):
        profile_there(DataSettings(url="duckdb://", query="SELECT 1 AS a WHERE false"), Asked(5))
    assert not is_asked_there(DataSettings(path=tmp_path / "none.csv"))
