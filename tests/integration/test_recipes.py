"""The recipes of docs/recipes, run as they stand there: OMOP tables and FHIR resources become the same records."""

from __future__ import annotations

import importlib
import json
import re
from pathlib import Path
from typing import Any

import duckdb
import pytest

from hospital_agent.records import DataSettings, open_source
from privet.__main__ import run
from shared.tree.growing import grow
from shared.tree.growth_rules import GrowthRules
from shared.tree.schema import Attribute, Schema
from tests.support import registry

# Ibis 12 calls a method that DuckDB 1.5 has renamed; the pins keep both.
pytestmark = pytest.mark.filterwarnings("ignore:fetch_arrow_table:DeprecationWarning")

RECIPES = Path(__file__).parents[2] / "docs/recipes"
SCHEMA = Schema.create(
    [
        Attribute("sex", ("female", "male")),
        Attribute.numeric("age", ["50", "65"]),
        Attribute("hypertension", ("no", "yes")),
        Attribute.numeric("hba1c", ["6.5", "7.5"], missing="unknown"),
    ],
    "heart_failure",
    ["no", "yes"],
)
RULES = GrowthRules(min_node=1, min_child=1, max_depth=3)


def blocks(page: str, language: str) -> dict[str, str]:
    """The code blocks of a recipe by the name that follows the language, or by their number."""
    found = re.findall(rf"^```{language}(?: (\S+))?\n(.*?)^```", (RECIPES / page).read_text(), re.M | re.S)
    return {name or str(number): content for number, (name, content) in enumerate(found, start=1)}


def tree_of(settings: DataSettings, folder: Path) -> dict[str, Any]:
    snapshot = open_source(settings, folder / "frozen").freeze(SCHEMA, b"0123456789abcdef")
    assert snapshot.row_count == len(registry.PATIENTS)
    return grow(SCHEMA, RULES, snapshot.count).tree.to_json(with_counts=True)


@pytest.fixture
def expected(tmp_path: Path) -> dict[str, Any]:
    path = tmp_path / "flat.csv"
    path.write_text(registry.csv_text())
    return tree_of(DataSettings(path=path), tmp_path)


def test_omop_in_duckdb(tmp_path: Path, expected: dict[str, Any]) -> None:
    path = tmp_path / "omop.duckdb"
    with duckdb.connect(str(path)) as connection:
        for statement in registry.omop_statements():
            connection.execute(statement)
    query = blocks("omop.md", "sql")["1"]
    settings = DataSettings(url=f"duckdb://{path}", query=query, class_column="heart_failure")
    assert tree_of(settings, tmp_path) == expected


@pytest.mark.long
def test_omop_in_postgres(tmp_path: Path, postgres_url: str, expected: dict[str, Any]) -> None:
    with importlib.import_module("psycopg").connect(postgres_url) as connection:
        for statement in registry.omop_statements():
            connection.execute(statement)
    query = blocks("omop.md", "sql")["1"]
    settings = DataSettings(url=postgres_url, query=query, class_column="heart_failure")
    assert tree_of(settings, tmp_path) == expected


def test_fhir(
    tmp_path: Path,
    expected: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, content in (registry.fhir_files() | blocks("fhir.md", "json")).items():
        (tmp_path / name).write_text(content)
    for line in blocks("fhir.md", "sh")["1"].splitlines():
        assert run([*line.split()[1:], "--json"]) == 0
    reports = capsys.readouterr().out.replace("}\n{", "}\n\x00{").split("\x00")
    assert [json.loads(report)["rows"] for report in reports] == [8, 8, 9]
    query = blocks("fhir.md", "sql")["1"]
    settings = DataSettings(url="duckdb://", query=query, class_column="heart_failure")
    assert tree_of(settings, tmp_path) == expected
    assert (tmp_path / "hba1c.parquet").stat().st_mode & 0o777 == 0o600
