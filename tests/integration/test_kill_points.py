"""`kill -9` exactly before and after the durable steps of a whole job, one death a step: the tree is right, and between
any two lives nothing is half done.

A life dies at its first step that lasts, so the next one begins at the next step: a job with n steps sees n deaths.
"""

from __future__ import annotations

import statistics
from pathlib import Path
from typing import Any

import pytest

from hospital_agent.journal import JobStatus
from tests.support.clinic import SCHEMA
from tests.support.consistency import check_agent, check_cloud, check_together
from tests.support.federation import LocalFederation, local_federation
from tests.support.lives import Moment, Mortal, die_on, mortal_agent, mortal_cloud
from tests.support.programs import free_port
from tests.support.weighted_clinic import pooled_tree, write_files

HOSPITALS = ("h1", "h2", "h3")
PLANS: dict[str, dict[str, Any]] = {
    "ppsdt": {"max_shrinks": 0},
    "threshold": {"max_shrinks": 0},
    "id3": {"mode": "id3", "secret": {"compute_parties": list(HOSPITALS)}},
}
KEYS: dict[str, dict[str, Any]] = {"threshold": {"bits": 2048, "threshold": 3}}
"""Of modes that a toy key is not enough for."""


def start(federation: LocalFederation, mode: str) -> str:
    folder = federation.cloud.folder / "records"
    folder.mkdir()
    return federation.start_job(SCHEMA, write_files(folder, HOSPITALS), **PLANS[mode])


def is_over(federation: LocalFederation, job: str) -> bool:
    """At every hospital, whose last words have arrived."""
    return federation.is_settled(job, HOSPITALS)


def check(federation: LocalFederation, job: str, mode: str) -> None:
    """The pooled tree everywhere, and the same messages at both ends."""
    url = federation.cloud.settings.database
    expected = pooled_tree(HOSPITALS)
    for name, hospital in federation.hospitals.items():
        entry = hospital.entry(job)
        assert entry is not None
        assert entry.status is JobStatus.COMPLETE, f"{name}: {entry.reason}"
        model = hospital.model(job)
        assert model.tree_sha256 == expected.sha256
        if model.tree is not None and mode != "id3":
            assert model.tree.to_json(with_counts=True) == expected.to_json(with_counts=True)
        check_agent(hospital.folder)
    check_cloud(url)
    check_together(url, {name: hospital.folder for name, hospital in federation.hospitals.items()}, job)


def tell(what: str, deaths: int, mortal: Mortal) -> None:
    cuts = statistics.quantiles(mortal.seconds, n=20) if len(mortal.seconds) > 1 else [0.0] * 19
    print(f"{what}: {deaths} deaths, to the next one {cuts[9]:.2f} s (p50), {cuts[18]:.2f} s (p95)")


def kill_cloud(folder: Path, url: str, mode: str, moment: Moment, every: int = 1) -> int:
    with local_federation(
        folder, HOSPITALS, url, start=False, port=free_port(), **KEYS.get(mode, {})
    ) as federation:
        for hospital in federation.hospitals.values():
            hospital.configure()
        job = start(federation, mode)
        with mortal_cloud(federation) as cloud:
            for hospital in federation.hospitals.values():
                hospital.start()
            database = federation.cloud.settings.database
            deaths = die_on(
                cloud, moment, lambda: is_over(federation, job), lambda: check_cloud(database), every=every
            )
            check(federation, job, mode)
        tell(f"cloud, {mode}, {moment}", deaths, cloud)
    return deaths


def kill_agent(folder: Path, mode: str, moment: Moment, every: int = 1) -> int:
    with local_federation(folder, HOSPITALS, start=False, **KEYS.get(mode, {})) as federation:
        job = start(federation, mode)
        victim, *others = federation.hospitals.values()
        for hospital in others:
            hospital.start()
        with mortal_agent(victim) as agent:
            deaths = die_on(
                agent,
                moment,
                lambda: is_over(federation, job),
                lambda: check_agent(victim.folder),
                every=every,
            )
            check(federation, job, mode)
        tell(f"agent, {mode}, {moment}", deaths, agent)
    return deaths


def test_the_cloud_dies_along_a_job(tmp_path: Path) -> None:
    assert kill_cloud(tmp_path, "", "ppsdt", "after", every=6) >= 4


def test_an_agent_dies_along_a_job(tmp_path: Path) -> None:
    assert kill_agent(tmp_path, "ppsdt", "before", every=6) >= 3


@pytest.mark.long
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("moment", ["before", "after"])
@pytest.mark.parametrize("mode", PLANS)
def test_the_cloud_dies_at_every_step(database_url: str, tmp_path: Path, mode: str, moment: Moment) -> None:
    assert kill_cloud(tmp_path / "federation", database_url, mode, moment) > 5


@pytest.mark.long
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("moment", ["before", "after"])
@pytest.mark.parametrize("mode", PLANS)
def test_an_agent_dies_at_every_step(tmp_path: Path, mode: str, moment: Moment) -> None:
    assert kill_agent(tmp_path, mode, moment) > 10
