"""A report on a tree of real jobs: held out, cross-validated, and with what each hospital found at home."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from shared.tree.model import Split, Tree
from tests.integration.test_agent_jobs import agent, write_rows
from tests.integration.test_tally_jobs import HOSPITALS, finished
from tests.support.clinic import ROWS, SCHEMA
from tests.support.federation import LocalFederation, local_federation

SEED = "a5" * 16
RULES: dict[str, Any] = {"min_node": 1, "min_child": 1, "max_depth": 2}


def parting(parts: int, first: int, last: int) -> dict[str, Any]:
    return {"seed": SEED, "parts": parts, "first": first, "last": last}


@pytest.mark.long
def test_a_report_of_held_out_records_folds_and_hospitals(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from sklearn.metrics import balanced_accuracy_score, cohen_kappa_score

    with local_federation(tmp_path / "federation", HOSPITALS) as federation:
        for start, name in enumerate(HOSPITALS):
            federation.hospitals[name].configure(write_rows(tmp_path / f"{name}.csv", ROWS[start::3]))
        study = federation.cloud.study(SCHEMA, name="clinic", tallies=["evaluation"])
        grown, judged = _grown_and_judged(federation, study, parting(10, 0, 4))
        folds = [_grown_and_judged(federation, study, parting(3, fold, fold + 1)) for fold in range(3)]
        folder = federation.hospitals["h2"].folder
        sites = [_site(federation, name, grown, tmp_path, capsys) for name in HOSPITALS]
        page = tmp_path / "report.html"
        words: list[object] = ["--evaluation", judged, "--exact", "--html", page]
        words += [word for _, job in folds for word in ("--fold", job)]
        words += [word for site in sites for word in ("--site", site)]
        document = agent(capsys, "report", folder, grown, *words)
    held_out, training = document["judged"]
    assert (held_out["on"], training["on"]) == ("held-out", "training")
    cells = np.array(held_out["evaluation"]["confusion"]["cells"])
    assert (cells == sum(_cells(site) for site in sites)).all(), "the sum of what each hospital found at home"
    assert held_out["evaluation"]["records"] + training["evaluation"]["records"] == len(ROWS)
    truth, predicted = _rows(cells)
    overall = held_out["evaluation"]["overall"]
    assert overall["kappa"]["value"] == pytest.approx(cohen_kappa_score(truth, predicted))
    assert overall["balanced_accuracy"]["value"] == pytest.approx(balanced_accuracy_score(truth, predicted))
    pooled = document["cross_validation"]["accuracy"]
    assert pooled["parts_with_a_value"] == 3
    assert 0.5 < pooled["pooled"]["value"] <= 1
    assert [site["hospital"] for site in document["hospitals"]] == list(HOSPITALS)
    assert all(site["joining"]["own_accuracy"]["value"] is not None for site in document["hospitals"])
    (privacy,) = (entry for entry in document["sections"] if entry["id"] == "privacy")
    assert not any(row[2].startswith("at most") for row in privacy["tables"][0]["rows"]), "facts, no forecast"
    assert "<svg" in page.read_text(encoding="utf-8")


@pytest.mark.long
def test_a_report_of_a_hospital_that_was_left_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = (*HOSPITALS, "h4")
    with local_federation(tmp_path / "federation", names) as federation:
        for start, name in enumerate(names):
            federation.hospitals[name].configure(write_rows(tmp_path / f"{name}.csv", ROWS[start::4]))
        study = federation.cloud.study(SCHEMA, name="clinic")
        grown = finished(federation, study, **RULES)
        exported, handed_over = tmp_path / "tree.json", tmp_path / "h4.json"
        agent(capsys, "models", "export", federation.hospitals["h1"].folder, grown, "--to", exported)
        found = agent(capsys, "evaluate", federation.hospitals["h4"].folder, "--file", exported)
        handed_over.write_text(json.dumps(found))
        words = ("report", federation.hospitals["h1"].folder, grown, "--left-out", handed_over, "--exact")
        told = agent(capsys, *words)["leave_one_hospital_out"]
        rows = ROWS[3::4]
        tree = federation.hospitals["h1"].model(grown).shown_tree
    right = sum(_answer(tree, row) == row[-1] for row in rows)
    (hospital,) = told["hospitals"]
    assert (hospital["hospital"], hospital["records"]) == ("h4", len(rows))
    assert hospital["measures"]["accuracy"]["value"] == pytest.approx(right / len(rows))


def _answer(tree: Tree, row: tuple[int, ...]) -> int:
    node = tree.root
    while isinstance(node, Split):
        node = node.kids[row[node.attribute]]
    return node.label


def _grown_and_judged(federation: LocalFederation, study: str, chosen: dict[str, Any]) -> tuple[str, str]:
    grown = finished(federation, study, selection=chosen, **RULES)
    asked = {"kind": "evaluation", "model": grown, "records": "test"}
    return grown, finished(federation, study, tally=asked, min_node=1, min_child=1)


def _site(
    federation: LocalFederation, name: str, grown: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> Path:
    found = agent(capsys, "evaluate", federation.hospitals[name].folder, grown, "--own-tree")
    path = folder / f"{name}.json"
    path.write_text(json.dumps(found))
    return path


def _cells(site: Path) -> Any:
    """The confusion matrix of a hospital's own evaluation, by hand."""
    found = json.loads(site.read_text())
    cells = np.zeros((len(found["classes"]),) * 2, dtype=int)
    for row, answer in zip(found["nodes"], found["answers"], strict=True):
        if any(row):
            cells[:, answer] += row
    return cells


def _rows(cells: Any) -> tuple[list[int], list[int]]:
    pairs = [(i, j) for i, row in enumerate(cells) for j, count in enumerate(row) for _ in range(count)]
    return [i for i, _ in pairs], [j for _, j in pairs]
