"""The cloud goes away and comes back, and the hospitals' jobs go on."""

from __future__ import annotations

from pathlib import Path

from hospital_agent.journal import JobStatus
from tests.integration.test_agent_jobs import THREE, files, pooled_sha256
from tests.support.clinic import SCHEMA
from tests.support.federation import local_federation


def test_a_cloud_that_restarts_is_found_again(tmp_path: Path) -> None:
    with local_federation(tmp_path / "federation", THREE) as federation:
        agent = federation.hospitals["h1"]
        federation.until(lambda: "works with" in agent.output.getvalue())
        federation.cloud.people.close()
        federation.cloud.stop()
        federation.until(lambda: "tries again" in agent.output.getvalue())
        port = int(federation.cloud.base_url.rpartition(":")[2])
        federation.cloud.settings = federation.cloud.settings.model_copy(update={"port": port})
        federation.cloud.start()
        federation.cloud._connect()
        outcome = federation.run_job(SCHEMA, files(tmp_path))
        assert outcome.statuses == {JobStatus.COMPLETE}
        assert {model.tree.sha256 for model in outcome.models.values()} == {pooled_sha256()}
        told = agent.output.getvalue()
        assert "works with the cloud again" in told
        assert told.count("tries again") == 1
