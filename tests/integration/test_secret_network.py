"""Secret jobs where the network is bad: connections cut and delayed at random, and no WebSocket let through."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hospital_agent.journal import JobStatus
from tests.support import measured_clinic
from tests.support.federation import LocalFederation, local_federation
from tests.support.proxies import chaos_proxy

HOSPITALS = ("h1", "h2", "h3", "h4")
SECRET = {"compute_parties": ["h3", "h1", "h2"]}
ROWS = measured_clinic.records(120)


def run_job(federation: LocalFederation, folder: Path, **options: Any) -> None:
    """A job of mode gain-ratio, and what it must come to."""
    parts = measured_clinic.dealt(ROWS, HOSPITALS)
    outcome = federation.run_job(
        measured_clinic.SCHEMA,
        measured_clinic.files(folder, parts),
        mode="gain-ratio",
        max_depth=3,
        secret=SECRET,
        timeout_seconds=150.0,
        **options,
    )
    pooled = [row for name in HOSPITALS for row in parts[name]]
    expected = measured_clinic.pooled_tree(pooled, height=3).sha256
    assert outcome.statuses == {JobStatus.COMPLETE}
    assert {model.tree_sha256 for model in outcome.models.values()} == {expected}


@pytest.mark.long
@pytest.mark.parametrize("seed", range(1, 12))
def test_connections_to_the_cloud_are_cut_and_delayed(tmp_path: Path, seed: int) -> None:
    with (
        local_federation(tmp_path / "federation", HOSPITALS, start=False) as federation,
        chaos_proxy(int(federation.cloud.base_url.rpartition(":")[2]), seed) as chaos,
    ):
        for hospital in federation.hospitals.values():
            hospital.cloud_url = f"http://127.0.0.1:{chaos.port}"
            hospital.configure()
            hospital.start()
        run_job(federation, tmp_path / "records")
        assert chaos.cut > 0
        chaos.share = 0.0


def test_long_polls_where_no_websocket_comes_through(tmp_path: Path) -> None:
    with local_federation(tmp_path / "federation", HOSPITALS, start=False) as federation:
        for hospital in federation.hospitals.values():
            hospital.compute = {"channel": "long-poll"}
            hospital.configure()
            hospital.start()
        run_job(federation, tmp_path / "records")
        assert "long polls" in federation.hospitals["h4"].output.getvalue()
