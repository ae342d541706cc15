"""The folder of an agent in the middle of a job: what somebody who copies its disk finds, encrypted and not."""

from __future__ import annotations

import os
import shutil
import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hospital_agent.daemon.casework import Casework
from hospital_agent.journal import JobStatus, Journal
from hospital_agent.keyring import Keyring
from hospital_agent.protection import KEY_FILE
from privet.__main__ import run
from tests.integration.test_agent_jobs import THREE, files, pooled_sha256
from tests.support.clinic import SCHEMA
from tests.support.federation import LocalFederation, local_federation, write_file


@pytest.fixture
def federation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[LocalFederation]:
    """Of three hospitals h3 is encrypted."""
    key = tmp_path / "key"
    write_file(key, os.urandom(32).hex().encode())
    with local_federation(tmp_path / "federation", THREE, start=False) as running:
        assert run(["agent", "protect", str(running.hospitals["h3"].folder), "--key-file", str(key)]) == 0
        monkeypatch.setenv(KEY_FILE, str(key))
        yield running


def secrets_of(folder: Path, job: str) -> dict[str, bytes]:
    """By name what must not be found, as it would be written."""
    ring = Keyring.open(folder)
    with Journal.open(folder) as journal:
        entry = journal.job(job)
        waiting = journal.pending()
    assert entry is not None
    assert entry.participation is not None
    (snapshot,) = (folder / "snapshots").glob("*.codes")
    assert snapshot.stat().st_size > 200
    root = entry.participation["growth"]["history"][0][0]
    found = {
        "identity": ring.identity.to_pem().splitlines()[1],
        "sealing key": ring.sealing_private.hex().encode(),
        "ephemeral key": entry.participation["ephemeral_private"].encode(),
        "sums": f'"rows": {root["rows"]}'.encode(),
        "records": bytes(ring_column(folder, snapshot)),
    }
    found |= {"message": waiting[0].raw[:200]} if waiting and waiting[0].raw else {}
    return found


def ring_column(folder: Path, snapshot: Path) -> bytes:
    """The codes of the frozen records' classes, the last column of the file."""
    from hospital_agent.protection import Protection

    return Protection.of(folder).open_large(snapshot.read_bytes(), snapshot.name)[-40:]


def everything_in(folder: Path) -> bytes:
    return b"\0".join(path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file())


def test_a_copied_disk_shows_nothing_of_an_encrypted_agent(
    federation: LocalFederation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Positive control: the same search finds every secret in the copy of h1, which is not encrypted."""
    real = Casework._go_on
    copies: dict[str, Path] = {}

    def go_on(self: Casework, case: Any, outcome: Any, sealed: Any, inbox_id: int) -> None:
        real(self, case, outcome, sealed, inbox_id)
        name = threading.current_thread().name
        if name in ("h1", "h3") and name not in copies and sealed.envelope.type == "aggregate":
            copies[name] = tmp_path / f"copy-{name}"
            shutil.copytree(self.office.folder, copies[name])

    monkeypatch.setattr(Casework, "_go_on", go_on)
    for hospital in federation.hospitals.values():
        hospital.start()
    outcome = federation.run_job(SCHEMA, files(tmp_path))
    assert outcome.statuses == {JobStatus.COMPLETE}
    assert {model.tree.sha256 for model in outcome.models.values()} == {pooled_sha256()}
    assert set(copies) == {"h1", "h3"}
    for name, copy in copies.items():
        secrets, disk = secrets_of(copy, outcome.job), everything_in(copy)
        assert {"identity", "sealing key", "ephemeral key", "sums", "records", "message"} <= set(secrets)
        found = {secret for secret, content in secrets.items() if content in disk}
        assert found == (set(secrets) if name == "h1" else set())


def test_an_encrypted_agent_goes_on_after_a_restart(
    federation: LocalFederation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Cut off in the middle, protected by another key meanwhile, opened again after it."""
    victim = federation.hospitals["h3"]
    for name in THREE[:2]:
        federation.hospitals[name].start()
    victim.start()
    job = federation.start_job(SCHEMA, files(tmp_path))
    federation.until(lambda: (entry := victim.entry(job)) is not None and entry.round >= 1)
    victim.stop()
    entry = victim.entry(job)
    assert entry is not None
    other = tmp_path / "other"
    write_file(other, os.urandom(32))
    if not entry.is_over:
        connection = sqlite3.connect(victim.folder / "journal.sqlite3")
        (kept,) = connection.execute("SELECT participation FROM jobs WHERE job = ?", (job,)).fetchone()
        connection.close()
        assert kept.startswith("encrypted ")
    assert run(["agent", "protect", str(victim.folder), "--key-file", str(other)]) == 0
    monkeypatch.setenv(KEY_FILE, str(other))
    victim.start()
    assert {entry.status for entry in federation.wait(job, THREE).values()} == {JobStatus.COMPLETE}
    victim.stop()
    assert run(["agent", "protect", str(victim.folder), "--remove"]) == 0
    monkeypatch.delenv(KEY_FILE)
    assert victim.model(job).tree.sha256 == pooled_sha256()
