"""One whole job under a key of each allowed size, in both profiles, without the seam for toy keys."""

from __future__ import annotations

from pathlib import Path

import pytest

from hospital_agent.journal import JobStatus
from tests.integration.test_agent_jobs import files, pooled_sha256
from tests.support.clinic import SCHEMA
from tests.support.federation import local_federation


@pytest.mark.parametrize("bits", [2048, 3072, pytest.param(4096, marks=pytest.mark.long)])
def test_a_job_under_a_key_of(bits: int, tmp_path: Path) -> None:
    with local_federation(tmp_path / "federation", bits=bits) as federation:
        for profile in ("hardened", "paper"):
            outcome = federation.run_job(
                SCHEMA, files(tmp_path), profile=profile, synthetic=True, timeout_seconds=120
            )
            assert outcome.statuses == {JobStatus.COMPLETE}
            assert {model.tree.sha256 for model in outcome.models.values()} == {pooled_sha256()}
