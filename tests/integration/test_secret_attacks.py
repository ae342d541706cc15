"""Members that cheat in secret jobs of real agents, and records at their limits: how the job ends, and what is told."""

from __future__ import annotations

import socket
import ssl
import struct
import threading
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hospital_agent.computing import member
from hospital_agent.computing.assignment import Assignment
from hospital_agent.journal import JobStatus
from shared.protocol.participation import Participation
from shared.wire.base import encode_base64url
from tests.integration.test_agent_jobs import files
from tests.support import measured_clinic
from tests.support.clinic import SCHEMA
from tests.support.federation import JobOutcome, LocalFederation, local_federation

HOSPITALS = ("h1", "h2", "h3", "h4")
SECRET = {"compute_parties": ["h1", "h2", "h3"]}


@pytest.fixture(scope="module")
def federation(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalFederation]:
    with local_federation(tmp_path_factory.mktemp("federation"), HOSPITALS) as running:
        yield running


def id3(federation: LocalFederation, folder: Path) -> JobOutcome:
    return federation.run_job(SCHEMA, files(folder, *HOSPITALS), mode="id3", secret=SECRET)


def gain_ratio(
    federation: LocalFederation, folder: Path, records: list[measured_clinic.Record]
) -> JobOutcome:
    made = measured_clinic.files(folder / "measured", measured_clinic.dealt(records, HOSPITALS))
    return federation.run_job(measured_clinic.SCHEMA, made, mode="gain-ratio", max_depth=2, secret=SECRET)


def ended_with(federation: LocalFederation, outcome: JobOutcome, code: str) -> str:
    """The job ended so for everybody, and left nothing; what members told their own people."""
    assert outcome.statuses == {JobStatus.FAILED}
    assert {entry.code for entry in outcome.entries.values()} == {code}
    assert federation.cloud.people.get(f"/v1/jobs/{outcome.job}").json()["failure"] == code
    for name in HOSPITALS:
        folder = federation.hospitals[name].folder
        for kept in ("computing", "models", "snapshots", "predictions"):
            assert not list((folder / kept).glob(f"*{outcome.job}*"))
    return " ".join(str(entry.reason) for entry in outcome.entries.values())


