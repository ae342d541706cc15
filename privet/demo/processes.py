"""The demo's processes: every one is a real `privet` command in a process group of its own, and none outlives the demo.

A group is always signalled before its leader is reaped, so that its number cannot belong to anyone else by then.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any, Final, NoReturn

import privet
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

_LEASH: Final = Path(__file__).with_name("leash.py")
_GRACE_SECONDS: Final = 5.0
_POLL_SECONDS: Final = 0.02
_LOG_LINES: Final = 5
_ENDINGS: Final = (signal.SIGTERM, signal.SIGHUP)
_INTERRUPTIONS: Final = (signal.SIGINT, *_ENDINGS)


@dataclass(frozen=True, slots=True)
class Child:
    """One running command; `log` is the file that takes its standard error."""

    command: str
    log: Path
    process: subprocess.Popen[bytes]


@dataclass(slots=True)
class Processes:
    """All processes of one demo. Use as a context manager: at its end every process group is gone."""

    logs: Path
    _children: list[Child] = field(default_factory=list)

    def __enter__(self) -> Processes:
        self.logs.mkdir(mode=0o700, exist_ok=True)
        return self

    def __exit__(self, *_: object) -> None:
        with _undisturbed():
            stop_all(child.process for child in self._children)

    def serve(self, name: str, arguments: Sequence[str]) -> Child:
        """Start `privet ARGUMENTS` and leave it running."""
        return self._start(name, arguments, subprocess.DEVNULL)

    def call_all(self, calls: Mapping[str, Sequence[str]]) -> dict[str, dict[str, Any]]:
        """Run `privet ARGUMENTS --json` for each name, all at the same time, and return their documents.

        Raises: PrivetError: the first one that failed, as the class that its exit code stands for.
        """
        started = {
            name: self._start(name, [*call, "--json"], subprocess.PIPE) for name, call in calls.items()
        }
        return {name: self._document(child) for name, child in started.items()}

    def call(self, name: str, *arguments: str, line: str | None = None) -> dict[str, Any]:
        """Run one command to its end and return its document. `line`: what it reads from standard input."""
        if line is None:
            return self.call_all({name: arguments})[name]
        child = self._start(name, [*arguments, "--json"], subprocess.PIPE, subprocess.PIPE)
        return self._document(child, f"{line}\n".encode())

    def check(self) -> None:
        """Raises: PrivetError: a program that should be running has ended."""
        for child in self._children:
            if has_ended(child.process):
                status = child.process.wait()
                raise failure_of(child.command, status, _last_lines(child.log))

    def _start(
        self, name: str, arguments: Sequence[str], stdout: int, stdin: int = subprocess.DEVNULL
    ) -> Child:
        leash = [sys.executable, "-I", "-S", str(_LEASH), str(os.getpid())]
        log = self.logs / f"{name}.log"
        with log.open("ab") as stderr, _held_back():
            process = subprocess.Popen(  # noqa: S603 - our own commands, as a list of words
                [*leash, sys.executable, "-m", "privet", *arguments],
                stdin=stdin,
                stdout=stdout,
                stderr=stderr,
                env=_environment(),
                start_new_session=True,
            )
            child = Child(f"privet {' '.join(arguments[:2])}", log, process)
            self._children.append(child)
        return child

    def _document(self, child: Child, told: bytes | None = None) -> dict[str, Any]:
        output, _ = child.process.communicate(told)
        self._children.remove(child)
        document = _parsed(output)
        if child.process.returncode != 0:
            detail = str(document.get("detail", "")) or _last_lines(child.log)
            raise failure_of(child.command, child.process.returncode, detail, str(document.get("code", "")))
        return document


def failure_of(command: str, status: int, detail: str, code: str = "") -> PrivetError:
    """The error that a command's exit code stands for (privet.outcome)."""
    text = f"`{command}` ended with exit code {status}" + (f": {detail}" if detail else "")
    if status == 3:
        return InputError(detail or text)
    if status == 4 and code in set(ErrorCode):
        return PeerError(ErrorCode(code), text)
    if status == 5:
        return TemporaryError(text)
    if status == 6 and code in set(JobCode):
        return JobFailure(JobCode(code), text)
    return InternalError(text)


def stop_all(processes: Iterable[subprocess.Popen[bytes]]) -> None:
    """End every process with its whole group: SIGTERM, five seconds to tidy up, SIGKILL. All at once."""
    running = [process for process in processes if process.returncode is None]
    for process in running:
        _signal_group(process, signal.SIGTERM)
    deadline = time.monotonic() + _GRACE_SECONDS
    while time.monotonic() < deadline and not all(has_ended(process) for process in running):
        time.sleep(_POLL_SECONDS)
    for process in running:
        _signal_group(process, signal.SIGKILL)
        process.wait()
        if process.stdout is not None:
            process.stdout.close()


def has_ended(process: subprocess.Popen[bytes]) -> bool:
    """Whether the process is over, without reaping it."""
    if process.returncode is not None:
        return True
    return os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


@contextmanager
def ending_signals() -> Iterator[None]:
    """While this is open, SIGTERM and SIGHUP unwind the demo as Ctrl-C does, with exit code 128 + signal."""
    with _handling(_ENDINGS, _unwind):
        yield


def _unwind(number: int, _frame: FrameType | None) -> NoReturn:
    raise SystemExit(128 + number)


@contextmanager
def _held_back() -> Iterator[None]:
    """An interruption between a program's start and its entry in the list would leave it running.

    By handlers and not by a signal mask: a mask holds for one thread, and any thread may be given the signal.
    """
    came: list[int] = []
    try:
        with _handling(_INTERRUPTIONS, lambda number, _frame: came.append(number)):
            yield
    finally:
        for number in came[:1]:
            signal.raise_signal(signal.Signals(number))


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Tidying up takes a few seconds at most; a second Ctrl-C must not cut it short."""
    with _handling(_INTERRUPTIONS, signal.SIG_IGN):
        yield


@contextmanager
def _handling(
    numbers: Iterable[signal.Signals], handler: Callable[[int, FrameType | None], Any] | signal.Handlers
) -> Iterator[None]:
    """One handler for these signals while this is open, then those that were there before."""
    before = {number: signal.signal(number, handler) for number in numbers}
    try:
        yield
    finally:
        for number, former in before.items():
            signal.signal(number, former)


def _signal_group(process: subprocess.Popen[bytes], number: signal.Signals) -> None:
    # The group may be gone, or (on macOS) consist of a process that has ended and is not reaped yet.
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)


def _environment() -> dict[str, str]:
    """The demo's own surroundings, without the user's settings for real programs and without proxies on loopback."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PRIVET_")}
    source = str(Path(privet.__file__).resolve().parent.parent)
    paths = [source, *filter(None, [kept.get("PYTHONPATH")])]
    exempt = ",".join(filter(None, ["127.0.0.1", kept.get("NO_PROXY") or kept.get("no_proxy")]))
    return kept | {
        "PYTHONPATH": os.pathsep.join(paths),
        "PYTHONSAFEPATH": "1",
        "NO_PROXY": exempt,
        "no_proxy": exempt,
    }


def _parsed(output: bytes) -> dict[str, Any]:
    try:
        document = json.loads(output)
    except ValueError:
        return {}
    return document if isinstance(document, dict) else {}


def _last_lines(log: Path) -> str:
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    return " / ".join(line.strip() for line in lines[-_LOG_LINES:] if line.strip())
