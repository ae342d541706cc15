"""Long work for a page, in a process of its own: a command of `privet`, at low priority, one at a time.

So the daemon is never held up, and what a page shows is what the command says. Results stay in memory until the next
one; they hold what the command tells, and that keeps the policy's floor.
"""

from __future__ import annotations

import atexit
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, Literal

from hospital_agent.pages.problems import PageProblem
from shared.texts import text

_LONGEST_SECONDS: Final = 3600
_MAX_BYTES: Final = 2**24
_MAX_KEPT: Final = 64
_NICE: Final = 10
_PROBLEM: Final = "urn:privet:problem:"
_children: Final[set[subprocess.Popen[bytes]]] = set()

Outcome = Literal["running", "done", "failed"]


@dataclass(frozen=True, slots=True)
class Work:
    """One piece of work. `document`: what the command printed. `fault`: why there is none. Times: Unix seconds."""

    outcome: Outcome
    begun: int
    ended: int = 0
    document: dict[str, Any] | None = field(default=None, repr=False)
    fault: str = ""
    remedy: str = ""


@dataclass(slots=True)
class Background:
    """Works of one kind, by what they are about."""

    folder: Path
    _works: dict[str, Work] = field(default_factory=dict, repr=False)
    _processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict, repr=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def of(self, name: str) -> Work | None:
        """How far it is; None: it was never begun, or is forgotten."""
        with self._lock:
            return self._works.get(name)

    def begin(self, name: str, words: Sequence[str]) -> None:
        """Begin it, unless it runs. Args: words: of the command `privet`, without the agent's folder.

        Raises: PageProblem: other work of this kind runs.
        """
        with self._lock:
            running = [known for known, work in self._works.items() if work.outcome == "running"]
            if name in running:
                return
            if running:
                raise PageProblem(409, "busy")
            while len(self._works) >= _MAX_KEPT:
                del self._works[next(iter(self._works))]
            self._works[name] = Work("running", int(time.time()))
        threading.Thread(target=self._run, args=(name, list(words)), name="page-work", daemon=True).start()

    def stop(self, name: str) -> None:
        """End it before it is done, if it runs; what it would have said is lost."""
        with self._lock:
            process = self._processes.get(name)
        if process is not None:
            process.kill()

    def _run(self, name: str, words: list[str]) -> None:
        with self._lock:
            begun = self._works[name]

        def started(process: subprocess.Popen[bytes]) -> None:
            with self._lock:
                self._processes[name] = process

        try:
            ended = _result(begun, [*words, "--agent", str(self.folder), "--json"], started)
        except OSError as error:
            ended = replace(begun, outcome="failed", fault=type(error).__name__)
        with self._lock:
            self._processes.pop(name, None)
            self._works[name] = replace(ended, ended=int(time.time()))


@atexit.register
def end_children() -> None:
    """Whatever still reads records when the agent stops ends with it."""
    for process in list(_children):
        process.kill()


def _result(begun: Work, words: list[str], started: Callable[[subprocess.Popen[bytes]], None]) -> Work:
    with subprocess.Popen(  # noqa: S603 - our own program; words are ours, ids that were found, and the folder
        [sys.executable, "-P", "-m", "privet", *words],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as process:
        _children.add(process)
        started(process)
        try:
            os.setpriority(os.PRIO_PROCESS, process.pid, _NICE)
            printed, _ = process.communicate(timeout=_LONGEST_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            return replace(begun, outcome="failed", fault=text("house.work.too_long"))
        finally:
            _children.discard(process)
    if process.returncode == -signal.SIGKILL and not printed:
        return replace(begun, outcome="failed", fault=text("house.work.stopped"))
    return _read(begun, printed[:_MAX_BYTES])


def _read(begun: Work, printed: bytes) -> Work:
    """What a command printed: its document, or its problem."""
    try:
        document: dict[str, Any] = json.loads(printed)
    except ValueError:
        return replace(begun, outcome="failed", fault=text("house.work.said_nothing"))
    if str(document.get("type", "")).startswith(_PROBLEM):
        remedy = str(document.get("remedy", ""))
        fault = str(document.get("detail", "")).removesuffix(remedy).rstrip(". ")
        return replace(begun, outcome="failed", fault=fault, remedy=remedy)
    return replace(begun, outcome="done", document=document)
