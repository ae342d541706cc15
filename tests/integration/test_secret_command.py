"""Secret jobs as operators type them: studies and jobs at the cloud, offers and status at a hospital."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from privet.__main__ import run
from tests.support import measured_clinic
from tests.support.programs import OPEN_POLICY, Founded, RealFederation, command, real_federation

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


def refused(capsys: pytest.CaptureFixture[str], *words: str | Path) -> Any:
    capsys.readouterr()
    code = run([*map(str, words), "--json"])
    document = json.loads(capsys.readouterr().out)
    assert code == 3, document
    return document


def create_study(federation: RealFederation, name: str) -> None:
    path = federation.folder / "schema.json"
    path.write_text(json.dumps(measured_clinic.SCHEMA))
    words = ("--id", name, "--question", "how ill?", "--schema", path, "--synthetic")
    assert command("cloud", "study", "create", federation.cloud_folder, *words)["study"] == name


def create_job(federation: RealFederation, study: str, *words: str) -> Any:
    rules = ("--mode", "gain-ratio", "--max-depth", "2", "--min-node", "1", "--min-child", "1")
    parties = [word for name in ("h3", "h1", "h2") for word in ("--compute", name)]
    folder = federation.cloud_folder
    return command("cloud", "job", "create", folder, "--study", study, *rules, *parties, *words)


def wait(federation: RealFederation, job: str) -> None:
    federation.wait_until_done(job)


def test_a_study_says_how_often_hospitals_may_ask(
    federation: RealFederation, capsys: pytest.CaptureFixture[str]
) -> None:
    path = federation.folder / "asked.json"
    path.write_text(json.dumps(measured_clinic.SCHEMA))
    head = ("cloud", "study", "create", federation.cloud_folder, "--id", "often", "--question", "how ill?")
    words: tuple[str | Path, ...] = (*head, "--schema", path, "--profile", "secret-gainratio")
    told = refused(capsys, *words, "--ask-questions", "20/500")
    assert (told["where"], "--ask-records 100/2000" in told["remedy"]) == ("--ask-records", True)
    assert "20/500" in refused(capsys, *words, "--ask-questions", "20", "--ask-records", "1/2")["remedy"]
    made = command(*words, "--ask-questions", "20/500", "--ask-records", "100/2000")
    assert made["document"]["asking"] == {
        "questions_per_day": 20, "questions": 500, "records_per_day": 100, "records": 2000,
    }  # fmt: skip
    assert made["document"]["shared_result"]
    assert [line for line in made["in_words"] if line.startswith("Asking a tree that stays shared")]


def test_a_tree_kept_shared_is_grown_and_asked(federation: RealFederation) -> None:
    create_study(federation, "kept")
    made = create_job(federation, "kept", "--result", "shared", "--grid", "pulse=10")
    assert made["compute_parties"] == ["h3", "h1", "h2"]
    wait(federation, made["job"])
    shown = command("cloud", "job", "show", federation.cloud_folder, made["job"][:8])
    assert shown["job"] == made["job"]
    assert (shown["state"], shown["profile"]) == ("DONE", "secret-gainratio")
    assert {shown["progress"][name]["part"] for name in HOSPITALS} == {"compute"}
    models = command("agent", "models", "list", federation.folder / "h1")["models"]
    assert [model["nodes"] for model in models if model["id"] == made["job"]] == [None]
    asked = create_job(federation, "kept", "--ask", made["job"], "--result-party", "h2")
    wait(federation, asked["job"])
    assert (federation.folder / "h2" / "predictions" / f"{asked['job']}.csv").is_file()
    assert command("agent", "models", "remove", federation.folder / "h1", made["job"])["removed"]
    assert not (federation.folder / "h1" / "models" / f"{made['job']}.npz").exists()
    listed = command("cloud", "job", "list", federation.cloud_folder)["jobs"]
    assert [job["job"] for job in listed[:2]] == [asked["job"], made["job"]]
    assert "kept" in [
        study["id"] for study in command("cloud", "study", "list", federation.cloud_folder)["studies"]
    ]


def test_a_person_reads_who_computes_and_who_is_told(
    federation: RealFederation, capsys: pytest.CaptureFixture[str]
) -> None:
    policy = federation.folder / "h2" / "policy.toml"
    policy.write_text(OPEN_POLICY.replace("automatic", "ask"))
    create_study(federation, "asked")
    job = create_job(federation, "asked", "--result-party", "h1", "--result-party", "h3")["job"]
    try:
        federation.wait(
            lambda: bool(command("agent", "offers", federation.folder / "h2")["offers"]), "the offer"
        )
        (offer,) = command("agent", "offers", federation.folder / "h2")["offers"]
        assert offer["secret"]["compute_parties"] == ["h3", "h1", "h2"]
        capsys.readouterr()
        assert run(["agent", "offers", str(federation.folder / "h2")]) == 0
        assert "on shares of the records at h3, h1, h2" in (told := capsys.readouterr().out)
        assert "told: h1, h3" in told
        assert command("cloud", "job", "cancel", federation.cloud_folder, job[:8])["state"] == "CANCELLED"
    finally:
        policy.write_text(OPEN_POLICY)


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("--mode", "ppsdt", "--compute", "h1"), "need a secret mode"),
        (("--mode", "id3", "--profile", "paper"), "profile paper is of mode ppsdt"),
        (("--mode", "id3", "--criterion", "gain-ratio"), "fixes its criterion"),
        (("--mode", "gain-ratio", "--max-depth", "none"), "height of 1"),
        (("--mode", "gain-ratio", "--grid", "pulse"), "NAME=STEP"),
        (("--mode", "gain-ratio", "--max-depth", "deep"), "a number from 1"),
        (("--mode", "gain-ratio", "--compute", "h1", "--compute", "h2"), "at least 3 items"),
        (("--mode", "gain-ratio", "--thresholds", "gain"), "thresholds: it is for profile hardened"),
        (("--mode", "gain-ratio", "--prune", "pessimistic"), "pessimistic needs the errors of leaves"),
        (("--mode", "gain-ratio", "--class-weight", "ill=2"), "leave them out, or choose mode id3"),
    ],
)
def test_plans_that_cannot_be_are_refused(
    federation: RealFederation, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], reason: str
) -> None:
    create_study(federation, "refused")
    document = refused(
        capsys, "cloud", "job", "create", federation.cloud_folder, "--study", "refused", *words
    )
    assert reason in json.dumps(document)


def test_what_is_not_there_is_told(federation: RealFederation, capsys: pytest.CaptureFixture[str]) -> None:
    folder = federation.cloud_folder
    assert "no study" in json.dumps(refused(capsys, "cloud", "job", "create", folder, "--study", "nothing"))
    assert "no such job" in json.dumps(refused(capsys, "cloud", "job", "show", folder, ""))
    unknown = json.dumps(refused(capsys, "cloud", "job", "show", folder, "ab" * 16))
    assert "no such job" in unknown
    assert "privet cloud job list" in unknown
    nonsense = federation.folder / "nonsense.json"
    nonsense.write_text("{}")
    words = ("--id", "x", "--question", "y", "--schema", nonsense)
    assert "schema" in json.dumps(refused(capsys, "cloud", "study", "create", folder, *words))


def test_a_shared_tree_is_asked_as_it_was_grown(
    federation: RealFederation, capsys: pytest.CaptureFixture[str]
) -> None:
    create_study(federation, "again")
    grown = create_job(federation, "again", "--result", "shared")["job"]
    wait(federation, grown)
    words = ("cloud", "job", "create", federation.cloud_folder, "--study", "again", "--mode", "gain-ratio")
    asked = command(*words, "--ask", grown)
    assert asked["compute_parties"] == ["h3", "h1", "h2"]
    wait(federation, asked["job"])
    assert (federation.folder / "h3" / "predictions" / f"{asked['job']}.csv").is_file()
    other = [word for name in HOSPITALS for word in ("--compute", name)]
    for option in (("--max-depth", "3"), other):
        document = refused(capsys, *words, "--ask", grown, *option)
        assert document["where"] == option[0]
        assert "h3, h1, h2 with at most 2 questions" in document["detail"]
    assert "kept no tree shared" in json.dumps(refused(capsys, *words, "--ask", asked["job"]))


def test_a_hospital_that_declines_is_shown(
    federation: RealFederation, capsys: pytest.CaptureFixture[str]
) -> None:
    policy = federation.folder / "h2" / "policy.toml"
    policy.write_text(OPEN_POLICY + "may_compute = false\n")
    create_study(federation, "against")
    try:
        job = create_job(federation, "against")["job"]
        folder = federation.cloud_folder
        federation.wait(
            lambda: command("cloud", "job", "show", folder, job)["state"] == "FAILED", "the job's end"
        )
        capsys.readouterr()
        assert run(["cloud", "job", "show", str(folder), job]) == 0
        assert "  h2: declined (declined); its own `privet agent status` says why" in capsys.readouterr().out
    finally:
        policy.write_text(OPEN_POLICY)
