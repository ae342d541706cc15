"""Jobs that only count, over real daemons and a real cloud: a tree is grown on some records and judged on others."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cloud_service.service import tallying
from hospital_agent.journal import JobStatus
from privet.__main__ import run
from shared.tree.model import Leaf, Split, Tree
from shared.wire.tally import SelectionSpec
from tests.integration.test_agent_jobs import agent, write_rows
from tests.support.clinic import CLASSES, NAMES, ROWS, SCHEMA
from tests.support.federation import OPEN_POLICY, LocalFederation, local_federation

HOSPITALS = ("h1", "h2", "h3")
HELD_OUT = {"parts": 10, "first": 0, "last": 3, "seed": "5e" * 16}


@pytest.fixture(scope="module")
def federation(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalFederation]:
    with local_federation(tmp_path_factory.mktemp("federation"), HOSPITALS) as running:
        yield running


@pytest.fixture(scope="module")
def study(federation: LocalFederation, tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("records")
    for start, name in enumerate(HOSPITALS):
        federation.hospitals[name].configure(write_rows(folder / f"{name}.csv", ROWS[start::3]))
    return federation.cloud.study(SCHEMA, name="clinic", tallies=["evaluation", "histogram"])


def finished(federation: LocalFederation, study: str, **plan: Any) -> str:
    job = federation.cloud.job(study, **{"invited": list(HOSPITALS), **plan})
    entries = federation.wait(job, HOSPITALS)
    assert {entry.status for entry in entries.values()} == {JobStatus.COMPLETE}, entries
    return job


def place_of(tree: Tree, row: tuple[int, ...]) -> int:
    """The oracle: one walk of one record."""
    numbers = {id(node): number for number, node in enumerate(tree.nodes())}
    node = tree.root
    while isinstance(node, Split):
        node = node.kids[row[node.attribute]]
    assert isinstance(node, Leaf)
    return numbers[id(node)]


def pooled_places(tree: Tree) -> list[list[int]]:
    table = [[0] * len(CLASSES) for _ in tree.nodes()]
    for row in ROWS:
        table[place_of(tree, row)][row[-1]] += 1
    return table


@pytest.mark.long
def test_a_tree_is_held_against_the_own_records_and_against_the_own_tree(
    federation: LocalFederation, study: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    grown = finished(federation, study, selection=HELD_OUT, min_node=1, min_child=1, max_depth=None)
    summed = None
    for name in HOSPITALS:
        folder = federation.hospitals[name].folder
        shown = agent(capsys, "evaluate", folder, grown[:8], "--own-tree")
        assert (shown["kind"], shown["use"], shown["hospitals"]) == ("local", "test", [name])
        assert sum(shown["paired"].values()) == shown["records"] == sum(map(sum, shown["nodes"]))
        right = sum(row[answer] for row, answer in zip(shown["nodes"], shown["answers"], strict=True))
        assert right == shown["paired"]["both_right"] + shown["paired"]["only_joint_right"]
        table = shown["nodes"]
        summed = (
            table
            if summed is None
            else [[a + b for a, b in zip(*rows, strict=True)] for rows in zip(summed, table, strict=True)]
        )
    job = finished(federation, study, tally={"kind": "evaluation", "model": grown})
    folder = federation.hospitals["h2"].folder
    assert agent(capsys, "evaluation", folder, job)["nodes"] == summed
    assert [one["job"] for one in agent(capsys, "evaluation", folder)["evaluations"]][-1] == job
    copy = tmp_path / "exported.json"
    agent(capsys, "models", "export", federation.hospitals["h1"].folder, grown, "--to", copy)
    by_file = agent(capsys, "evaluate", folder, "--file", copy)
    assert by_file["nodes"] == agent(capsys, "evaluate", folder, grown)["nodes"]
    whole = copy.read_bytes()
    copy.write_bytes(whole.replace(b'"agent":"h1"', b'"agent":"h2"'))
    assert copy.read_bytes() != whole
    assert run(["agent", "evaluate", str(folder), "--file", str(copy), "--json"]) == 3
    assert "does not verify" in capsys.readouterr().out


@pytest.mark.long
def test_a_histogram_is_that_of_the_pooled_records(
    federation: LocalFederation, study: str, capsys: pytest.CaptureFixture[str]
) -> None:
    job = finished(federation, study, tally={"kind": "histogram"})
    shown = agent(capsys, "evaluation", federation.hospitals["h3"].folder, job)
    assert [attribute["name"] for attribute in shown["attributes"]] == list(NAMES)
    for place, attribute in enumerate(shown["attributes"]):
        expected = [[0] * len(CLASSES) for _ in attribute["values"]]
        for row in ROWS:
            expected[row[place]][row[-1]] += 1
        assert attribute["counts"] == expected
    told = federation.cloud.people.get(f"/v1/jobs/{job}").json()
    assert (told["tally"], told["selection"]) == ({"kind": "histogram"}, None)
    folder = federation.hospitals["h3"].folder
    assert agent(capsys, "evaluation", folder, job[:8], "--remove")["removed"]
    assert job not in [one["job"] for one in agent(capsys, "evaluation", folder)["evaluations"]]


@pytest.mark.long
def test_what_is_not_allowed_is_declined_or_refused(federation: LocalFederation, study: str) -> None:
    post = federation.cloud.people.post
    grown = finished(federation, study, selection=HELD_OUT)
    evaluation = {"kind": "evaluation", "model": grown}
    other = federation.cloud.study(SCHEMA, name="trees-only")
    for where, body, text in (
        ("trees-only", {"tally": {"kind": "histogram"}}, "only count"),
        ("trees-only", {"tally": evaluation}, "another study"),
        ("clinic", {"tally": evaluation, "selection": HELD_OUT}, "parting of the job"),
        ("clinic", {"tally": {"kind": "histogram"}, "mode": "id3"}, "cannot only count"),
        ("clinic", {"selection": {"parts": 20, "first": 3, "last": 3}}, "expected first"),
    ):
        answer = post(f"/v1/studies/{where}/jobs", json={"min_node": 1, "min_child": 1, **body})
        assert answer.status_code == 422, (other, answer.text)
        assert text in answer.text
    federation.hospitals["h1"].allow(OPEN_POLICY + "allow_evaluation = false\n")
    job = federation.cloud.job("clinic", tally=evaluation)
    entries = federation.wait(job, HOSPITALS)
    assert entries["h1"].reason is not None
    assert "allow_evaluation" in entries["h1"].reason
    federation.hospitals["h1"].allow(OPEN_POLICY)
    small = federation.cloud.job("clinic", tally={**evaluation, "places": 2})
    refused = federation.wait(small, HOSPITALS)
    assert {entry.status for entry in refused.values()} <= {JobStatus.DECLINED, JobStatus.FAILED}
    assert any("fewer places than the tree" in str(entry.reason) for entry in refused.values())


@pytest.mark.long
def test_a_cloud_that_passes_other_records_for_held_out_is_declined(
    federation: LocalFederation, study: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    grown = finished(federation, study, selection=HELD_OUT)
    whole = finished(federation, study)
    fresh = SelectionSpec.model_validate({**HELD_OUT, "seed": "b2" * 16, "use": "test"})
    kept = SelectionSpec.model_validate({**HELD_OUT, "use": "test"})
    for model, parted in ((grown, fresh), (whole, kept), (grown, kept.model_copy(update={"parts": 5}))):
        monkeypatch.setattr(tallying, "_records_of", lambda *_, parted=parted: parted)
        job = federation.cloud.job("clinic", tally={"kind": "evaluation", "model": model})
        entries = federation.wait(job, HOSPITALS)
        assert {entry.status for entry in entries.values()} <= {JobStatus.DECLINED, JobStatus.FAILED}
        assert any("parts the records otherwise" in str(entry.reason) for entry in entries.values())


def test_held_out_records_and_those_grown_on_make_up_the_pooled_table(
    federation: LocalFederation, study: str, capsys: pytest.CaptureFixture[str]
) -> None:
    grown = finished(federation, study, selection=HELD_OUT, min_node=1, min_child=1, max_depth=None)
    tree = federation.hospitals["h1"].model(grown).shown_tree
    found = {}
    for records in ("test", "train", "all"):
        wanted = {"kind": "evaluation", "model": grown, "records": records}
        job = finished(federation, study, tally=wanted, min_node=1, min_child=1)
        shown = [
            agent(capsys, "evaluation", federation.hospitals[name].folder, job[:8]) for name in HOSPITALS
        ]
        assert shown[0]["nodes"] == shown[1]["nodes"] == shown[2]["nodes"]
        assert (shown[0]["kind"], shown[0]["model"], shown[0]["use"]) == ("evaluation", grown, records)
        assert shown[0]["classes"] == list(CLASSES)
        found[records] = shown[0]["nodes"]
        result = federation.cloud.people.get(f"/v1/jobs/{job}/result").json()
        assert result["tree_sha256"] == Tree(Leaf(0)).sha256
    assert found["all"] == pooled_places(tree)
    both = [
        [a + b for a, b in zip(test, train, strict=True)]
        for test, train in zip(found["test"], found["train"], strict=True)
    ]
    assert both == found["all"]
    assert 0 < sum(map(sum, found["test"])) < len(ROWS) / 2
    grown_on = [list(node.counts or ()) for node in tree.nodes() if isinstance(node, Leaf)]
    leaves = [row for row, node in zip(found["train"], tree.nodes(), strict=True) if isinstance(node, Leaf)]
    assert leaves == grown_on
