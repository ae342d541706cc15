"""Orca, Debian's screen reader, without a screen and without a voice: what it would say is read from its own log.

    with opened_screen_reader(tmp_path) as reader, opened_firefox(tmp_path, reader.environment) as fox:
        fox.keys("Tab")
        reader.says("Answer push button")

It needs Debian's orca, xvfb, at-spi2-core, dbus, speech-dispatcher and firefox-esr.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest

from tests.support.firefox import PROGRAM as FIREFOX

_LAUNCHER: Final = Path("/usr/libexec/at-spi-bus-launcher")
_NEEDED: Final = ("orca", "speech-dispatcher", "Xvfb", "dbus-daemon", "gsettings")
needs_screen_reader = pytest.mark.skipif(
    FIREFOX is None or not _LAUNCHER.exists() or any(shutil.which(name) is None for name in _NEEDED),
    reason="no screen reader here; install Debian's orca, xvfb, at-spi2-core, dbus, speech-dispatcher, firefox-esr",
)
_SAID: Final = re.compile(r"SPEECH OUTPUT: '(.*?)'(?:\{|$)")
_SECONDS: Final = 60.0
_CUSTOMS: Final = "from orca import debug\n\ndebug.debugFile.reconfigure(line_buffering=True)\n"
"""Orca runs it at its start; else its log comes in blocks, long after it spoke."""


@dataclass
class ScreenReader:
    """`environment`: for programs that it is to read."""

    environment: Mapping[str, str]
    log: Path
    _heard: int = 0

    @property
    def said(self) -> list[str]:
        """Everything so far."""
        if not self.log.exists():
            return []
        lines = self.log.read_text(errors="replace").splitlines()
        return [found[1] for line in lines if (found := _SAID.search(line))]

    def says(self, *words: str) -> None:
        """Wait until it has said all of these since the last time that it was asked.

        Raises: AssertionError: it did not.
        """
        end = time.monotonic() + _SECONDS
        while True:
            new = self.said[self._heard :]
            told = " ".join(new)  # it breaks off after each sentence
            if all(word in told for word in words):
                self._heard += len(new)
                return
            assert time.monotonic() < end, f"expected {words}, heard {new}"
            time.sleep(0.2)


@contextmanager
def opened_screen_reader(folder: Path) -> Iterator[ScreenReader]:
    """A screen that nobody sees, a session's buses, and the reader."""
    home, runtime = folder / "home", folder / "runtime"
    home.mkdir()
    runtime.mkdir(mode=0o700)
    with ExitStack() as ended:
        display = _first_line(
            ended, ["Xvfb", "-displayfd", "1", "-screen", "0", "1280x900x24"], {**os.environ}
        )
        environment = {
            **os.environ,
            "DISPLAY": f":{display}",
            "HOME": str(home),
            "XDG_RUNTIME_DIR": str(runtime),
            "GNOME_ACCESSIBILITY": "1",
        }
        bus = ["dbus-daemon", "--session", "--print-address=1", "--nofork", "--nopidfile"]
        environment["DBUS_SESSION_BUS_ADDRESS"] = _first_line(ended, bus, environment)
        setting = ("gsettings", "set", "org.gnome.desktop.interface", "toolkit-accessibility", "true")
        subprocess.run(setting, env=environment, check=True, capture_output=True)
        _start(ended, [str(_LAUNCHER), "--launch-immediately"], environment)
        customs = home / ".local" / "share" / "orca" / "orca-customizations.py"
        customs.parent.mkdir(parents=True)
        customs.write_text(_CUSTOMS)
        reader = ScreenReader(environment, folder / "orca.log")
        _start(ended, ["orca", "--replace", f"--debug-file={reader.log}", "-e", "speech"], environment)
        reader.says("Screen reader on")
        yield reader


def _start(ended: ExitStack, command: Sequence[str], environment: Mapping[str, str]) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        command,
        env={**environment},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE if "1" in command or "--print-address=1" in command else subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    ended.callback(_end, process)
    return process


def _end(process: subprocess.Popen[str]) -> None:
    process.terminate()
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait(10)
    if process.stdout is not None:
        process.stdout.close()


def _first_line(ended: ExitStack, command: Sequence[str], environment: Mapping[str, str]) -> str:
    told = _start(ended, command, environment).stdout
    assert told is not None
    line = told.readline().strip()
    assert line, f"{command[0]} did not start"
    return line
