"""A hospital leaves: one command removes it and makes a new key; what was done before stays readable."""

from __future__ import annotations

from pathlib import Path

import pytest

from hospital_agent.journal import JobStatus
from tests.support.clinic import SCHEMA
from tests.support.programs import RealFederation, command, found, real_federation
from tests.support.weighted_clinic import write_files

pytestmark = [pytest.mark.long, pytest.mark.timeout(600)]
STAY = ("h1", "h2", "h3")


def start(federation: RealFederation, names: tuple[str, ...]) -> str:
    """A job of these hospitals, over records that have grown by one since those before: by rule A4 no agent lets one
    and the same records be summed with two rosters that differ by one hospital."""
    records = federation.folder / f"records-{next(federation.numbers)}"
    records.mkdir()
    files = {}
    for name, path in write_files(records, tuple(federation.agents)).items():
        lines = path.read_text().splitlines()
        path.write_text(
            "\n".join([*lines, *lines[-1:] * len(list(federation.folder.glob("records-*")))]) + "\n"
        )
        files[name] = path
    return federation.start_job(SCHEMA, {name: files[name] for name in names}, start_agents=False)


def check_tree(federation: RealFederation, job: str, names: tuple[str, ...]) -> None:
    federation.wait_for(job, "attested", len(names))
    for name in names:
        federation.wait(lambda name=name: federation.entry(name, job).is_over, f"the end at {name}")  # type: ignore[misc]
        assert federation.entry(name, job).status is JobStatus.COMPLETE
        assert federation.model(name, job).tree.sha256


def test_one_leaves(tmp_path: Path) -> None:
    founded = found(tmp_path / "founded", (*STAY, "h4"))
    with real_federation(founded, tmp_path) as federation:
        records = federation.folder / "first"
        records.mkdir()
        federation.start_agents(write_files(records, tuple(federation.agents)))
        before = start(federation, (*STAY, "h4"))
        check_tree(federation, before, (*STAY, "h4"))
        running = start(federation, STAY)
        federation.wait_for(running, "roster", 1)  # who has not answered by then refuses the old key
        federation.agents["h3"].kill()  # so that the job waits, whatever its pace

        removed = command("authority", "remove", federation.folder / "authority", "h4", "--rotate")
        assert (removed["epoch"], set(removed["bundles"])) == (2, {*STAY, "cloud"})
        command("cloud", "join", federation.cloud_folder, "--bundle", removed["bundles"]["cloud"])
        for name in STAY:
            command("agent", "join", federation.folder / name, "--bundle", removed["bundles"][name])
        federation.agents["h3"].start()

        check_tree(federation, running, STAY)  # it began under the old key, and ends under it
        with federation.people() as people:
            assert people.get(f"/v1/jobs/{before}").json()["state"] == "DONE"
            assert people.get(f"/v1/jobs/{before}/result").status_code == 200
        trees = {federation.model(name, before).tree.sha256 for name in (*STAY, "h4")}
        assert len(trees) == 1, "old studies stay readable"
        for name in (*STAY, "h4"):
            with federation.journal(name) as journal:
                assert journal.audit_records()
        after = start(federation, STAY)
        check_tree(federation, after, STAY)
        keys = {str(row[0]) for row in federation.tables.rows("SELECT key_id FROM federation_documents")}
        assert len(keys) == 2
