"""A second browser: Debian's Firefox without a screen, driven over WebDriver BiDi, which it speaks by itself.

    with opened_firefox(tmp_path) as fox:
        fox.go("http://127.0.0.1:8000/sign-in")
        fox.keys("Tab", "ada")
        assert fox.faults == []

Playwright drives builds of its own only, and a driver beside the browser is in no Debian release that has this one.
"""

from __future__ import annotations

import itertools
import json
import re
import shutil
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import pytest
from websockets.sync.client import ClientConnection, connect

PROGRAM: Final = shutil.which("firefox-esr") or shutil.which("firefox")
needs_firefox = pytest.mark.skipif(
    PROGRAM is None, reason="no second browser here; install Debian's firefox-esr"
)
_SETTINGS: Final = """\
user_pref("app.normandy.enabled", false);
user_pref("app.update.disabledForTesting", true);
user_pref("browser.safebrowsing.malware.enabled", false);
user_pref("browser.safebrowsing.phishing.enabled", false);
user_pref("browser.shell.checkDefaultBrowser", false);
user_pref("datareporting.policy.dataSubmissionEnabled", false);
user_pref("network.captive-portal-service.enabled", false);
user_pref("network.connectivity-service.enabled", false);
user_pref("network.proxy.type", 0);
user_pref("services.settings.server", "data:,#remote-settings-dummy/v1");
user_pref("toolkit.telemetry.server", "data:,");
"""
"""It asks nobody but the pages under test."""
_KEYS: Final[Mapping[str, str]] = {
    "Tab": "\ue004",
    "Enter": "\ue006",
    "ArrowLeft": "\ue012",
    "ArrowRight": "\ue014",
    "ArrowDown": "\ue015",
    "Home": "\ue011",
}
_SECONDS: Final = 60.0


class Firefox:
    """One tab. `faults`: errors in its console, and answers from 500 on."""

    def __init__(self, wire: ClientConnection) -> None:
        self._wire = wire
        self._numbers = itertools.count(1)
        self.faults: list[str] = []
        self.hosts: set[str] = set()
        self._loaded = 0
        self._send("session.new", capabilities={})
        self._send(
            "session.subscribe",
            events=["log.entryAdded", "network.responseCompleted", "browsingContext.load"],
        )
        # Of the tab that is there at the start the browser thinks that nobody looks at it, and no button heeds a key.
        self._tab = self._send("browsingContext.create", type="tab")["context"]
        self._send("browsingContext.activate", context=self._tab)

    def go(self, address: str, status: int = 200) -> None:
        """Open an address and wait until its page is whole. An answer that is meant to fail is no fault."""
        self.hosts.add(urlsplit(address).netloc)
        before = len(self.faults)
        self._send("browsingContext.navigate", context=self._tab, url=address, wait="complete")
        if status >= 400:
            self.faults[before:] = [fault for fault in self.faults[before:] if f" {status}" not in fault]

    def led_on_by(self, *keys: str) -> None:
        """Press what leads to another page, and wait for it."""
        before = self._loaded
        self.keys(*keys)
        self.until(lambda: self._loaded > before, f"a page after {keys}")

    def until(self, holds: Any, what: str) -> None:
        """Look again and again; events are read on the way."""
        end = time.monotonic() + _SECONDS
        while not holds():
            assert time.monotonic() < end, f"not so after {_SECONDS} s: {what}"
            self.ask("1")
            time.sleep(0.05)

    def ask(self, expression: str) -> Any:
        """What an expression of JavaScript gives, by way of JSON."""
        told = self._send(
            "script.evaluate",
            expression=f"JSON.stringify(({expression}) ?? null)",
            target={"context": self._tab},
            awaitPromise=True,
        )
        assert told["type"] == "success", told
        return json.loads(told["result"]["value"])

    def keys(self, *keys: str) -> None:
        """Press keys by their names, or type text."""
        actions = []
        for key in keys:
            for value in [_KEYS[key]] if key in _KEYS else key:
                actions += [{"type": "keyDown", "value": value}, {"type": "keyUp", "value": value}]
        self._send(
            "input.performActions",
            context=self._tab,
            actions=[{"type": "key", "id": "k", "actions": actions}],
        )

    def tab_to(self, selector: str, most: int = 120) -> None:
        """Press Tab until the focus is there."""
        for _ in range(most):
            self.keys("Tab")
            if self.ask(f"document.activeElement.matches({json.dumps(selector)})"):
                return
        raise AssertionError(f"{self.path}: no way to {selector} by the Tab key")

    def see_as(self, width: int, height: int = 900) -> None:
        """Another size of the window."""
        self._send(
            "browsingContext.setViewport", context=self._tab, viewport={"width": width, "height": height}
        )

    def cookie(self, address: str, name: str, value: str) -> None:
        """A cookie of a host."""
        parts = urlsplit(address)
        told = {
            "name": name,
            "value": {"type": "string", "value": value},
            "domain": parts.hostname,
            "path": "/",
        }
        self._send("storage.setCookie", cookie=told)

    @property
    def path(self) -> str:
        """Where it is."""
        return str(self.ask("location.pathname"))

    def _send(self, method: str, **params: Any) -> dict[str, Any]:
        number = next(self._numbers)
        self._wire.send(json.dumps({"id": number, "method": method, "params": params}))
        while True:
            told = json.loads(self._wire.recv(timeout=_SECONDS))
            if told.get("id") == number:
                assert told["type"] == "success", f"{method}: {told.get('error')}: {told.get('message')}"
                return dict(told["result"])
            self._note(told)

    def _note(self, event: dict[str, Any]) -> None:
        params, method = event.get("params", {}), event.get("method")
        if method == "browsingContext.load":
            self._loaded += 1
        elif method == "log.entryAdded" and params["level"] == "error":
            self.faults.append(str(params["text"]))
        elif method == "network.responseCompleted":
            status, url = params["response"]["status"], params["request"]["url"]
            if status >= 500:
                self.faults.append(f"{url} answered {status}")
            parts = urlsplit(url)
            if parts.scheme in ("http", "https") and parts.netloc not in self.hosts:
                self.faults.append(f"asked {parts.netloc}")


@contextmanager
def opened_firefox(folder: Path, screen: Mapping[str, str] | None = None) -> Iterator[Firefox]:
    """A new one with nothing in it; its profile is made in the folder.

    Args: screen: the environment in which there is a screen to show it on; None: it has none.
    """
    assert PROGRAM is not None
    profile = folder / "firefox"
    profile.mkdir()
    (profile / "user.js").write_text(_SETTINGS)
    command = [PROGRAM, *(["--headless"] if screen is None else []), "--no-remote", "--profile", str(profile)]
    with (folder / "firefox.log").open("w+") as log:
        process = subprocess.Popen(
            [*command, "--remote-debugging-port", "0", "about:blank"],
            stdout=log,
            stderr=log,
            stdin=subprocess.DEVNULL,
            env=None if screen is None else {**screen},
        )
        try:
            with connect(
                f"{_listening(folder / 'firefox.log', process)}/session", max_size=None, proxy=None
            ) as wire:
                yield Firefox(wire)
        finally:
            process.terminate()
            process.wait(30)


def _listening(log: Path, process: subprocess.Popen[bytes]) -> str:
    end = time.monotonic() + _SECONDS
    while time.monotonic() < end and process.poll() is None:
        if found := re.search(r"WebDriver BiDi listening on (ws://\S+)", log.read_text(errors="replace")):
            return found[1]
        time.sleep(0.05)
    raise AssertionError(f"Firefox did not listen: {log.read_text(errors='replace')[-1000:]}")
