"""The corpus of `tests.support.ugly_files`: each file gives the records and the tree that are right, or its message."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import duckdb
import pytest

from hospital_agent.daemon.office import data_settings
from hospital_agent.records import files
from hospital_agent.records.files import read_table
from hospital_agent.records.matching import encode
from hospital_agent.records.rows import RecordRows
from hospital_agent.records.source import DataSettings
from hospital_agent.records.table import Table
from hospital_agent.settings import DataSection
from shared.errors import InputError
from shared.tree.counting import count_rows
from shared.tree.growing import grow
from shared.tree.growth_rules import GrowthRules
from shared.tree.schema import Attribute, Schema
from tests.support import ugly_files
from tests.support.ugly_files import NAMES, TIDY, Ugly

SCHEMA = Schema.create(
    [
        Attribute.numeric("temp", ["37.5", "38"]),
        Attribute("ward", ("Köln", "Süd")),
        Attribute("cough", ("no", "yes")),
    ],
    "ill",
    ["no", "yes"],
)
RULES = GrowthRules(min_node=1, min_child=1, max_depth=3)
CODES = [
    (
        *(attribute.code_of(text) for attribute, text in zip(SCHEMA.attributes, row[:3], strict=True)),
        SCHEMA.class_code(row[3]),
    )
    for row in TIDY
]


def tree_of(codes: list[tuple[int, ...]]) -> dict[str, Any]:
    grown = grow(SCHEMA, RULES, lambda queries: count_rows(codes, queries, SCHEMA))
    return grown.tree.to_json(with_counts=True)


def codes_of(table: Table, settings: DataSettings) -> list[tuple[int, ...]]:
    coded = encode(table, SCHEMA, settings)
    rows = RecordRows.of(SCHEMA, coded.codes, coded.numbers)
    return list(zip(*(line.tolist() for line in (*rows.attributes, rows.classes)), strict=True))


def written(folder: Path, ugly: Ugly) -> DataSettings:
    path = folder / ugly.name
    path.write_bytes(ugly.content)
    return DataSettings(path=path, **ugly.settings)


READ = [ugly for ugly in ugly_files.ALL if ugly.rows is not None]
REFUSED = [ugly for ugly in ugly_files.ALL if ugly.rows is None]
TREE = tree_of(CODES)


@pytest.mark.parametrize("ugly", READ, ids=lambda ugly: ugly.fault)
def test_an_ugly_file_gives_its_records_and_their_tree(tmp_path: Path, ugly: Ugly) -> None:
    settings = written(tmp_path, ugly)
    table = read_table(settings)
    assert table.reading is not None
    assert {subject: table.reading.find(subject) for subject in ugly.found} == ugly.found
    if ugly.rows is TIDY:
        assert tree_of(codes_of(table, settings)) == TREE
    else:
        assert list(table.rows()) == list(ugly.rows or ())


@pytest.mark.parametrize("ugly", REFUSED, ids=lambda ugly: ugly.fault)
def test_what_is_no_table_is_refused_with_its_place(tmp_path: Path, ugly: Ugly) -> None:
    settings = written(tmp_path, ugly)
    with pytest.raises(InputError) as caught:
        encode(read_table(settings), SCHEMA, settings)
    assert str(caught.value).startswith(ugly.message)
    assert str(caught.value) != ugly.message  # a remedy follows
    assert caught.value.__cause__ is None


@pytest.mark.parametrize("ugly", [ugly for ugly in READ if ugly.settings], ids=lambda ugly: ugly.fault)
def test_what_overrides_a_finding_can_be_said_in_the_agents_settings(tmp_path: Path, ugly: Ugly) -> None:
    names = {"has_header": "header", "class_column": "class", "missing_codes": "missing"}
    said = {names.get(name, name): value for name, value in ugly.settings.items()}
    direct = written(tmp_path, ugly)
    assert data_settings(DataSection.model_validate({"path": direct.path, **said})) == direct


def test_the_corpus_is_as_large_as_it_says() -> None:
    faults = [ugly.fault for ugly in ugly_files.ALL]
    assert len(set(faults)) == len(faults) >= 100


def test_a_file_that_changes_while_it_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "ward.csv"
    path.write_text(ugly_files.text())
    found = files.kind_of

    def slow(*arguments: Any) -> files.Kind:
        with path.open("a") as stream:
            stream.write("37,Süd,no,yes\n")
        return found(*arguments)

    monkeypatch.setattr(files, "kind_of", slow)
    with pytest.raises(InputError, match=r"ward\.csv: the file changed while it was read\. Wait"):
        read_table(DataSettings(path=path))


def test_parquet_texts_lists_and_names(tmp_path: Path) -> None:
    path = tmp_path / "ward.parquet"
    rows = ", ".join(str((float(row[0]), *row[1:])) for row in TIDY)
    duckdb.sql(f"SELECT * FROM (VALUES {rows}) AS t({', '.join(NAMES)})").write_parquet(str(path))
    settings = DataSettings(path=path)
    assert tree_of(codes_of(read_table(settings), settings)) == TREE
    duckdb.sql("SELECT [1, 2] AS a, 'x' AS ill").write_parquet(str(path))
    with pytest.raises(InputError, match=r"ward\.parquet, column 'a': the column holds lists"):
        read_table(settings)


def test_a_report_is_for_people_and_programs(tmp_path: Path) -> None:
    path = tmp_path / "ward.csv"
    path.write_text(ugly_files.text(";", rows=ugly_files.with_commas()))
    report = read_table(DataSettings(path=path)).reading
    assert report is not None
    lines = list(report.lines())
    assert lines[0] == "ward.csv: text, 8 rows, 4 columns"
    assert any(
        line.startswith("decimal mark: comma") and line.endswith("(setting: decimal_comma)") for line in lines
    )
    document = report.to_json()
    assert (document["format"], document["rows"], document["columns"]) == ("text", 8, 4)
    settings = {finding["setting"] for finding in document["findings"]}
    assert settings >= {"encoding", "delimiter", "quote", "comment", "header", "decimal_comma"}
    assert os.fspath(path) not in str(document)
