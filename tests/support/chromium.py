"""Debian's Chromium without a screen, and tabs that note everything a page must not do.

    with opened_browser() as browser:
        tab = Tab.open(browser, width=360, theme="dark")
        tab.go("http://127.0.0.1:8000/sign-in")
        assert tab.faults == []

A tab's faults: an exception or an error in the console (a breach of the content security policy is one), an answer from
500 on, a request to another host. `loaded`: bytes of the last page with its assets, sent and unpacked, without cache.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final, Literal
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Page,
    Request,
    Response,
    sync_playwright,
)

from tests.support.tree_page import CHROMIUM, FLAGS

Theme = Literal["light", "dark"]
WIDE: Final = 1280
NARROW: Final = 360
_HEIGHTS: Final = {WIDE: 900, NARROW: 780}
_FOCUSED: Final = "() => document.activeElement && document.activeElement.matches(%r)"
_SEEN_FOCUS: Final = """() => {
  const style = getComputedStyle(document.activeElement);
  if ((style.outlineStyle !== "none" && parseFloat(style.outlineWidth) > 0) || style.boxShadow !== "none") return true;
  const box = document.activeElement.querySelector(":scope > .tree-box"); // a place of a picture has no outline
  return box !== null && parseFloat(getComputedStyle(box).strokeWidth) >= 3;
}"""


def _why_missing() -> str:
    if os.environ.get("CI") == "true" and os.geteuid() == 0:
        return (
            f"no browser at {CHROMIUM}: make services could not install it, so NO page was tried in a browser"
        )
    return f"no browser at {CHROMIUM}; install Debian's chromium"


needs_chromium = pytest.mark.skipif(not CHROMIUM.exists(), reason=_why_missing())


@contextmanager
def opened_browser() -> Iterator[Browser]:
    """A new one with nothing in it."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=str(CHROMIUM), args=[*FLAGS, "--disable-quic", "--no-proxy-server"]
        )
        try:
            yield browser
        finally:
            browser.close()


@dataclass(frozen=True, slots=True)
class Loaded:
    """Bytes of a page with its assets. `sent`: with heads, as they went over the wire."""

    sent: int
    unpacked: int


@dataclass
class Tab:
    """One page in a context of its own, and what was wrong with it so far. `hosts`: those it may talk to."""

    context: BrowserContext
    page: Page
    hosts: set[str] = field(default_factory=set)
    faults: list[str] = field(default_factory=list)
    _sent: int = 0
    _unpacked: int = 0

    @classmethod
    def open(
        cls,
        browser: Browser,
        *,
        width: int = WIDE,
        theme: Theme = "light",
        script: bool = True,
        weighs: bool = True,
    ) -> Tab:
        """A tab that nobody has used. `script=False`: JavaScript is off. `weighs=False`: assets may be kept."""
        context = browser.new_context(
            viewport={"width": width, "height": _HEIGHTS[width]},
            color_scheme=theme,
            java_script_enabled=script,
            accept_downloads=True,
            reduced_motion="reduce",
        )
        context.set_default_timeout(20_000)
        tab = cls(context, context.new_page())
        tab._listen()
        if weighs:
            tab._weigh()
        return tab

    def close(self) -> None:
        """Forget everything."""
        self.context.close()

    def go(self, address: str, status: int = 200) -> None:
        """Open an address and wait until its page is whole; its host is the tab's from now on."""
        self.hosts.add(urlsplit(address).netloc)
        self._sent = self._unpacked = 0
        answer = self.page.goto(address)
        if answer is None or answer.status != status:
            self.faults.append(f"{address} answered {answer.status if answer else 'nothing'}")
        if status >= 400:  # the console tells of an answer that is meant to be one
            self.faults = [fault for fault in self.faults if f"status of {status}" not in fault]

    def led_on_by(self, act: Callable[[], object]) -> None:
        """Do what makes the browser go to another page, and wait until that one is whole."""
        with self.page.expect_navigation():
            act()

    @property
    def path(self) -> str:
        """Where it is."""
        return urlsplit(self.page.url).path

    @property
    def loaded(self) -> Loaded:
        """Since the last `go`."""
        return Loaded(self._sent, self._unpacked)

    def see_as(self, width: int, theme: Theme) -> None:
        """Another size of the window, and another theme of the system."""
        self.page.set_viewport_size({"width": width, "height": _HEIGHTS[width]})
        self.page.emulate_media(color_scheme=theme)

    def tab_to(self, selector: str, most: int = 80) -> None:
        """Press Tab until the focus is there; every stop on the way must be seen to have it."""
        for _ in range(most):
            self.page.keyboard.press("Tab")
            if not self.page.evaluate(_SEEN_FOCUS):
                self.faults.append(f"{self.path}: the focus cannot be seen at {self._stop()}")
            if self.page.evaluate(_FOCUSED % selector):
                return
        raise AssertionError(f"{self.path}: no way to {selector} by the Tab key")

    def type_into(self, fields: Mapping[str, str]) -> None:
        """Fill in fields by keyboard alone, in the order in which Tab comes to them."""
        for name, value in fields.items():
            self.tab_to(f'[name="{name}"]')
            self.page.keyboard.type(value)

    def _stop(self) -> str:
        return str(self.page.evaluate("document.activeElement.outerHTML.slice(0, 120)"))

    def _listen(self) -> None:
        self.page.on("pageerror", lambda error: self.faults.append(f"{self.path}: {error}"))
        self.page.on("console", self._on_console)
        self.page.on("request", self._on_request)
        self.page.on("response", self._on_response)

    def _weigh(self) -> None:
        wire = self.context.new_cdp_session(self.page)
        wire.send("Network.enable")
        wire.send("Network.setCacheDisabled", {"cacheDisabled": True})
        wire.on("Network.dataReceived", self._on_data)
        wire.on("Network.loadingFinished", self._on_end)

    def _on_console(self, message: ConsoleMessage) -> None:
        if message.type == "error":
            self.faults.append(f"{self.path}: {message.text}")

    def _on_request(self, request: Request) -> None:
        parts = urlsplit(request.url)
        if parts.scheme not in ("data", "blob") and parts.netloc not in self.hosts:
            self.faults.append(f"{self.path}: asked {parts.netloc}")

    def _on_response(self, response: Response) -> None:
        if response.status >= 500:
            self.faults.append(f"{response.url} answered {response.status}")

    def _on_data(self, event: dict[str, Any]) -> None:
        self._unpacked += event["dataLength"]

    def _on_end(self, event: dict[str, Any]) -> None:
        self._sent += int(event["encodedDataLength"])
