"""The documentation site as a reader has it: served, looked at wide and narrow, light and dark, searched."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe

from tests.support.chromium import NARROW, WIDE, Tab, needs_chromium, opened_browser
from tests.support.sites import build

LOOKED_AT = (
    "index",
    "tutorial",
    "how/ppsdt",
    "roles/steward",
    "who-learns-what",
    "codes",
    "protocol",
    "reference/agent-api",
)
SERIOUS = {"serious", "critical"}
pytestmark = [needs_chromium, pytest.mark.long]


class Quiet(SimpleHTTPRequestHandler):
    """Serves files and says nothing of it."""

    def log_message(self, *args: object) -> None:
        pass


@contextmanager
def served(folder: Path) -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    site = build(tmp_path_factory.mktemp("site") / "out")
    with served(site.folder) as address:
        yield address


@pytest.mark.timeout(300)
@pytest.mark.parametrize(("width", "theme"), [(WIDE, "light"), (NARROW, "dark")])
def test_pages_can_be_read_by_everybody(address: str, width: int, theme: str) -> None:
    found: dict[str, list[str]] = {}
    with opened_browser() as browser:
        tab = Tab.open(browser, width=width, theme=theme)  # type: ignore[arg-type]
        for name in LOOKED_AT:
            tab.go(f"{address}{name}.html")
            assert tab.page.evaluate("document.documentElement.scrollWidth <= innerWidth"), name
            violations = Axe().run(tab.page).response["violations"]
            found |= {f"{name}: {one['id']}": _where(one) for one in violations if one["impact"] in SERIOUS}
        assert tab.faults == []
    assert found == {}


def _where(violation: dict[str, list[dict[str, object]]]) -> list[str]:
    return [str(node["html"])[:120] for node in violation["nodes"][:3]]


@pytest.mark.timeout(120)
def test_search_finds_without_another_host(address: str) -> None:
    with opened_browser() as browser:
        tab = Tab.open(browser)
        tab.go(f"{address}index.html")
        tab.page.get_by_role("textbox", name="Search").click()
        tab.page.keyboard.type("canary")
        results = tab.page.locator(".md-search-result__link")
        results.first.wait_for()
        assert any("predicting.html" in (link.get_attribute("href") or "") for link in results.all())
        assert tab.faults == []
