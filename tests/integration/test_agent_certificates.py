"""Certificates that end, seen by agents; and one that the operators' own commands renew in the middle of a job."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from hospital_agent.commands.jobs import status_document
from hospital_agent.daemon.loop import Daemon
from hospital_agent.daemon.progress import Progress
from hospital_agent.journal import JobStatus
from hospital_agent.keyring import Keyring
from shared.errors import InputError
from tests.integration.test_agent_jobs import THREE, answers, files
from tests.support.clinic import SCHEMA
from tests.support.federation import FixedKeyring, Hospital, local_federation
from tests.support.programs import Founded, RealFederation, command, real_federation
from tests.support.weighted_clinic import pooled_tree, write_files
from tests.support.world import VALIDITY

END = VALIDITY.not_after
LATE = (END + timedelta(days=1)).timestamp()
SOON = (END - timedelta(days=29)).timestamp()


def opened(hospital: Hospital, now: float) -> Daemon:
    """A daemon that is not run yet, and that believes that it is another time."""
    progress = Progress(hospital.id, stream=hospital.output, terminal=True)
    daemon = Daemon.assemble(hospital.folder, FixedKeyring.open(hospital.folder), progress=progress)
    daemon.office.clock = lambda: now
    daemon.stop.set()
    return daemon


def registered(federation: RealFederation) -> str:
    """The certificate of h1 that the cloud knows."""
    with federation.people() as people:
        listed = {h["id"]: h for h in people.get("/v1/hospitals").json()["hospitals"]}
    return str(listed["h1"]["certificate_sha256"]) if listed["h1"]["is_member"] else ""


def test_an_agent_does_not_start_after_its_certificate(tmp_path: Path) -> None:
    with local_federation(tmp_path, THREE, start=False) as federation:
        hospital = federation.hospitals["h1"]
        remedy = r"h1 expired on 2040-01-01.*privet authority certify DIR h1\.csr.*privet agent join"
        with pytest.raises(InputError, match=remedy):
            opened(hospital, LATE).run()
        opened(hospital, SOON).run()


def test_status_says_thirty_days_ahead(tmp_path: Path) -> None:
    with local_federation(tmp_path, THREE, start=False) as federation:
        folder = federation.hospitals["h1"].folder
        early = (END - timedelta(days=31)).timestamp()
        assert status_document(folder, lambda: early)["certificate_notice"] is None
        soon = status_document(folder, lambda: SOON)
        assert "h1 ends on 2040-01-01" in soon["certificate_notice"]
        assert soon["certificate_until"] == int(END.timestamp())
        assert "h1 expired on 2040-01-01" in status_document(folder, lambda: LATE)["certificate_notice"]


def test_a_running_agent_tells_once_that_the_end_is_near(tmp_path: Path) -> None:
    with local_federation(tmp_path, THREE) as federation:
        hospital = federation.hospitals["h1"]
        federation.until(lambda: "works with" in hospital.output.getvalue())
        daemon = hospital.daemon
        assert daemon is not None
        daemon.office.clock = lambda: SOON
        for _ in range(2):
            daemon._refreshed = float("-inf")
            federation.until(lambda: daemon._refreshed > 0)
        assert hospital.output.getvalue().count("h1 ends on 2040-01-01") == 1


def test_an_offer_is_declined_after_the_end(tmp_path: Path) -> None:
    with local_federation(tmp_path / "federation", THREE) as federation:
        daemon = federation.hospitals["h1"].daemon
        assert daemon is not None
        daemon.office.clock = lambda: LATE
        federation.start_job(SCHEMA, files(tmp_path))
        told = federation.hospitals["h1"].output
        federation.until(lambda: "the certificate of cloud expired on 2040-01-01" in told.getvalue())


def test_a_roster_with_an_expired_certificate_is_refused_and_a_started_job_goes_on(tmp_path: Path) -> None:
    with local_federation(tmp_path / "federation", THREE, start=False) as federation:
        first, second, third = (federation.hospitals[name] for name in THREE)
        first.start()
        second.start()
        job = federation.start_job(SCHEMA, files(tmp_path))
        federation.until(lambda: list(answers(federation, job).values()).count("accepted") == 2)
        opening = first.daemon
        assert opening is not None
        opening.office.clock = lambda: LATE
        third.start()
        federation.until(lambda: "refused: the certificate of h1 expired" in first.output.getvalue())
        first.stop()
        entry = first.entry(job)
        assert entry is not None
        assert entry.status is JobStatus.ACTIVE
        opened(first, LATE).run()  # with a job to finish it starts


@pytest.mark.long
def test_a_certificate_renewed_in_the_middle_of_a_job(founded_federation: Founded, tmp_path: Path) -> None:
    records = tmp_path / "records"
    records.mkdir()
    with real_federation(founded_federation, tmp_path) as federation:
        folder, authority = federation.folder, federation.folder / "authority"
        federation.start_agents(write_files(records, THREE))
        with federation.agents["h2"].frozen():
            job = federation.start_job(SCHEMA, write_files(records, THREE), start_agents=False)
            federation.wait_for(job, "accepted", 2)
        federation.wait_for(job, "roster")
        before = Keyring.open(folder / "h1").certificate
        with federation.agents["h2"].frozen():
            renewed = command("authority", "certify", authority, folder / "h1" / "h1.csr", "--yes")
            command("cloud", "join", folder / "cloud", "--bundle", renewed["bundles"]["cloud"])
            federation.agents["h3"].kill()
            federation.agents[
                "h3"
            ].start()  # meets the cloud with the newer list, h1 still with its old bundle
            command("agent", "join", folder / "h1", "--bundle", renewed["bundles"]["h1"])
        federation.wait_until_done(job)
        expected = pooled_tree(THREE).sha256
        assert {federation.model(name, job).tree.sha256 for name in THREE} == {expected}
        after = Keyring.open(folder / "h1").certificate
        assert before is not None
        assert after is not None
        assert before.subject == after.subject
        assert before.sha256 != after.sha256
        federation.wait(lambda: registered(federation) == after.sha256, "the renewed certificate")
        again = federation.start_job(SCHEMA, write_files(records, THREE))
        federation.wait_until_done(again)
