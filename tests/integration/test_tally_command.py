"""Holding out, evaluating and counting as people type it, with real programs and keys, a tree of mode gain-ratio."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from privet.__main__ import run
from tests.support import measured_clinic
from tests.support.programs import Founded, RealFederation, command, real_federation

pytestmark = pytest.mark.long
HOSPITALS = ("h1", "h2", "h3")


@pytest.fixture(scope="module")
def federation(
    founded_federation: Founded, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[RealFederation]:
    with real_federation(founded_federation, tmp_path_factory.mktemp("commands")) as running:
        files = measured_clinic.files(
            running.folder / "records", measured_clinic.dealt(measured_clinic.records(90), HOSPITALS)
        )
        running.start_agents(files)
        yield running


@pytest.fixture(scope="module")
def study(federation: RealFederation) -> str:
    path = federation.folder / "schema.json"
    path.write_text(json.dumps(measured_clinic.SCHEMA))
    words = ("--id", "judged", "--question", "how ill?", "--schema", path, "--synthetic")
    made = command("cloud", "study", "create", federation.cloud_folder, *words, "--tally", "evaluation")
    assert made["document"]["tallies"] == ["evaluation"]
    assert any("how good a tree is" in line for line in made["in_words"])
    return str(made["study"])


def create(federation: RealFederation, study: str, *words: str) -> Any:
    rules = ("--min-node", "1", "--min-child", "1")
    made = command("cloud", "job", "create", federation.cloud_folder, "--study", study, *rules, *words)
    federation.wait_until_done(made["job"])
    return made


def test_a_tree_of_any_mode_is_judged_on_what_was_held_out(federation: RealFederation, study: str) -> None:
    grown = create(federation, study, "--mode", "gain-ratio", "--max-depth", "2", "--hold-out", "30%")
    assert "the rest" in grown["counts"]["meaning"]
    made = create(federation, study, "--evaluate", grown["job"][:12])
    assert made["counts"]["tally"]["model"] == grown["job"]
    assert made["hospitals"] == list(HOSPITALS)
    folders = [federation.folder / name for name in HOSPITALS]
    found = [command("agent", "evaluation", folder, made["job"][:8]) for folder in folders]
    local = [command("agent", "evaluate", folder, grown["job"]) for folder in folders]
    assert found[0]["nodes"] == found[1]["nodes"] == found[2]["nodes"]
    assert found[0]["nodes"] == [
        [sum(cells) for cells in zip(*rows, strict=True)]
        for rows in zip(*(one["nodes"] for one in local), strict=True)
    ]
    assert 0 < found[0]["records"] == sum(one["records"] for one in local) < 60
    ledger = command("agent", "ledger", folders[0], made["job"][:8])
    told = {entry["learned"] for entry in ledger["fact"]["entries"]}
    assert "evaluation" in told
    assert "tree" not in told
    listed = command("agent", "models", "list", folders[0])["models"]
    assert made["job"] not in [model["id"] for model in listed]


def test_folds_are_grown_and_judged_by_two_commands(federation: RealFederation, study: str) -> None:
    rules = ("--min-node", "1", "--min-child", "1")
    words = ("cloud", "job", "create", federation.cloud_folder, "--study", study, *rules)
    grown = command(*words, "--mode", "gain-ratio", "--max-depth", "1", "--fold", "all/2")["jobs"]
    assert len({one["counts"]["selection"]["seed"] for one in grown}) == 1
    for one in grown:
        federation.wait_until_done(one["job"])
    judged = command(*words, "--evaluate", grown[1]["job"], "--all-folds")["jobs"]
    assert [one["counts"]["tally"]["model"] for one in judged] == [one["job"] for one in grown]
    records = []
    for one in judged:
        federation.wait_until_done(one["job"])
        records.append(command("agent", "evaluation", federation.folder / "h1", one["job"])["records"])
    assert sum(records) == 90


def test_what_cannot_be_is_refused_with_the_remedy(
    federation: RealFederation, study: str, capsys: pytest.CaptureFixture[str]
) -> None:
    create_words = ("cloud", "job", "create", str(federation.cloud_folder), "--study", study)
    for words, told in (
        (("--histogram",), "fine cut points"),
        (("--evaluate", "00"), "no such job"),
        (("--hold-out", "1%"), "multiple of 5%"),
        (("--records", "test"), "--evaluate JOB"),
        (("--all-folds",), "--evaluate JOB"),
        (("--hold-out", "30%", "--fold", "1/5"), "not both"),
    ):
        capsys.readouterr()
        assert run([*create_words, *words, "--json"]) == 3
        assert told in capsys.readouterr().out
