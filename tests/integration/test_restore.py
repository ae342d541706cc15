"""Backup and restore of a cloud whose jobs go on meanwhile, with real programs on both databases.

The cloud that was put back has forgotten what agents saw. Whether it was put back by the command or behind its back,
no job goes on from there, no round has a second sum, and what begins afterwards works.
"""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from hospital_agent.journal import JobStatus
from privet.__main__ import run
from tests.support.clinic import SCHEMA
from tests.support.databases import postgres_database
from tests.support.programs import Founded, RealFederation, command, real_federation
from tests.support.weighted_clinic import pooled_tree, write_files

pytestmark = [pytest.mark.xdist_group("restore"), pytest.mark.timeout(900)]


@contextmanager
def on(kind: str, founded: Founded, folder: Path, server: str) -> Iterator[RealFederation]:
    if kind == "sqlite":
        with real_federation(founded, folder) as federation:
            yield federation
        return
    with postgres_database(server) as url, real_federation(founded, folder, url) as federation:
        yield federation


def start(federation: RealFederation) -> str:
    folder = federation.folder / "records"
    folder.mkdir(exist_ok=True)
    return federation.start_job(SCHEMA, write_files(folder, tuple(federation.agents)))


def check_lost(federation: RealFederation, job: str) -> None:
    """Ended closed at the cloud and at every hospital, and one sum of each round at most was ever sent."""
    for name in federation.agents:
        federation.wait(lambda name=name: federation.entry(name, job).is_over, f"the end at {name}")  # type: ignore[misc]
        entry = federation.entry(name, job)
        assert (entry.status, entry.code) == (JobStatus.FAILED, "history_lost"), name
    state, failure = federation.tables.rows("SELECT state, failure FROM jobs WHERE id = :job", job=job)[0]
    assert (state, failure) == ("FAILED", "history_lost")
    assert federation.tables.rows("SELECT count(*) FROM contributions WHERE job = :job", job=job)[0][0] == 0


def check_sums(federation: RealFederation, job: str) -> None:
    sums = federation.tables.rows("SELECT raw FROM outbox WHERE job = :job AND type = 'aggregate'", job=job)
    rounds = Counter(json.loads(bytes(row[0]))["envelope"]["round"] for row in sums)
    assert max(rounds.values(), default=1) == 1


def check_works(federation: RealFederation) -> None:
    job = start(federation)
    federation.wait_until_done(job)
    expected = pooled_tree(tuple(federation.agents))
    for name in federation.agents:
        assert federation.model(name, job).tree.sha256 == expected.sha256


def has_decided(federation: RealFederation, job: str) -> bool:
    """Whether h1 holds the receipt of its decision, which comes after acceptance and contribution."""
    with federation.journal("h1") as journal:
        return journal.answered().get(job, 0) >= 3


def check_told(federation: RealFederation, job: str) -> None:
    """The operator finds it in the log of acts."""
    rows = federation.tables.rows("SELECT record FROM acts ORDER BY number")
    acts = [json.loads(bytes(row[0])) for row in rows]
    assert "history_lost" in {act["act"] for act in acts if act["subject"] == job}


@pytest.mark.long
@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
@pytest.mark.usefixtures("postgres_programs")
def test_drill(kind: str, founded_federation: Founded, tmp_path: Path, postgres_server: str) -> None:
    with on(kind, founded_federation, tmp_path, postgres_server) as federation:
        job = start(federation)
        federation.wait_for(job, "contributed", 1)
        backup = tmp_path / "cloud.backup"
        written = command("cloud", "backup", federation.cloud_folder, "--out", backup)
        assert written["running"] == [job]
        assert backup.stat().st_mode & 0o077 == 0
        federation.wait_for(job, "aggregate", 1)
        federation.cloud.kill()
        restore = ["cloud", "restore", str(federation.cloud_folder), "--from", str(backup)]
        assert run(restore) != 0, "a database is there already"
        restored = command("cloud", "restore", federation.cloud_folder, "--from", backup, "--replace")
        assert restored["ended"] == [job]
        assert Path(restored["kept"]).is_file()
        federation.cloud.start()
        federation.wait_for_cloud()
        check_lost(federation, job)
        check_sums(federation, job)
        check_works(federation)
        assert run([*restore, "--replace"]) != 0, "a cloud is using it"


@pytest.mark.long
def test_put_back_behind_its_back(founded_federation: Founded, tmp_path: Path) -> None:
    with real_federation(founded_federation, tmp_path) as federation:
        database = federation.cloud_folder / "cloud.db"
        job = start(federation)
        federation.wait_for(job, "contributed", 3)
        federation.cloud.kill()
        snapshot = tmp_path / "snapshot.db"
        with sqlite3.connect(database) as source, sqlite3.connect(snapshot) as copy:
            source.backup(copy)
        source.close()
        copy.close()
        federation.agents["h3"].kill()  # so that the job waits for its decision, whatever the others' pace
        federation.cloud.start()
        federation.wait(lambda: has_decided(federation, job), "a decision that the cloud has answered")
        federation.cloud.kill()
        for path in federation.cloud_folder.glob("cloud.db*"):
            path.unlink()
        shutil.copyfile(snapshot, database)
        federation.cloud.start()
        federation.wait_for_cloud()
        federation.agents["h3"].start()
        check_lost(federation, job)
        check_sums(federation, job)
        kept = federation.tables.rows("SELECT type FROM evidence WHERE job = :job", job=job)
        assert "seen" in {row[0] for row in kept}
        check_told(federation, job)
        check_works(federation)


@pytest.mark.long
def test_an_agents_folder_put_back(founded_federation: Founded, tmp_path: Path) -> None:
    with real_federation(founded_federation, tmp_path) as federation:
        folder, kept = federation.folder / "h1", tmp_path / "kept"
        job = start(federation)
        federation.wait_for(job, "roster", 1)
        federation.agents["h1"].kill()
        shutil.copytree(folder, kept)
        federation.agents["h1"].start()
        federation.wait_for(job, "decided", 1)
        federation.agents["h1"].kill()
        shutil.rmtree(folder)
        shutil.copytree(kept, folder)
        federation.agents["h1"].start()
        federation.wait(lambda: federation.entry("h1", job).is_over, "the end at h1")
        entry = federation.entry("h1", job)
        # Its new contribution is refused, or the sum that waits in its inbox lists the one it has forgotten.
        assert entry.status is JobStatus.FAILED
        assert entry.code in ("history_lost", "roster_digits")
        for name in ("h2", "h3"):
            federation.wait(lambda name=name: federation.entry(name, job).is_over, f"the end at {name}")  # type: ignore[misc]
            assert federation.entry(name, job).code == entry.code
