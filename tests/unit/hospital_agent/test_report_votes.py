"""`privet agent report` of a tree with fractional missing values: every figure against predictions row by row."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hospital_agent.keyring import Keyring
from hospital_agent.models import Model, shelf_of
from hospital_agent.models.tallies import TallyResult, cabinet_of
from shared.protocol.tallies import evaluation_schema, places_needed
from shared.tree.counting import count_rows
from shared.tree.fractional_growing import FractionalGrowth
from shared.tree.growth_rules import GrowthRules
from shared.tree.model import Split, Tree
from shared.tree.prediction import Prediction, predict
from shared.tree.schema import Schema
from shared.tree.tallying import tables_of
from shared.wire.manifest import ClassSpec
from tests.support.clinic import CLASSES, NAMES, ROWS, SCHEMA
from tests.support.models import model_of
from tests.unit.hospital_agent.test_keyring import PARTIES
from tests.unit.hospital_agent.test_reporting import SEED, folder_with, report, section

LACKING = ("nausea", "urine pushing")
PARTED: dict[str, Any] = {
    **SCHEMA,
    "attributes": [
        {"name": name, "values": ["0", "1", "missing"], "missing": "fractional"}
        if name in LACKING
        else {"name": name, "values": ["0", "1"]}
        for name in NAMES
    ],
}
_DRAWN = random.Random(7)
JUDGED = [
    (
        *(
            2 if name in LACKING and _DRAWN.random() < 0.15 else code
            for name, code in zip(NAMES, row, strict=False)
        ),
        row[-1],
    )
    for row in ROWS
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An agent that holds the tree, and an evaluation of it on `JUDGED`."""
    made = folder_with(tmp_path)
    ring = Keyring.open(made)
    model = parted_model()
    shelf_of(made, ring.identity.public, PARTIES.root).put(model, ring.identity)
    cabinet_of(made, ring.identity.public, PARTIES.root).put(evaluated(model), ring.identity)
    return made


def parted_model() -> Model:
    """Grown on half of the records."""
    model = model_of(
        PARTIES,
        job="ef" * 16,
        schema=PARTED,
        selection={"seed": SEED, "parts": 10, "first": 0, "last": 3, "use": "train"},
    )
    rules = GrowthRules(min_node=1, min_child=1, max_depth=2)
    growth = FractionalGrowth.start(model.schema, rules, bytes(32))
    while not growth.is_done:
        growth = growth.absorb(count_rows(JUDGED[::2], growth.queries, model.schema))
    return replace(model, tree=growth.tree)


def answer(model: Model, row: tuple[int, ...]) -> Prediction:
    """For a record by its texts."""
    record = {name: "" if code == 2 else str(code) for name, code in zip(NAMES, row[:-1], strict=True)}
    return predict(model.shown_tree, model.schema, record, "counts")


def evaluated(model: Model) -> TallyResult:
    """The tables that a job would open, filled row by row."""
    tree = model.shown_tree
    needed = places_needed(tree, model.schema)
    rows = [[0] * len(CLASSES) for _ in range(needed)]
    for row in JUDGED:
        told = answer(model, row)
        place = tree.node_count + CLASSES.index(told.label) if told.parted_at else end_of(tree, row)
        rows[place][row[-1]] += 1
    spec = evaluation_schema(ClassSpec(name="diagnosis", labels=list(CLASSES)), needed).model_dump(
        mode="json", by_alias=True
    )
    proof = model_of(
        PARTIES,
        job="cc" * 16,
        schema=spec,
        max_depth=1,
        tally={"kind": "evaluation", "model": model.id, "tree_sha256": tree.sha256, "places": needed},
        selection={"seed": SEED, "parts": 10, "first": 0, "last": 3, "use": "test"},
    )
    return TallyResult(proof, tables_of(Schema.from_json(spec), [rows]))


def end_of(tree: Tree, row: tuple[int, ...]) -> int:
    """The place of the leaf where a whole record ends."""
    node = tree.root
    while isinstance(node, Split):
        node = node.kids[row[node.attribute]]
    return next(place for place, other in enumerate(tree.nodes()) if other is node)


def test_answers_of_votes_count_in_all_that_is_made_of_answers_and_in_nothing_else(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = parted_model()
    told = [(row[-1], answer(model, row)) for row in JUDGED]
    document = report(capsys, folder, "ef", "--evaluation", "cc", "--exact")
    (judged,) = document["judged"]
    found = judged["evaluation"]
    cells = [[0] * len(CLASSES) for _ in CLASSES]
    for true, said in told:
        cells[true][CLASSES.index(said.label)] += 1
    assert found["confusion"]["cells"] == cells
    assert sum(cells[k][k] for k in range(len(CLASSES))) < len(JUDGED), "a tree that errs"
    right = sum(said.label == CLASSES[true] for true, said in told)
    assert found["overall"]["accuracy"]["value"] == pytest.approx(right / len(told))
    for k, entry in enumerate(found["classes"]):
        own = [said.label == CLASSES[k] for true, said in told if true == k]
        assert entry["measures"]["sensitivity"]["value"] == pytest.approx(sum(own) / len(own))
        others = [said.label != CLASSES[k] for true, said in told if true != k]
        assert entry["measures"]["specificity"]["value"] == pytest.approx(sum(others) / len(others))
    nodes = list(model.shown_tree.nodes())
    scored = [row for row in JUDGED if answer(model, row).parted_at is None]
    assert 0 < len(scored) < len(told)
    assert (found["records"], found["voted"], found["scored"]) == (120, 120 - len(scored), len(scored))
    losses = []
    for row in scored:
        weights = nodes[end_of(model.shown_tree, row)].weights or ()
        losses.append(sum(float(w / sum(weights) - (k == row[-1])) ** 2 for k, w in enumerate(weights)))
    assert found["overall"]["brier"]["value"] == pytest.approx(sum(losses) / len(losses))
    (fact,) = (one for one in section(document, "performance")["facts"] if "answered together" in one)
    assert f"{120 - len(scored)} lacked a value" in fact
    assert f"the other {len(scored)}: AUC, mean of classes" in fact


def test_a_tree_with_parts_of_records_is_not_said_to_have_come_without_counts(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    document = report(capsys, folder, "ef", "--exact")
    assert document["judged"] == []
    assert document["importance"] != []
    assert section(document, "development")["facts"][0].startswith(
        "Grown on 60 records. Those without a value that"
    )
    assert "its leaves hold parts of records" in section(document, "performance")["facts"][0]
    said = [fact for entry in document["sections"] for fact in entry["facts"]]
    assert not any("without count" in fact or "without the counts" in fact for fact in said)


def test_a_shared_report_rounds_how_many_records_were_voted_on(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    document = report(capsys, folder, "ef", "--evaluation", "cc")
    found = document["judged"][0]["evaluation"]
    assert found["voted"] % 5 == found["scored"] % 5 == found["records"] % 5 == 0
    hidden = report(capsys, folder, "ef", "--evaluation", "cc", "--floor", "50")
    assert hidden["judged"][0]["evaluation"]["voted"] == "< 50"
    (fact,) = (one for one in section(hidden, "performance")["facts"] if "answered together" in one)
    assert ": < 50 lacked a value" in fact
