"""A study that makes class and attributes of several columns: three hospitals, each in its own way, to one tree."""

from __future__ import annotations

import csv
import json
import random
from pathlib import Path
from typing import Any

import duckdb
import pytest

from hospital_agent.journal import JobStatus
from hospital_agent.records.derived_source import DerivedSource
from hospital_agent.records.selecting import Selector
from hospital_agent.records.source import DataSettings
from privet.__main__ import run
from shared.tree.counting import count_rows
from shared.tree.growing import grow
from shared.tree.growth_rules import GrowthRules
from shared.tree.model import Split, Tree
from shared.wire.tally import SelectionSpec
from tests.support.derived import COLUMNS, CONTRACT, DOCUMENT, SCHEMA
from tests.support.federation import OPEN_POLICY, local_federation

HOSPITALS = ("h1", "h2", "h3")
LOOSE = GrowthRules(min_node=1, min_child=1, max_depth=None)
pytestmark = [
    pytest.mark.long,
    pytest.mark.filterwarnings("ignore:fetch_arrow_table:DeprecationWarning"),
]


def records() -> list[tuple[dict[str, str], tuple[int, ...]]]:
    """Fields, and their codes made with floats and plain Python, which for these fields are exact enough."""
    draw = random.Random(48)
    found: list[tuple[dict[str, str], tuple[int, ...]]] = []
    for _ in range(180):
        kilos, metres = draw.randrange(50, 110), draw.choice([1.5, 1.6, 1.75, 1.8])
        first, stay = draw.randrange(1, 10), draw.randrange(0, 15)
        cough, fever, bladder, nephritis = (draw.choice(["yes", "no"]) for _ in range(4))
        sex = draw.choice(["f", "m"])
        fields = [str(kilos), str(metres), f"2026-03-0{first}", f"2026-03-{first + stay:02}", cough, fever]
        bmi = int(kilos / metres**2 * 10 + 0.5) / 10
        made = (
            sum(bmi > cut for cut in (22.9, 25, 30)),
            sum(stay > cut for cut in (0, 7)),
            int(sex == "m"),
            int("yes" in (cough, fever)),
            (bladder == "yes") + 2 * (nephritis == "yes"),
        )
        row = dict(zip(COLUMNS, [*fields, bladder, nephritis, sex], strict=True))
        found.append((row, made))
    return found


def written(path: Path, rows: list[dict[str, str]]) -> Path:
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0].keys())
        writer.writeheader()
        writer.writerows(rows)
    return path


def own_index(row: dict[str, str]) -> dict[str, str]:
    """A hospital that keeps the index and neither weight nor height."""
    index = int(int(row["weight"]) / float(row["height"]) ** 2 * 10 + 0.5) / 10
    return {name: text for name, text in row.items() if name not in ("weight", "height")} | {
        "bmi": str(index)
    }


def test_one_tree_of_columns_that_nobody_has(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = records()
    dealt = [[row for row, _ in rows[start::3]] for start in range(3)]
    with local_federation(tmp_path / "federation", HOSPITALS) as federation:
        federation.hospitals["h1"].configure(written(tmp_path / "h1.csv", dealt[0]))
        base = tmp_path / "ward.db"
        with duckdb.connect(str(base)) as engine:
            plain = written(tmp_path / "h2.csv", dealt[1])
            engine.execute(f"CREATE TABLE ward AS FROM read_csv('{plain}', all_varchar = true)")
        federation.hospitals["h2"].configure(url=f"duckdb://{base}", table="ward")
        third = [own_index(row) for row in dealt[2]]
        federation.hospitals["h3"].configure(written(tmp_path / "h3.csv", third))
        for hospital in federation.hospitals.values():
            hospital.allow(OPEN_POLICY)
        study = federation.cloud.study(SCHEMA.to_json(), name="derived", contract=DOCUMENT)
        rules: dict[str, Any] = {"invited": list(HOSPITALS), "min_node": 1, "min_child": 1, "max_depth": None}
        job = federation.cloud.job(study, **rules)
        entries = federation.wait(job, HOSPITALS)
        assert {entry.status for entry in entries.values()} == {JobStatus.COMPLETE}, [
            entry.reason for entry in entries.values()
        ]
        codes = [made for _, made in rows]
        expected = grow(SCHEMA, LOOSE, lambda queries: count_rows(codes, queries, SCHEMA)).tree
        models = [federation.hospitals[name].model(job) for name in HOSPITALS]
        assert {model.shown_tree.sha256 for model in models} == {expected.sha256}
        asked = tmp_path / "asked.json"
        asked.write_text(json.dumps([row for row, _ in rows[:20]]))
        folder = federation.hospitals["h1"].folder
        capsys.readouterr()
        assert run(["agent", "predict", str(folder), "--file", str(asked), "--json"]) == 0
        told = json.loads(capsys.readouterr().out)["predictions"]
        leaves = [one["class"] for one in told]
        assert leaves == [label_of(expected, made) for _, made in rows[:20]]


def test_records_held_out_are_the_same_in_files_and_databases(tmp_path: Path) -> None:
    rows = [row for row, _ in records()]
    path, base = written(tmp_path / "rows.csv", rows), tmp_path / "ward.db"
    with duckdb.connect(str(base)) as engine:
        engine.execute(f"CREATE TABLE texts AS FROM read_csv('{path}', all_varchar = true)")
        engine.execute(
            "CREATE TABLE dates AS SELECT * REPLACE "
            "(CAST(admitted AS DATE) AS admitted, CAST(discharged AS DATE) AS discharged) FROM texts"
        )
    spec = SelectionSpec(seed="ab" * 16, parts=4, first=1, last=2, use="train", hash="hmac-sha256")
    found = []
    for settings in (
        DataSettings(path=path, contract=CONTRACT),
        DataSettings(url=f"duckdb://{base}", table="texts", contract=CONTRACT),
        DataSettings(url=f"duckdb://{base}", table="dates", contract=CONTRACT),
    ):
        source = DerivedSource(settings, tmp_path / "frozen", Selector(spec, b"k" * 32))
        kept = source.freeze(SCHEMA, b"s" * 16).rows()
        lines = [line.tolist() for line in (*kept.attributes, kept.classes)]
        found.append(sorted(zip(*lines, strict=True)))
    assert found[0] == found[1] == found[2]
    assert 0 < len(found[0]) < len(rows)


def label_of(tree: Tree, codes: tuple[int, ...]) -> str:
    """The class at the end of the walk by codes."""
    node = tree.root
    while isinstance(node, Split):
        node = node.kids[codes[node.attribute]]
    return SCHEMA.classes[node.label]
