"""A secret job at a cloud on PostgreSQL."""

from __future__ import annotations

from pathlib import Path

from hospital_agent.journal import JobStatus
from tests.integration.test_agent_jobs import files, pooled_sha256
from tests.support.clinic import SCHEMA
from tests.support.databases import postgres_database
from tests.support.federation import local_federation

HOSPITALS = ("h1", "h2", "h3", "h4")


def test_a_secret_job_runs_on_postgresql(postgres_server: str, tmp_path: Path) -> None:
    with (
        postgres_database(postgres_server) as url,
        local_federation(tmp_path / "federation", HOSPITALS, url) as federation,
    ):
        made = tmp_path / "records"
        made.mkdir()
        outcome = federation.run_job(
            SCHEMA, files(made, *HOSPITALS), mode="id3", secret={"compute_parties": ["h4", "h1", "h2"]}
        )
        assert outcome.statuses == {JobStatus.COMPLETE}
        assert {model.tree_sha256 for model in outcome.models.values()} == {pooled_sha256()}
        page = federation.cloud.people.get(f"/v1/jobs/{outcome.job}").json()
        told = {member["id"]: member["progress"]["part"] for member in page["members"] if member["progress"]}
        assert {told[name] for name in ("h1", "h2", "h4")} == {"compute"}
