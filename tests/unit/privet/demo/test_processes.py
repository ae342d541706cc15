"""The demo's processes: real commands, and none of them left behind, whatever happens."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from privet.demo.processes import Processes, ending_signals, failure_of, stop_all
from shared.errors import (
    ErrorCode,
    InputError,
    InternalError,
    JobCode,
    JobFailure,
    PeerError,
    PrivetError,
    TemporaryError,
)

PATIENCE_SECONDS = 20
POPEN = subprocess.Popen
STUBBORN = (
    "import signal, subprocess, sys, time\n"
    "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
    "kid = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])\n"
    "print(kid.pid, flush=True)\n"
    "time.sleep(60)\n"
)
PARENT = (
    "import os, subprocess, sys, time\n"
    "kid = subprocess.Popen([sys.executable, '-I', '-S', sys.argv[1], str(os.getpid()), sys.executable, '-c',"
    " 'import time; print(1, flush=True); time.sleep(60)'], stdout=subprocess.PIPE, start_new_session=True)\n"
    "kid.stdout.readline()\n"
    "print(kid.pid, flush=True)\n"
    "time.sleep(60)\n"
)


def wait_gone(pid: int) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE:
        assert time.monotonic() < deadline, "a process is left running"
        time.sleep(0.02)


def test_a_command_returns_its_document(tmp_path: Path) -> None:
    with Processes(tmp_path / "logs") as processes:
        found = processes.call(
            "found", "authority", "init", str(tmp_path / "ta"), "--name", "T", "--key-bits", "2048"
        )
        assert found["key_bits"] == 2048
        shown = processes.call_all(
            {name: ["authority", "show", str(tmp_path / "ta")] for name in ("one", "two")}
        )
    assert shown["one"]["key_id"] == shown["two"]["key_id"] == found["key_id"]


def test_a_command_that_fails_raises_its_own_error(tmp_path: Path) -> None:
    with (
        Processes(tmp_path / "logs") as processes,
        pytest.raises(InputError, match="no federation in this folder"),
    ):
        processes.call("show", "authority", "show", str(tmp_path / "nothing"))


def test_a_program_that_ends_early_is_noticed(tmp_path: Path) -> None:
    with Processes(tmp_path / "logs") as processes:
        child = processes.serve("show", ["authority", "show", str(tmp_path / "nothing")])
        os.waitid(os.P_PID, child.process.pid, os.WEXITED | os.WNOWAIT)
        with pytest.raises(InputError, match="no federation in this folder"):
            processes.check()


def test_an_interruption_while_a_program_starts_finds_it_in_the_list(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[subprocess.Popen[bytes]] = []

    def interrupted(*arguments: object, **options: object) -> subprocess.Popen[bytes]:
        started.append(POPEN(*arguments, **options))  # type: ignore[call-overload]
        os.kill(os.getpid(), signal.SIGTERM)
        return started[0]

    monkeypatch.setattr(subprocess, "Popen", interrupted)
    with pytest.raises(SystemExit) as caught, ending_signals(), Processes(tmp_path / "logs") as processes:
        processes.serve("show", ["authority", "show", str(tmp_path)])
    assert caught.value.code == 128 + signal.SIGTERM
    assert started[0].returncode is not None


def test_stopping_takes_the_whole_group(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("privet.demo.processes._GRACE_SECONDS", 0.2)
    stubborn = subprocess.Popen(
        [sys.executable, "-c", STUBBORN], stdout=subprocess.PIPE, start_new_session=True
    )
    assert stubborn.stdout is not None
    kid = int(stubborn.stdout.readline())
    stop_all([stubborn])
    assert stubborn.returncode == -signal.SIGKILL
    wait_gone(kid)


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel's word about a dead parent is Linux'")
def test_a_killed_demo_takes_its_programs_along() -> None:
    leash = Path(sys.modules["privet.demo.processes"].__file__ or "").with_name("leash.py")
    parent = subprocess.Popen(
        [
            sys.executable,
            "-c",
            PARENT,
            str(leash),
        ],
        stdout=subprocess.PIPE,
    )
    with parent:
        assert parent.stdout is not None
        kid = int(parent.stdout.readline())
        assert psutil.pid_exists(kid)
        parent.kill()
    wait_gone(kid)


@pytest.mark.parametrize(
    ("status", "code", "kind"),
    [
        (1, "", InternalError),
        (3, "", InputError),
        (4, ErrorCode.MALFORMED, PeerError),
        (4, "unheard-of", InternalError),
        (5, "", TemporaryError),
        (6, JobCode.DIVERGED, JobFailure),
        (-9, "", InternalError),
    ],
)
def test_exit_codes_become_the_errors_they_stand_for(status: int, code: str, kind: type[PrivetError]) -> None:
    assert type(failure_of("privet agent join", status, "why", code)) is kind