def test_a_cloud_that_tells_members_different_rosters_gets_no_record(
    federation: LocalFederation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """h4 is told another roster than the others: nobody else could notice it in time."""
    honest = Assignment.of.__func__  # type: ignore[attr-defined]

    def of(cls: type[Assignment], participation: Participation) -> Assignment:
        task: Assignment = honest(cls, participation)
        if task.own != "h4":
            return task
        *others, own = task.members
        return replace(task, members=(*others, replace(own, records=1)))

    sent: list[str] = []
    honest_deal = member.deal
    monkeypatch.setattr(member, "deal", lambda *given: sent.append("records") or honest_deal(*given))
    monkeypatch.setattr(Assignment, "of", classmethod(of))
    outcome = id3(federation, tmp_path)
    assert "another roster" in ended_with(federation, outcome, "diverged")
    assert sent == []


@pytest.mark.parametrize("party", [0, 1, 2])
def test_a_contributor_that_sends_two_holders_different_words_is_named(
    federation: LocalFederation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, party: int
) -> None:
    honest = member.Routine._share

    def share(routine: Any, mesh: Any) -> Any:
        if routine.assignment.own != "h4":
            return honest(routine, mesh)
        messages = member.deal(routine.mode.layout, routine.blocks, routine.assignment.input_seeds)
        spoiled = [[words.copy() for words in message] for message in messages]
        spoiled[party][-1].reshape(-1)[0] ^= 1
        mesh.exchange(list(zip(routine.assignment.compute_parties, spoiled, strict=True)), [])
        return None

    monkeypatch.setattr(member.Routine, "_share", share)
    told = ended_with(federation, id3(federation, tmp_path), "share_inconsistent")
    assert "h4 has sent two compute parties different words" in told


def test_words_that_are_no_records_do_not_end_a_job_of_mode_gain_ratio(
    federation: LocalFederation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor does any position that is opened depend on others' classes: see `shared.secure_tree.gain_ratio.one_class`."""
    honest = member.deal
    random = np.random.default_rng(5)

    def deal(layout: Any, blocks: Any, seeds: Any) -> Any:
        junk = [random.integers(0, 2**8, block.shape).astype(block.dtype) for block in blocks]
        return honest(layout, junk if len(blocks[0]) == 9 else blocks, seeds)

    monkeypatch.setattr(member, "deal", deal)
    outcome = gain_ratio(federation, tmp_path, measured_clinic.records(39))
    assert outcome.statuses == {JobStatus.COMPLETE}
    assert len({model.tree_sha256 for model in outcome.models.values()}) == 1


def test_one_record_of_each_hospital_makes_a_tree(federation: LocalFederation, tmp_path: Path) -> None:
    records = measured_clinic.records(4)
    outcome = gain_ratio(federation, tmp_path, records)
    assert outcome.statuses == {JobStatus.COMPLETE}
    assert {model.tree_sha256 for model in outcome.models.values()} == {
        measured_clinic.pooled_tree(records, height=2).sha256
    }


@pytest.mark.parametrize("count", [0, 3])
def test_a_hospital_without_a_record_declines(
    federation: LocalFederation, tmp_path: Path, count: int
) -> None:
    """So no job computes on the records of fewer hospitals than its roster names."""
    outcome = gain_ratio(federation, tmp_path, measured_clinic.records(count))
    assert outcome.entries["h4"].status is JobStatus.DECLINED
    assert outcome.entries["h4"].code == "data"


class Strangers:
    """Somebody on the network who knocks at a port in every way, again and again."""

    def __init__(self, port: int) -> None:
        self.port, self.knocks, self.stop = port, 0, threading.Event()
        self._open: list[socket.socket] = []
        self._thread = threading.Thread(target=self._knock)

    def __enter__(self) -> Strangers:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop.set()
        self._thread.join()
        for each in self._open:
            each.close()

    def _knock(self) -> None:
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        while not self.stop.wait(0.01):
            with suppress(OSError):
                self._knock_once(context)

    def _knock_once(self, context: ssl.SSLContext) -> None:
        raw = socket.create_connection(("127.0.0.1", self.port), 1)
        self._open.append(raw)
        self.knocks += 1
        way = self.knocks % 4
        if way == 2:
            raw.sendall(b"GET / HTTP/1.1\r\n\r\n")
        if way >= 2:
            return  # or says nothing at all
        tls = context.wrap_socket(raw, do_handshake_on_connect=False)
        self._open[-1] = tls
        tls.do_handshake()
        tls.sendall(struct.pack(">I", 2**32 - 1 if way else 40) + b"PF1c" + bytes(20))


def test_strangers_at_the_direct_port_cost_no_job(federation: LocalFederation, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    for name in HOSPITALS[:3]:
        federation.hospitals[name].compute = {"listen": f"127.0.0.1:{port if name == 'h1' else 0}"}
    try:
        with Strangers(port) as strangers:
            outcome = gain_ratio(federation, tmp_path, measured_clinic.records(400))
    finally:
        for name in HOSPITALS[:3]:
            federation.hospitals[name].compute = {}
    assert strangers.knocks > 0
    assert outcome.statuses == {JobStatus.COMPLETE}


def test_two_jobs_at_once_do_not_mix(federation: LocalFederation, tmp_path: Path) -> None:
    made = files(tmp_path, *HOSPITALS)
    jobs = [
        federation.start_job(SCHEMA, made, mode="id3", secret={"compute_parties": parties})
        for parties in (["h1", "h2", "h3"], ["h4", "h2", "h1"])
    ]
    for job in jobs:
        assert {entry.status for entry in federation.wait(job, HOSPITALS).values()} == {JobStatus.COMPLETE}
    trees = {federation.hospitals[name].model(job).tree_sha256 for name in HOSPITALS for job in jobs}
    assert len(trees) == 1


def found_in(folder: Path, secret: bytes) -> set[str]:
    """Names of the files of a folder in which a key stands, raw or as text."""
    forms = (secret, secret.hex().encode(), encode_base64url(secret).encode())
    files_there = [path for path in folder.rglob("*") if path.is_file()]
    return {path.name for path in files_there if any(form in path.read_bytes() for form in forms)}


def test_the_jobs_keys_are_in_no_file_once_it_is_over(
    federation: LocalFederation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The key from which shares, streams, frames and certificate follow; while the job runs, the journal has it."""
    honest = member.Routine.run
    keys: dict[str, list[bytes]] = {}
    before: dict[str, set[str]] = {}

    def run(routine: Any, mesh: Any) -> Any:
        task: Assignment = routine.assignment
        folder = federation.hospitals[task.own].folder
        keys[task.own] = [task.private, *task.input_seeds]
        before[task.own] = found_in(folder, task.private)
        modes = {path.name: path.stat().st_mode & 0o077 for path in (folder / "computing").iterdir()}
        assert set(modes.values()) <= {0}, modes
        return honest(routine, mesh)

    monkeypatch.setattr(member.Routine, "run", run)
    outcome = gain_ratio(federation, tmp_path, measured_clinic.records(40))
    assert outcome.statuses == {JobStatus.COMPLETE}
    assert all(name.startswith("journal") for names in before.values() for name in names)
    assert all(before.values()), "the scanner finds nothing"
    for name, secrets in keys.items():
        for secret in secrets:
            assert found_in(federation.hospitals[name].folder, secret) == set()
