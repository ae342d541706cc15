"""Spark in local mode counts the same cells as a file, by the same expressions as the other engines."""

from __future__ import annotations

import shutil
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import duckdb
import pytest

from hospital_agent.records import DataSettings, open_source
from hospital_agent.records.derived_source import DerivedSource
from hospital_agent.records.selecting import Selector
from hospital_agent.records.sql_source import SqlSnapshot
from hospital_agent.records.sql_spark import master_of
from shared.errors import InputError
from shared.protocol.tallies import evaluation_schema
from shared.tree.frontier import NodeQuery
from shared.tree.growing import grow
from shared.tree.growth_rules import GrowthRules
from shared.tree.model import Leaf, Split, Tree
from shared.tree.schema import Attribute, Schema
from shared.wire.manifest import ClassSpec
from shared.wire.tally import SelectionSpec

needs_spark = pytest.mark.skipif(
    find_spec("pyspark") is None or shutil.which("java") is None,
    reason="no Spark here; install it with: pip install 'privet[spark]', and Java 17",
)
SCHEMA = Schema.create(
    [
        Attribute("sex", ("f", "m", "missing")),
        Attribute.numeric("age", ["40", "60.5"], missing="unknown"),
        Attribute.numeric("temp", ["36.6", "37.5", "38.0"], missing="unknown"),
        Attribute.numeric("dose", ["0.25"], missing="unknown"),
    ],
    "ill",
    ["no", "yes"],
)
SALT = b"0123456789abcdef"
ROWS = """
    SELECT CASE WHEN i % 7 = 0 THEN NULL WHEN i % 2 = 0 THEN 'f' ELSE ' m ' END AS sex,
        CASE WHEN i % 11 = 0 THEN NULL ELSE 20 + i % 60 END AS age,
        CASE WHEN i % 13 = 0 THEN NULL ELSE 35.0::DOUBLE + (i % 70) / 10 END AS temp,
        CASE WHEN i % 17 = 0 THEN NULL ELSE ((i % 5) / 10)::DECIMAL(6, 2) END AS dose,
        CASE WHEN (i * 31) % 10 < 4 + i % 3 THEN 'yes' ELSE 'no' END AS ill
    FROM range(2000) AS t(i)
"""


@pytest.mark.parametrize(
    ("url", "master"),
    [
        ("spark://local", "local[*]"),
        ("spark://local[2]", "local[2]"),
        ("spark://spark.example:7077", "spark://spark.example:7077"),
    ],
)
def test_where_spark_runs(url: str, master: str) -> None:
    assert master_of(url) == master


@needs_spark
@pytest.mark.long
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
# Spark's sockets are closed with the agent.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_spark_counts_what_a_file_counts(tmp_path: Path) -> None:
    path = tmp_path / "ward.parquet"
    duckdb.sql(ROWS).write_parquet(str(path))
    in_file = open_source(DataSettings(path=path), tmp_path / "file").freeze(SCHEMA, SALT)
    data = DataSettings(url="spark://local[2]", query=f"SELECT * FROM parquet.`{path}`")
    source = open_source(data, tmp_path / "spark")
    in_spark = source.freeze(SCHEMA, SALT)
    assert in_spark.row_count == in_file.row_count == 2000
    rules = GrowthRules(min_node=20, min_child=10, max_depth=2)
    trees = [grow(SCHEMA, rules, one.count).tree.to_json(with_counts=True) for one in (in_spark, in_file)]
    assert trees[0] == trees[1]
    assert len(str(trees[0])) > 500  # it did split
    again = source.reopen(SCHEMA, in_spark.sha256)
    duckdb.sql(ROWS.replace("range(2000)", "range(1999)")).write_parquet(str(path))
    with pytest.raises(InputError, match="the records changed since they were frozen"):
        again.count([])
    with pytest.raises(InputError, match="the database does not know it, or refuses it"):
        open_source(DataSettings(url="spark://local[2]", table="nowhere"), tmp_path).freeze(SCHEMA, SALT)


@needs_spark
@pytest.mark.long
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("patient", [None, "mrn"])
def test_spark_parts_and_walks_records_itself(tmp_path: Path, patient: str | None) -> None:
    path = tmp_path / "ward.parquet"
    duckdb.sql(ROWS.replace("SELECT", "SELECT 'p' || (i // 4)::INT AS mrn,", 1)).write_parquet(str(path))
    places = (
        DataSettings(path=path),
        DataSettings(url="spark://local[2]", query=f"SELECT * FROM parquet.`{path}`"),
    )
    wanted = {"seed": "5e" * 16, "parts": 10, "first": 6, "last": 9, "use": "test", "hash": "hmac-sha256"}
    selector = Selector(SelectionSpec.model_validate(wanted), bytes(range(32)))
    tree = Tree(
        Split(1, (Split(2, (Leaf(0), Leaf(1), Leaf(0), Leaf(1), Leaf(1))), Leaf(1), Leaf(0), Leaf(1)))
    )
    told = evaluation_schema(ClassSpec(name="ill", labels=["no", "yes"]), tree.node_count)
    ends = Schema.from_json(told.model_dump(by_alias=True, exclude_none=True))
    root = [NodeQuery((), tuple(range(len(SCHEMA.attributes))), (0, 1))]
    counts = []
    for place in places:
        settings = replace(place, patient_column=patient)
        part = DerivedSource(settings, tmp_path / "kept", selector).freeze(SCHEMA, SALT)
        walked = DerivedSource(settings, tmp_path / "kept", selector, lambda: (tree, SCHEMA)).freeze(
            ends, SALT
        )
        counts.append((part.count(root), part.row_count, walked.count([NodeQuery((), (0,), (0, 1))])))
        if place.url is not None:
            assert isinstance(part, SqlSnapshot)
            assert not [note for note in walked.notes if "fetched" in note]
    assert counts[0] == counts[1]
    assert 400 < counts[0][1] < 800
