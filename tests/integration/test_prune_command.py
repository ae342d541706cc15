"""`privet agent prune` after a real evaluation: every hospital comes to the same smaller tree, by counts it has."""

from __future__ import annotations

import csv
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hospital_agent.journal import JobStatus
from privet.__main__ import run
from shared.tree.model import Leaf, Split
from tests.integration.test_agent_jobs import agent
from tests.support.federation import LocalFederation, local_federation

pytestmark = pytest.mark.long
HOSPITALS = ("h1", "h2", "h3")
HELD_OUT = {"parts": 10, "first": 0, "last": 4, "seed": "7a" * 16}
SCHEMA = {
    "attributes": [
        {"name": name, "values": ["0", "1", "2"], "cuts": None, "treat_as": "ordered"} for name in "abcd"
    ],
    "class": {"name": "ill", "labels": ["no", "yes"]},
}
FULL = {"min_node": 1, "min_child": 1, "max_depth": None}


@pytest.fixture(scope="module")
def federation(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalFederation]:
    folder = tmp_path_factory.mktemp("records")
    with local_federation(tmp_path_factory.mktemp("federation"), HOSPITALS) as running:
        draw = random.Random(4)
        for name in HOSPITALS:
            running.hospitals[name].configure(write(folder / f"{name}.csv", draw))
        running.cloud.study(SCHEMA, name="noisy", tallies=["evaluation"])
        yield running


def write(path: Path, draw: random.Random) -> Path:
    """Attribute a tells the class seven times in ten; the rest is chance, which a full tree learns by heart."""
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([*"abcd", "ill"])
        for _ in range(120):
            row = [draw.randrange(3) for _ in range(4)]
            writer.writerow([*row, "yes" if (row[0] == 2) == (draw.random() < 0.7) else "no"])
    return path


def finished(federation: LocalFederation, **plan: Any) -> str:
    job = federation.cloud.job("noisy", **{"invited": list(HOSPITALS), **FULL, **plan})
    entries = federation.wait(job, HOSPITALS)
    assert {entry.status for entry in entries.values()} == {JobStatus.COMPLETE}, entries
    return job


@pytest.mark.parametrize("method", ["reduced-error", "cost-complexity"])
def test_every_hospital_prunes_alike(
    federation: LocalFederation, method: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    grown = finished(federation, selection=HELD_OUT)
    judged = finished(federation, tally={"kind": "evaluation", "model": grown})
    found = [
        agent(
            capsys,
            "prune",
            federation.hospitals[name].folder,
            grown,
            "--evaluation",
            judged[:10],
            "--method",
            method,
        )
        for name in HOSPITALS
    ]
    assert found[0] == found[1] == found[2]
    (before, after), (wrong, less) = found[0]["nodes"], found[0]["errors"]
    assert after < before
    assert less <= wrong
    counts = agent(capsys, "evaluation", federation.hospitals["h1"].folder, judged)
    assert found[0]["records"] == counts["records"]
    assert wrong == sum(
        sum(row) - row[answer] for row, answer in zip(counts["nodes"], counts["answers"], strict=True)
    )
    folder, written = federation.hospitals["h2"].folder, tmp_path / "tree.dot"
    agent(
        capsys,
        "prune",
        folder,
        grown,
        "--evaluation",
        judged,
        "--method",
        method,
        "--format",
        "dot",
        "-o",
        written,
    )
    assert found[0]["tree_sha256"] in written.read_text()
    model = federation.hospitals["h2"].model(grown)
    assert model.shown_tree.node_count == before
    assert isinstance(model.shown_tree.root, Split | Leaf)


SECRET: dict[str, Any] = {"secret": {"compute_parties": ["h1", "h2", "h3"]}}


@pytest.mark.parametrize(
    "mode",
    [{"mode": "id3", "max_depth": None}, {"mode": "gain-ratio", "max_depth": 4}],
    ids=["id3", "gain-ratio"],
)
def test_a_tree_of_a_secret_mode_is_pruned_by_the_classes_of_the_held_out_records(
    federation: LocalFederation, mode: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    grown = finished(federation, selection=HELD_OUT, **SECRET, **mode)
    judged = finished(federation, tally={"kind": "evaluation", "model": grown})
    folders = [federation.hospitals[name].folder for name in HOSPITALS]
    found = [agent(capsys, "prune", folder, grown, "--evaluation", judged) for folder in folders]
    assert found[0] == found[1] == found[2]
    (before, after), (wrong, less) = found[0]["nodes"], found[0]["errors"]
    assert after < before
    assert less < wrong
    assert "new leaves are of the most frequent class of these records" in found[0]["warning"]
    by_cost = ["--evaluation", judged, "--method", "cost-complexity"]
    assert run(["agent", "prune", str(folders[0]), grown, *by_cost, "--json"]) == 3
    assert "weighs training errors" in json.loads(capsys.readouterr().out)["detail"]


def test_what_was_grown_on_prunes_nothing(
    federation: LocalFederation, capsys: pytest.CaptureFixture[str]
) -> None:
    grown = finished(federation)
    judged = finished(federation, tally={"kind": "evaluation", "model": grown})
    folder = str(federation.hospitals["h1"].folder)
    capsys.readouterr()
    assert run(["agent", "prune", folder, grown, "--evaluation", judged, "--json"]) == 3
    assert "records that the tree was grown on" in json.loads(capsys.readouterr().out)["detail"]
    other = finished(federation, selection=HELD_OUT)
    assert run(["agent", "prune", folder, other, "--evaluation", judged, "--json"]) == 3
    assert "not an evaluation of this model" in json.loads(capsys.readouterr().out)["detail"]
    assert run(["agent", "prune", folder, grown, "--evaluation", judged, "--format", "dot", "--json"]) == 3
    assert "together" in json.loads(capsys.readouterr().out)["detail"]
