"""Messages of finished jobs go after their time, or sooner by a command; what proves the result stays."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import text

from cloud_service.service.refusals import ConflictError
from cloud_service.service.retention import Retention
from cloud_service.service.services import unix_time
from cloud_service.store import retention as store
from privet.__main__ import run
from shared.ids import JobId
from tests.support.clinic import SCHEMA, dealt
from tests.support.cloud_server import CloudUnderTest, running_cloud
from tests.support.http_hospital import hospitals_of, run_together

NAMES = ("h1", "h2", "h3")
DAY = 86_400
GONE = ("outbox", "deliveries", "messages_in", "job_events")
STAYS = ("jobs", "job_members", "audit", "job_costs", "aggregates", "published_trees", "sent_figures")


@pytest.fixture
def cloud(tmp_path: Path, database_url: str) -> Iterator[CloudUnderTest]:
    with running_cloud(tmp_path, database_url, hospitals=NAMES, bits=512) as running:
        running.study(SCHEMA, publish_tree=True)
        yield running


def finished_job(cloud: CloudUnderTest) -> str:
    with hospitals_of(cloud, dealt(*NAMES)) as hospitals:
        job = cloud.job()
        run_together(hospitals)
    return job


def counts(cloud: CloudUnderTest, tables: tuple[str, ...]) -> dict[str, int]:
    with cloud.services.database.read() as connection:
        return {name: connection.scalar(text(f"SELECT count(*) FROM {name}")) or 0 for name in tables}


def test_after_its_time(cloud: CloudUnderTest, monkeypatch: pytest.MonkeyPatch) -> None:
    job = finished_job(cloud)
    results = cloud.people.get(f"/v1/jobs/{job}/result").json()
    running, kept = cloud.job(), counts(cloud, STAYS)
    monkeypatch.setattr(store, "BATCH", 7)
    early = Retention(cloud.services.database, 90, lambda: unix_time() + 89 * DAY)
    never = Retention(cloud.services.database, 0, lambda: unix_time() + 10_000 * DAY)
    assert (early.keep(), never.keep()) == (0, 0)
    late = Retention(cloud.services.database, 90, lambda: unix_time() + 91 * DAY)
    assert (late.keep(), late.keep()) == (1, 0)
    assert counts(cloud, STAYS) == kept
    with cloud.services.database.read() as connection:
        left = {
            str(row[0])
            for name in ("outbox", "job_events")
            for row in connection.execute(text(f"SELECT job FROM {name}"))
        }
        acts = [bytes(record).decode() for record in connection.scalars(text("SELECT record FROM acts"))]
    assert left == {running}
    assert counts(cloud, ("messages_in",)) == {"messages_in": 0}
    assert sum("messages_deleted" in act for act in acts) == 1
    assert cloud.people.get(f"/v1/jobs/{job}/result").json() == results
    assert cloud.people.get(f"/v1/jobs/{job}").json()["state"] == "DONE"


def test_a_running_job_keeps_its_messages(cloud: CloudUnderTest) -> None:
    job = cloud.job()
    with pytest.raises(ConflictError):
        Retention(cloud.services.database, 1, unix_time).clear(JobId(job), "tests")
    assert counts(cloud, GONE)["outbox"] == 1


def test_purge(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    with running_cloud(tmp_path, hospitals=NAMES, bits=512) as cloud:
        (tmp_path / "cloud.toml").touch()
        cloud.study(SCHEMA)
        job = finished_job(cloud)
        running = cloud.job()
        purge = ["cloud", "purge", str(tmp_path)]
        assert run([*purge, "--job", job]) != 0, "nobody was there to ask"
        assert run([*purge, "--study", "study", "--yes"]) != 0, "one of its jobs runs"
        assert run([*purge, "--job", running, "--yes"]) != 0
        assert run([*purge, "--yes"]) != 0
        assert counts(cloud, GONE)["messages_in"] > 0
        capsys.readouterr()
        assert run([*purge, "--job", job, "--yes", "--json"]) == 0
        assert json.loads(capsys.readouterr().out) == {"purged": [job]}, "the log is not on standard output"
        assert counts(cloud, ("messages_in",)) == {"messages_in": 0}
        cloud.people.post(f"/v1/jobs/{running}/cancel")
        with monkeypatch.context() as patch, io.StringIO() as lines:
            patch.setattr(sys, "stderr", lines)
            assert run([*purge, "--study", "study", "--yes"]) == 0
        assert cloud.people.get("/v1/jobs").status_code == 200, (
            "later lines are not for a closed standard error"
        )
        assert set(counts(cloud, GONE).values()) == {0}
        with cloud.services.database.read() as connection:
            assert connection.scalar(text("PRAGMA freelist_count")) == 0
