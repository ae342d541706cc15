"""Both programs tell a supervisor how they are: systemd's protocol, over a real socket, by real processes."""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from machine import supervisor as told
from privet.__main__ import run
from tests.support.clinic import SCHEMA
from tests.support.programs import Founded, real_federation
from tests.support.weighted_clinic import write_files


class Listener:
    """What comes to the socket, read as it comes, as systemd does."""

    def __init__(self, path: Path) -> None:
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(str(path))
        self.lines: list[str] = []
        self.thread = threading.Thread(target=self._read, daemon=True)
        self.thread.start()

    def _read(self) -> None:
        with self.socket:
            while text := self.socket.recv(4096).decode():
                self.lines += text.splitlines()

    def until(self, *wanted: str) -> list[str]:
        """Every line that has come, once all these have; then begins anew."""
        end = time.monotonic() + 60
        while not set(wanted) <= set(self.lines):
            assert time.monotonic() < end, f"waited for {wanted}, and got {self.lines[-20:]}"
            time.sleep(0.02)
        found, self.lines = self.lines, []
        return found


@pytest.fixture
def supervisor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Listener]:
    listener = Listener(tmp_path / "notify")
    monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "notify"))
    yield listener
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as last:
        last.connect(str(tmp_path / "notify"))
        last.send(b"")
    listener.thread.join(10)


@pytest.mark.long
def test_real_programs(founded_federation: Founded, tmp_path: Path, supervisor: Listener) -> None:
    """The cloud is ready when it listens, an agent when it has taken up its jobs; both beat, and say that they stop."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WATCHDOG_USEC", "300000")
        with real_federation(founded_federation, tmp_path) as federation:
            lines = supervisor.until("READY=1", "WATCHDOG=1")
            assert (
                lines.index("READY=1")
                < lines.index(f"STATUS=serving on 127.0.0.1 port {federation.port}") + 1
            )
            assert run(["cloud", "health", str(federation.folder / "cloud")]) == 0
            records = federation.folder / "records"
            records.mkdir()
            files = write_files(records, ("h1", "h2", "h3"))
            federation.start_job(SCHEMA, files)
            supervisor.until("READY=1", f"STATUS=working with {federation.agent_url}/")
            assert run(["agent", "health", str(federation.folder / "h1")]) == 0
            federation.agents["h1"].stop()
            supervisor.until("STOPPING=1")
            assert run(["agent", "health", str(federation.folder / "h1")]) == 5
            federation.cloud.stop()
            supervisor.until("STOPPING=1")
            assert run(["cloud", "health", str(federation.folder / "cloud")]) == 5


def test_an_abstract_socket(monkeypatch: pytest.MonkeyPatch) -> None:
    name = f"privet-test-{os.getpid()}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listening:
        listening.bind(f"\0{name}")
        monkeypatch.setenv("NOTIFY_SOCKET", f"@{name}")
        told.notify("READY=1", "STATUS=x")
        assert listening.recv(100) == b"READY=1\nSTATUS=x"


def test_without_a_supervisor_nothing_happens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NOTIFY_SOCKET", raising=False)
    told.notify("READY=1")
    monkeypatch.setenv("NOTIFY_SOCKET", "/nowhere/at/all")
    told.notify("READY=1")


def test_a_heart_beats_no_more_often_than_it_must(
    monkeypatch: pytest.MonkeyPatch, supervisor: Listener
) -> None:
    monkeypatch.delenv("WATCHDOG_USEC", raising=False)
    told.Heartbeat().beat()
    monkeypatch.setenv("WATCHDOG_USEC", "30000000")
    now = [100.0]
    with pytest.MonkeyPatch.context() as clock:
        clock.setattr(told, "time", SimpleNamespace(monotonic=lambda: now[0]))
        heart = told.Heartbeat()
        for _ in range(3):
            heart.beat()
        now[0] += 10.0
        heart.beat()
    told.notify("STOPPING=1")
    assert supervisor.until("STOPPING=1") == ["WATCHDOG=1", "WATCHDOG=1", "STOPPING=1"]
