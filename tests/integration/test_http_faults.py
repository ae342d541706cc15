"""Real daemons behind a proxy that loses, cuts, repeats, delays and garbles: the job completes with the exact tree."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from cloud_service.store import journal, messages
from hospital_agent.journal import JobStatus
from tests.support.clinic import SCHEMA
from tests.support.federation import LocalFederation, local_federation
from tests.support.proxies import FAULTS, Faults, fault_proxy
from tests.support.weighted_clinic import pooled_tree, write_files

HOSPITALS = ("h1", "h2", "h3")
SECONDS = 120.0


def run_job(federation: LocalFederation, folder: Path, faults: Faults) -> None:
    """One job through the proxy, and what every job must come to."""
    outcome = federation.run_job(
        SCHEMA, write_files(folder, HOSPITALS), timeout_seconds=SECONDS, max_shrinks=0
    )
    told = f"faults: {dict(faults.done)}"
    assert outcome.statuses == {JobStatus.COMPLETE}, told
    expected = pooled_tree(HOSPITALS).to_json(with_counts=True)
    for model in outcome.models.values():
        assert model.tree.to_json(with_counts=True) == expected, told
    check_database(federation, outcome.job)


def check_database(federation: LocalFederation, job: str) -> None:
    with federation.cloud.services.database.read() as connection:
        rounds = sorted(journal.aggregates(connection, job))
        assert rounds == list(range(len(rounds)))
        assert messages.contributions(connection, job) == {}
        taken = connection.exec_driver_sql(
            "SELECT sender, round FROM messages_in WHERE type = 'contribution' AND refused IS NULL "
            f"AND job = '{job}'"
        )
        assert Counter(map(tuple, taken)) == {(name, number): 1 for name in HOSPITALS for number in rounds}
        (evidence,) = connection.exec_driver_sql("SELECT count(*) FROM evidence").one()
        assert evidence == 0


@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(2, 24))])
def test_half_of_all_exchanges_go_wrong(tmp_path: Path, seed: int) -> None:
    with (
        local_federation(tmp_path, HOSPITALS, start=False) as federation,
        fault_proxy(int(federation.cloud.base_url.rpartition(":")[2]), seed) as faults,
    ):
        for hospital in federation.hospitals.values():
            hospital.cloud_url = faults.url
            hospital.configure()
            hospital.start()
        for number in range(3):
            folder = tmp_path / f"records-{number}"
            folder.mkdir()
            run_job(federation, folder, faults)
        print(dict(faults.done))
        assert set(FAULTS) <= set(faults.done), "every kind of fault has occurred"
        faults.share = 0.0
