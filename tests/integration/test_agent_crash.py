"""An agent that dies, by `kill -9` in a real job and at each point where its step touches the outside."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from hospital_agent.cloud import CloudClient
from hospital_agent.journal import JobStatus, Journal
from tests.integration.test_agent_jobs import THREE, files, pooled_sha256
from tests.support.clinic import SCHEMA
from tests.support.federation import LocalFederation, local_federation


def contributions(federation: LocalFederation, name: str, job: str) -> dict[tuple[int, int], str]:
    """SHA-256 of the contributions in a hospital's journal, by round and attempt."""
    with Journal.open(federation.hospitals[name].folder) as journal:
        return {(m.round, m.attempt): m.sha256 for m in journal.sent(job) if m.type == "contribution"}


def start_process(folder: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "privet", "agent", "run", str(folder)],
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )


def test_a_killed_agent_goes_on_with_the_same_bytes(tmp_path: Path) -> None:
    with local_federation(tmp_path / "federation", THREE, bits=2048, start=False) as federation:
        victim = federation.hospitals["h3"]
        for name in ("h1", "h2"):
            federation.hospitals[name].start()
        process = start_process(victim.folder)
        try:
            job = federation.start_job(SCHEMA, files(tmp_path))
            federation.until(lambda: bool(contributions(federation, "h3", job)))
            os.kill(process.pid, signal.SIGKILL)
            process.communicate()
            before = contributions(federation, "h3", job)
            process = start_process(victim.folder)
            entries = federation.wait(job, THREE)
        finally:
            process.send_signal(signal.SIGTERM)
            _, told = process.communicate(timeout=30)
        assert {entry.status for entry in entries.values()} == {JobStatus.COMPLETE}, told.decode()
        assert process.returncode == 0, told.decode()
        after = contributions(federation, "h3", job)
        assert {key: after[key] for key in before} == before
        assert {federation.hospitals[name].model(job).tree.sha256 for name in THREE} == {pooled_sha256()}


class Crash(BaseException):
    """The process is gone: nothing on the way may catch it."""


@pytest.fixture(scope="module")
def federation(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalFederation]:
    with local_federation(tmp_path_factory.mktemp("crashes"), THREE) as running:
        yield running


def crash_once(
    monkeypatch: pytest.MonkeyPatch, owner: type, name: str, *, at: int, before: bool
) -> threading.Event:
    """The `at`-th call by the hospital h3 dies, before or after it had its effect."""
    real: Callable[..., Any] = getattr(owner, name)
    calls, done = [0], threading.Event()

    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        mine = threading.current_thread().name == "h3"
        calls[0] += mine
        now = mine and calls[0] == at
        if now and before:
            done.set()
            raise Crash
        outcome = real(self, *args, **kwargs)
        if now:
            done.set()
            raise Crash
        return outcome

    monkeypatch.setattr(owner, name, call)
    return done


@pytest.mark.parametrize("before", [True, False], ids=["before", "after"])
@pytest.mark.parametrize(
    ("owner", "name", "at"),
    [
        *((CloudClient, "post_message", at) for at in (1, 2, 3, 4)),
        *((Journal, "queue", at) for at in (1, 2, 3)),
        *((Journal, "acknowledge", at) for at in (1, 2)),
        (Journal, "erase_job", 1),
        (Journal, "empty_log", 1),
    ],
)
def test_an_agent_that_dies_anywhere_ends_with_the_same_tree(
    federation: LocalFederation,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    owner: type,
    name: str,
    at: int,
    before: bool,
) -> None:
    victim = federation.hospitals["h3"]
    crashed = crash_once(monkeypatch, owner, name, at=at, before=before)
    job = federation.start_job(SCHEMA, files(tmp_path))
    federation.until(crashed.is_set)
    federation.until(lambda: isinstance(victim.failure, Crash))
    monkeypatch.undo()
    sent = contributions(federation, "h3", job)
    victim.failure = None
    victim.start()
    entries = federation.wait(job, THREE)
    assert {entry.status for entry in entries.values()} == {JobStatus.COMPLETE}
    assert {federation.hospitals[h].model(job).tree.sha256 for h in THREE} == {pooled_sha256()}
    again = contributions(federation, "h3", job)
    assert {key: again[key] for key in sent} == sent
    assert sorted(again) == [(number, 0) for number in range(len(again))]
