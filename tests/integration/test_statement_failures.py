"""Every SQL statement of a job fails once, at the cloud and at an agent: asked again it holds, and no half is left."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from cloud_service.api import problems
from hospital_agent.journal import JobStatus
from shared.errors import kind_and_place
from tests.support.clinic import SCHEMA
from tests.support.consistency import check_agent, check_cloud, check_together
from tests.support.federation import LocalFederation, local_federation
from tests.support.sql_faults import SqlFaults, failing_database, failing_journal
from tests.support.weighted_clinic import pooled_tree, write_files

HOSPITALS = ("h1", "h2", "h3")
PLAN: dict[str, Any] = {"min_node": 1, "min_child": 1, "max_depth": None, "max_shrinks": 0}
SECONDS = 1500.0


@pytest.fixture(autouse=True)
def bugs(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """What was answered with 500; a statement that fails must be met with 503."""
    found: list[str] = []
    answer = problems._unexpected

    def note(request: Any, error: Exception) -> Any:
        found.append(kind_and_place(error))
        return answer(request, error)

    monkeypatch.setattr(problems, "_unexpected", note)
    yield found
    assert found == []


def insist(people: httpx2.Client, path: str, body: dict[str, Any]) -> Any:
    """Ask until it is done; each 503 has done nothing."""
    while (answer := people.post(path, json=body)).status_code == 503:
        assert answer.json()["code"] == "audit_unavailable"
    assert answer.status_code == 201, answer.text
    return answer.json()


def check(federation: LocalFederation, job: str) -> None:
    expected = pooled_tree(HOSPITALS)
    for hospital in federation.hospitals.values():
        entry = hospital.entry(job)
        assert entry is not None
        assert entry.status is JobStatus.COMPLETE, entry.reason
        tree = hospital.model(job).tree
        assert tree is not None
        assert tree.to_json(with_counts=True) == expected.to_json(with_counts=True)
        check_agent(hospital.folder)
    url = federation.cloud.settings.database
    check_cloud(url)
    check_together(url, {name: h.folder for name, h in federation.hospitals.items()}, job)


def tell(where: str, faults: SqlFaults) -> None:
    print(f"{where}: {faults.failed.total()} statements failed at {len(faults.failed)} places in the code")


def fail_at_cloud(folder: Path, url: str, *, anew: bool) -> SqlFaults:
    with local_federation(folder, HOSPITALS, url, start=False) as federation:
        records = write_files(folder, HOSPITALS)
        for name, hospital in federation.hospitals.items():
            hospital.configure(records[name])
        database = federation.cloud.services.database
        with failing_database(database, anew=anew) as faults:
            people = federation.cloud.people
            insist(people, "/v1/studies", {"id": "s", "question": "?", "schema": SCHEMA, "synthetic": True})
            job = insist(people, "/v1/studies/s/jobs", {**PLAN, "invited": list(HOSPITALS)})["id"]
            for hospital in federation.hospitals.values():
                hospital.start()
            federation.wait(job, HOSPITALS, timeout_seconds=SECONDS)
        with database.read() as connection:
            assert connection.exec_driver_sql("SELECT count(*) FROM jobs").scalar() == 1
        check(federation, job)
        tell(f"cloud, {database.engine.dialect.name}", faults)
    return faults


def fail_at_agent(folder: Path, patch: pytest.MonkeyPatch, *, anew: bool) -> SqlFaults:
    with local_federation(folder, HOSPITALS, start=False) as federation:
        victim = federation.hospitals["h1"]
        with failing_journal(victim, patch, anew=anew) as faults:
            job = federation.start_job(SCHEMA, write_files(folder, HOSPITALS), max_shrinks=0)
            for hospital in federation.hospitals.values():
                hospital.start()
            federation.wait(job, HOSPITALS, timeout_seconds=SECONDS)
        check(federation, job)
        tell("agent", faults)
    return faults


@pytest.mark.long
def test_each_statement_of_the_cloud(tmp_path: Path) -> None:
    assert fail_at_cloud(tmp_path / "federation", "", anew=False).failed.total() > 30


@pytest.mark.long
def test_each_statement_of_an_agent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert fail_at_agent(tmp_path / "federation", monkeypatch, anew=False).failed.total() > 30


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_each_statement_on_postgres(postgres_url: str, tmp_path: Path) -> None:
    assert fail_at_cloud(tmp_path / "federation", postgres_url, anew=False).failed.total() > 30


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_statements_of_each_step_of_the_cloud(database_url: str, tmp_path: Path) -> None:
    assert fail_at_cloud(tmp_path / "federation", database_url, anew=True).failed.total() > 100


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_statements_of_each_step_of_an_agent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert fail_at_agent(tmp_path / "federation", monkeypatch, anew=True).failed.total() > 100
