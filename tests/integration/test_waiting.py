"""Waits as people see them: in the API, in `privet cloud job show`, in `privet agent status`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hospital_agent.commands.jobs import status_document
from privet.__main__ import run
from tests.integration.test_cloud_deadlines import SHORT, let_time_pass
from tests.support.clinic import SCHEMA, dealt
from tests.support.cloud_server import running_cloud
from tests.support.federation import LocalFederation, local_federation
from tests.support.http_hospital import hospitals_of
from tests.support.weighted_clinic import write_files


def test_a_job_says_whom_it_waits_for_in_every_state(tmp_path: Path) -> None:
    with running_cloud(tmp_path, bits=512) as cloud:
        cloud.study(SCHEMA)
        with hospitals_of(cloud, dealt("h1", "h2", "h3")) as hospitals:
            job = cloud.job(deadlines=SHORT, max_shrinks=0)

            def wait() -> dict[str, Any]:
                return dict(cloud.people.get(f"/v1/jobs/{job}").json()["waiting"])

            first = wait()
            assert first["who"] == ["h1", "h2", "h3"]
            assert first["what"] == "the answer to the invitation"
            assert first["until"] == first["since"] + 600
            assert "fewer than 3" in first["then"]
            for hospital in hospitals:
                hospital.fetch()
                hospital.send_all()
            for hospital in hospitals[:2]:
                hospital.fetch()
                hospital.send_all()
            collecting = wait()
            assert (collecting["who"], collecting["what"]) == (["h3"], "the contribution to round 1")
            assert "pauses for 10 minutes" in collecting["then"]
            let_time_pass(cloud, job)
            paused = wait()
            assert paused["who"] == ["h3"]
            assert paused["until"] > collecting["until"] - 600
            assert paused["then"].startswith("the job fails")
            let_time_pass(cloud, job)
            assert cloud.people.get(f"/v1/jobs/{job}").json()["state"] == "FAILED"
            assert cloud.people.get(f"/v1/jobs/{job}").json()["waiting"] is None


@pytest.fixture(scope="module")
def federation(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalFederation]:
    folder = tmp_path_factory.mktemp("waiting")
    with local_federation(
        folder, policy='approval = "ask"\nmin_node = 1\nmin_child = 1\nmax_depth = 0\n'
    ) as found:
        yield found


def _wait_of(federation: LocalFederation, name: str) -> dict[str, Any]:
    jobs = status_document(federation.hospitals[name].folder)["jobs"]
    return dict((jobs[-1] if jobs else {}).get("waiting") or {})


def test_an_agent_says_whom_it_waits_for(
    federation: LocalFederation, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    job = federation.start_job(SCHEMA, write_files(tmp_path, ["h1", "h2", "h3"]))
    federation.until(lambda: _wait_of(federation, "h1") != {})
    asked = _wait_of(federation, "h1")
    assert asked["who"] == ["this hospital"]
    assert "approve" in asked["what"]
    assert asked["until"] > asked["since"] > 0
    assert "lapses" in asked["then"]
    folder = federation.hospitals["h1"].folder
    assert run(["agent", "approve", str(folder), job]) == 0
    federation.until(lambda: _wait_of(federation, "h1").get("who") == ["h2", "h3"])
    assert _wait_of(federation, "h1")["what"] == "the answer to the invitation"
    capsys.readouterr()
    assert run(["agent", "status", str(folder)]) == 0
    assert "waits for h2, h3: the answer to the invitation; since " in capsys.readouterr().out


def test_an_agent_says_that_the_cloud_is_silent(federation: LocalFederation) -> None:
    folder = federation.hospitals["h1"].folder
    assert status_document(folder)["waiting"] is None
    federation.cloud.stop()
    federation.until(lambda: status_document(folder)["waiting"] is not None)
    silent = status_document(folder)["waiting"]
    assert silent["who"] == ["the cloud"]
    assert silent["until"] is None
    assert "asked again" in silent["then"]
    federation.cloud.start()
    assert json.dumps(silent)
