"""The difference rule where only the roster breaks it: the list of the invited looks harmless (rule A4)."""

from __future__ import annotations

from pathlib import Path

import pytest

from hospital_agent.daemon.loop import Daemon
from hospital_agent.journal import JobStatus
from privet.__main__ import run
from shared.errors import PeerError
from shared.protocol.envelopes import unseal
from shared.protocol.joining import MAX_OFFER_BYTES
from tests.integration.test_agent_jobs import THREE, files
from tests.support.clinic import SCHEMA
from tests.support.federation import OPEN_POLICY, FixedKeyring, local_federation

FIVE = ("h1", "h2", "h3", "h4", "h5")


def test_a_roster_that_a_refusal_made_too_like_an_earlier_one_is_left(tmp_path: Path) -> None:
    with local_federation(tmp_path / "federation", FIVE) as federation:
        made = files(tmp_path, *FIVE)
        first = federation.run_job(SCHEMA, {name: made[name] for name in THREE})
        assert first.statuses == {JobStatus.COMPLETE}
        federation.hospitals["h5"].allow(f'{OPEN_POLICY}studies = ["another"]')
        second = federation.run_job(SCHEMA, made)
        assert second.entries["h5"].status is JobStatus.DECLINED
        assert {second.entries[name].status for name in FIVE[:4]} == {JobStatus.FAILED}
        reasons = [str(second.entries[name].reason) for name in THREE]
        assert any("same hospitals but for h4" in reason for reason in reasons)
        assert not any("contribution" in second.entries[name].tally.sent for name in THREE)


def test_trees_of_secret_jobs_differ_by_one_hospital_for_nobody(tmp_path: Path) -> None:
    four = FIVE[:4]
    secret = {"compute_parties": list(THREE)}
    with local_federation(tmp_path / "federation", four) as federation:
        made = files(tmp_path, *four)
        three = {name: made[name] for name in THREE}
        kept = federation.run_job(SCHEMA, made, mode="id3", secret=secret)
        assert kept.statuses == {JobStatus.COMPLETE}
        again = federation.run_job(SCHEMA, made, mode="id3", secret=secret)
        assert again.statuses == {JobStatus.COMPLETE}
        for mode in ("id3", "ppsdt"):
            less = federation.run_job(
                SCHEMA, three, mode=mode, **({"secret": secret} if mode == "id3" else {})
            )
            assert less.statuses == {JobStatus.DECLINED}
            assert all("same hospitals but for h4" in str(entry.reason) for entry in less.entries.values())


def test_an_offer_of_a_forgotten_job_is_not_taken_again(tmp_path: Path) -> None:
    """Its rosters and its noise are booked under its id: begun again, it would be held against neither."""
    with local_federation(tmp_path / "federation", THREE) as federation:
        done = federation.run_job(SCHEMA, files(tmp_path, *THREE))
        assert done.statuses == {JobStatus.COMPLETE}
        hospital, entry = federation.hospitals["h1"], done.entries["h1"]
        federation.until(lambda: not hospital.unanswered())
        hospital.stop()
        assert run(["agent", "forget", str(hospital.folder), entry.job[:8]]) == 0
        daemon = Daemon.assemble(hospital.folder, FixedKeyring.open(hospital.folder))
        try:
            offer = unseal(entry.offer, max_bytes=MAX_OFFER_BYTES)
            with pytest.raises(PeerError, match="ended here long ago"):
                daemon.desk.consider(offer, daemon.office.journal.cursor + 1)
            assert daemon.office.journal.job(entry.job) is None
            assert daemon.office.journal.pending() == []
        finally:
            daemon.close()
