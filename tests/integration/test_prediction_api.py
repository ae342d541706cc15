"""The prediction API over a real federation: a running server heeds commands, and a shared tree answers a call."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from hospital_agent.commands.predicting import open_shelf
from hospital_agent.commands.serving_desk import desk_in
from hospital_agent.journal import JobStatus, Journal, studies
from hospital_agent.local_api import create_app
from hospital_agent.settings import load_settings
from shared.tree.prediction import predict
from shared.tree.schema import Schema
from tests.integration.test_agent_jobs import agent, files
from tests.support import measured_clinic
from tests.support.clinic import SCHEMA
from tests.support.federation import LocalFederation, local_federation

pytestmark = pytest.mark.long
THREE = ("h1", "h2", "h3")
SECRET = {"compute_parties": ["h2", "h3", "h1"], "result": "shared"}
RECORDS = [dict(zip(measured_clinic.NAMES, row, strict=False)) for row in measured_clinic.records(6, seed=5)]


@pytest.fixture(scope="module")
def federation(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalFederation]:
    folder = tmp_path_factory.mktemp("federation")
    with local_federation(folder, THREE, agents_may_ask=True) as running:
        yield running


@pytest.fixture(scope="module")
def shared_tree(federation: LocalFederation, tmp_path_factory: pytest.TempPathFactory) -> str:
    parts = measured_clinic.dealt(measured_clinic.records(60), THREE)
    made = measured_clinic.files(tmp_path_factory.mktemp("records") / "measured", parts)
    asking = {"questions_per_day": 1, "questions": 2, "records_per_day": 6, "records": 12}
    rules: dict[str, Any] = {"mode": "gain-ratio", "max_depth": 2, "secret": SECRET, "asking": asking}
    outcome = federation.run_job(measured_clinic.SCHEMA, made, **rules)
    assert outcome.statuses == {JobStatus.COMPLETE}
    return outcome.job


def served(federation: LocalFederation, name: str) -> TestClient:
    folder = federation.hospitals[name].folder
    desk = desk_in(folder, open_shelf(folder), load_settings(folder).local)
    return TestClient(create_app(desk.library, dict, None, desk=desk), base_url="http://127.0.0.1:8711")


def test_a_shared_tree_is_asked_by_the_same_call(
    federation: LocalFederation, shared_tree: str, capsys: pytest.CaptureFixture[str]
) -> None:
    pooled = [
        row for part in measured_clinic.dealt(measured_clinic.records(60), THREE).values() for row in part
    ]
    tree, schema = measured_clinic.pooled_tree(pooled, height=2), Schema.from_json(measured_clinic.SCHEMA)
    assert agent(capsys, "models", "pin", federation.hospitals["h2"].folder, "kept", shared_tree)[
        "tree_sha256"
    ]
    with served(federation, "h2") as local:
        answer = local.post("/v1/models/kept/predict?wait=60", json={"records": RECORDS})
        assert answer.status_code == 200, answer.text
        found = answer.json()
        assert [p["class"] for p in found["predictions"]] == [
            predict(tree, schema, record, "class").label for record in RECORDS
        ]
        assert (found["state"], found["model"], found["tree_sha256"]) == ("done", shared_tree, None)
        assert "nobody knows a path" in found["predictions"][0]["explanation"]
        assert local.get(found["at"]).json() == found
        again = local.post(f"/v1/models/{shared_tree}/predict?wait=60", json={"records": RECORDS})
        assert again.status_code == 409, again.text
        assert "within 24 hours" in again.text
    kept = json.loads((federation.hospitals["h2"].folder / "questions" / f"{found['id']}.json").read_text())
    assert kept["rows"] == []
    (job,) = [
        entry
        for entry in federation.cloud.people.get("/v1/jobs").json()["jobs"]
        if entry["id"] == found["job"]
    ]
    for hospital in federation.hospitals.values():
        with Journal.open(hospital.folder) as journal:
            (asked,) = studies.asked_by(journal, job["study"], "h2")
            entry = studies.study(journal, job["study"])
        assert (asked.question, asked.records) == (found["id"], len(RECORDS))
        assert entry is not None
        assert entry.begun == 1
    others = [federation.hospitals[name].folder for name in ("h1", "h3")]
    assert not [folder for folder in others if (folder / "predictions").exists()]


def test_what_a_shared_tree_cannot_answer_is_refused_before_anything_leaves(
    federation: LocalFederation, shared_tree: str
) -> None:
    jobs = len(federation.cloud.people.get("/v1/jobs").json()["jobs"])
    with served(federation, "h1") as local:
        path = f"/v1/models/{shared_tree}/predict"
        empty = local.post(path, json={"record": {}})
        assert (empty.status_code, "has no answer without one" in empty.json()["detail"]) == (422, True)
        assert local.post(f"{path}?wait=x", json={"record": RECORDS[0]}).status_code == 400
        assert local.get("/v1/predictions/" + "0" * 32).status_code == 404
    assert len(federation.cloud.people.get("/v1/jobs").json()["jobs"]) == jobs


def test_versions_are_changed_by_command_and_a_running_server_heeds_it(
    federation: LocalFederation, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = files(tmp_path)
    first = federation.run_job(SCHEMA, made).job
    second = federation.run_job(SCHEMA, made, max_depth=1).job
    folder = federation.hospitals["h1"].folder

    def command(*words: str) -> dict[str, Any]:
        return agent(capsys, "models", words[0], folder, *words[1:])

    with served(federation, "h1") as local:

        def answers() -> str:
            asked = local.post("/v1/models/ward/predict", json={"record": {"nausea": "1"}})
            return str(asked.json()["model"])

        assert command("pin", "ward", first)["model"] == first
        assert answers() == first
        assert command("canary", "ward", second[:12], "--share", "20%")["candidate"] == {
            "model": second, "share": "1/5",
        }  # fmt: skip
        for number in range(20):
            local.post(
                "/v1/models/ward/predict",
                json={"record": {"nausea": "1"}},
                headers={"x-request-id": str(number)},
            )
        trial = local.get("/v1/names").json()["names"][0]["trial"]
        assert trial["records"] == 20
        assert command("promote", "ward")["model"] == second
        assert answers() == second
        assert command("rollback", "ward")["model"] == first
        assert answers() == first
        acts = [change["act"] for change in command("history", "ward")["changes"]]
        assert acts == ["pinned", "canary", "promoted", "rolled back"]
        assert agent(capsys, "predict", folder, "--model", "ward", "--set", "nausea=1")["model"] == first
        command("describe", first, "--intended-use", "For teaching.")
        assert local.get("/v1/models/ward/card").json()["intended_use"] == "For teaching."
        assert command("card", "ward")["described"]
        assert local.get("/v1/models/ward/drift").json()["records"] > 0
        begun_anew = command("drift", "ward", "--restart")
        assert begun_anew["records"] == 0
        assert command("drift", "ward", "--restart")["since"] > begun_anew["since"]  # within the same second
    log = agent(capsys, "predictions", "log", folder, "--last", "3")["predictions"]
    assert [entry["model"] for entry in log] == [second, first, first]
    callers = [entry["caller"] for entry in log]
    assert callers[:2] == ["this machine"] * 2
    assert callers[2].startswith("command of ")
    with Journal.open(folder) as journal:
        kinds = [record["kind"] for record in journal.audit_records() if record["kind"].startswith("model_")]
    assert kinds == ["model_pinned", "model_canary", "model_promoted", "model_rolled_back", "model_described"]
