"""`privet cloud job create --leave-one-out`, as people type it, with real programs and keys at four hospitals."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from privet.__main__ import run
from shared.protocol.consenting import SeenRoster, differing_hospital
from shared.tree.counting import count_rows
from shared.tree.growing import grow
from shared.tree.growth_rules import GrowthRules
from shared.tree.prediction import predict
from shared.tree.schema import Schema
from tests.integration.test_agent_jobs import write_rows
from tests.support.clinic import CLASSES, NAMES, ROWS, SCHEMA
from tests.support.programs import RealFederation, command, found, real_federation

FOUR = ("h1", "h2", "h3", "h4")


def test_all_leave_one_out_jobs_but_ones_own_tell_of_every_hospital_and_no_pair_of_them_differs_by_one() -> (
    None
):
    """Why the command asks for consents before the first job: sums are equations."""
    rosters = [tuple(name for name in FOUR if name != left_out) for left_out in FOUR]
    for own in FOUR:
        seen = [roster for roster in rosters if own in roster]
        equations = [[name in roster for name in FOUR] for roster in seen] + [[name == own for name in FOUR]]
        assert np.linalg.matrix_rank(np.array(equations, dtype=float)) == len(FOUR)
        earlier = [SeenRoster(roster, str(number)) for number, roster in enumerate(seen[1:])]
        assert differing_hospital(seen[0], None, earlier) is None


@pytest.fixture(scope="module")
def federation(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealFederation]:
    founded = found(tmp_path_factory.mktemp("four"), FOUR)
    with real_federation(founded, tmp_path_factory.mktemp("leaving")) as running:
        records = running.folder / "records"
        records.mkdir()
        running.start_agents(
            {name: write_rows(records / f"{name}.csv", ROWS[at::4]) for at, name in enumerate(FOUR)}
        )
        yield running


def refused(capsys: pytest.CaptureFixture[str], *words: str | Path) -> Any:
    capsys.readouterr()
    assert run([*map(str, words), "--json"]) == 3
    return json.loads(capsys.readouterr().out)


@pytest.mark.long
def test_one_command_grows_a_tree_without_each_hospital_once_all_have_consented(
    federation: RealFederation, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    schema = tmp_path / "schema.json"
    schema.write_text(json.dumps(SCHEMA))
    words = ("--id", "left", "--question", "how ill?", "--schema", schema, "--synthetic")
    command("cloud", "study", "create", federation.cloud_folder, *words)
    rules = ("--min-node", "1", "--min-child", "1", "--max-depth", "none")
    create = ("cloud", "job", "create", federation.cloud_folder, "--study", "left", *rules, "--leave-one-out")
    for name in FOUR[:3]:
        federation.wait(lambda name=name: consents(federation, name), f"the study at {name}")  # type: ignore[misc]
    alone = "not consented to be left out: h4;"
    federation.wait(lambda: alone in refused(capsys, *create)["detail"], "three consents")
    assert "privet agent consent DIR left" in json.dumps(refused(capsys, *create))
    assert "counts nothing" in json.dumps(refused(capsys, *create, "--histogram"))
    assert command("cloud", "job", "list", federation.cloud_folder)["jobs"] == [], "nothing began before"
    federation.wait(lambda: consents(federation, "h4"), "the study at h4")
    begun: list[Any] = []
    federation.wait(lambda: begins(create, begun), "four consents")
    assert [one["left_out"] for one in begun] == list(FOUR)
    files = {one["left_out"]: judged(federation, one, tmp_path) for one in begun}
    words = ("--left-out", files["h1"], "--left-out", files["h3"], "--left-out", files["h4"])
    told = command("agent", "report", federation.folder / "h2", begun[0]["job"], *words, "--exact")
    left_out = told["leave_one_hospital_out"]["hospitals"]
    assert [one["hospital"] for one in left_out] == ["h1", "h3", "h4"], (
        "h2 has the trees that it took part in"
    )
    assert [one["records"] for one in left_out] == [30, 30, 30]


def consents(federation: RealFederation, name: str) -> bool:
    """Sign, once the hospital's agent knows the study."""
    return run(["agent", "consent", str(federation.folder / name), "left", "--yes", "--json"]) == 0


def begins(create: tuple[str | Path, ...], begun: list[Any]) -> bool:
    """Start the jobs, once the last consent has come."""
    try:
        begun += command(*create)["jobs"]
    except AssertionError:
        return False
    return True


def judged(federation: RealFederation, one: Any, folder: Path) -> Path:
    """The file that the left-out hospital hands over; the tree is that of the others' pooled records."""
    left_out = one["left_out"]
    others = [name for name in FOUR if name != left_out]
    assert one["hospitals"] == others
    federation.wait_for(one["job"], "attested", len(others))
    copy, own = folder / f"without-{left_out}.json", folder / f"{left_out}.json"
    command("agent", "models", "export", federation.folder / others[0], one["job"], "--to", copy)
    shown = command("agent", "evaluate", federation.folder / left_out, "--file", copy)
    own.write_text(json.dumps(shown))
    schema, rules = Schema.from_json(SCHEMA), GrowthRules(min_node=1, min_child=1, max_depth=None)
    pooled = [row for name in others for row in ROWS[FOUR.index(name) :: 4]]
    tree = grow(schema, rules, lambda queries: count_rows(pooled, queries, schema)).tree
    assert shown["tree_sha256"] == tree.sha256
    answers = [
        predict(tree, schema, dict(zip(NAMES, map(str, row[:-1]), strict=True))).label == CLASSES[row[-1]]
        for row in ROWS[FOUR.index(left_out) :: 4]
    ]
    right = sum(row[a] for row, a in zip(shown["nodes"], shown["answers"], strict=True) if a is not None)
    assert right == sum(answers)
    return own
