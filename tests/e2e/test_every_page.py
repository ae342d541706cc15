"""Every page of both programs in Chromium: for everybody's eyes, ears and hands, light enough, and of this house alone.

A new page needs its row in `tests/support/sitemap.py`, or `test_every_route_is_visited` fails.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tests.support.browsing import COOKIE
from tests.support.chromium import Tab, needs_chromium
from tests.support.looking import SCREENSHOTS, Looks
from tests.support.sitemap import (
    CLOUD,
    CLOUD_FAULTS,
    HOUSE,
    HOUSE_FAULTS,
    TOKEN,
    Kind,
    Site,
    Visit,
    cloud_routes,
    house_routes,
)
from tests.unit.hospital_agent.test_reporting import folder_with, report


def test_every_route_is_visited() -> None:
    assert cloud_routes() == set(CLOUD)
    assert house_routes() == set(HOUSE)


def _signed_in(browser: Browser, site: Site, *, script: bool = True) -> Tab:
    tab = Tab.open(browser, script=script)
    tab.context.add_cookies([{"name": COOKIE, "value": site.session, "url": site.cloud}])
    return tab


def _visits(kinds: Mapping[str, Kind], faults: Sequence[Visit], site: Site) -> Iterator[tuple[str, int]]:
    for visit in (*(kind for kind in kinds.values() if isinstance(kind, Visit)), *faults):
        for address in visit.addresses:
            yield address.format(**site.places), visit.status


def _name(program: str, address: str, site: Site) -> str:
    for word, place in site.places.items():
        address = address.replace(place.strip("/"), word)
    return program + address.replace("/", "-").replace("?", "-").replace("=", "-")


@needs_chromium
@pytest.mark.long
def test_pages_of_the_cloud(site: Site, browser: Browser) -> None:
    looks = Looks(SCREENSHOTS, is_thorough=True)
    tab = _signed_in(browser, site)
    for address, status in _visits(CLOUD, CLOUD_FAULTS, site):
        if address != "/sign-in":  # whoever is signed in is led on
            tab.go(site.cloud + address, status)
            looks.at(tab, _name("cloud", address, site))
    tab.close()
    looks.check()


@needs_chromium
@pytest.mark.long
def test_pages_of_a_hospital(site: Site, browser: Browser) -> None:
    looks = Looks(SCREENSHOTS, is_thorough=True)
    tab = Tab.open(browser)
    for address, status in _visits(HOUSE, HOUSE_FAULTS, site):
        tab.go(site.house + address, status)
        looks.at(tab, _name("house", address, site))
    tab.close()
    looks.check()


@needs_chromium
@pytest.mark.long
def test_a_hospital_with_a_token_is_entered_by_keyboard(site: Site, browser: Browser) -> None:
    looks, tab = Looks(SCREENSHOTS, is_thorough=True), Tab.open(browser)
    tab.go(f"{site.locked}/house/models")
    looks.at(tab, "house-sign-in")
    tab.type_into({"token": TOKEN})
    tab.led_on_by(lambda: tab.page.keyboard.press("Enter"))
    assert tab.path == "/house/models"
    tab.close()
    looks.check()


@needs_chromium
@pytest.mark.long
def test_without_script_pages_say_and_do_the_same(site: Site, browser: Browser) -> None:
    """Reading, planning step by step, a confirmation, the tree as a table, and a patient's answer."""
    tab = _signed_in(browser, site, script=False)
    page, faults = tab.page, []
    for kinds, base in ((CLOUD, site.cloud), (HOUSE, site.house)):
        for address, status in _visits(kinds, (), site):
            tab.go(base + address, status)
            if page.locator("h1:visible").count() != 1 or len(page.locator("main").inner_text()) < 40:
                faults.append(address)
    assert not faults + tab.faults, "\n".join(faults + tab.faults)
    tab.go(f"{site.cloud}/jobs/{site.places['job']}/tree")
    assert page.locator("[data-tree-rows] tr:visible").count() > 4
    tab.go(site.cloud + site.places["draft"] + "/rules")
    page.fill("#max_jobs", "0")
    tab.led_on_by(lambda: page.click("button[value=next]"))
    assert page.locator("#max_jobs-fault").is_visible()
    page.fill("#max_jobs", "5")
    tab.led_on_by(lambda: page.click("button[value=next]"))
    assert tab.path.endswith("/summary")
    tab.go(f"{site.house}/house/models/{site.places['job']}/try")
    page.get_by_label("lumbar pain", exact=True).select_option(label="0")
    page.get_by_label("urine pushing", exact=True).select_option(label="0")
    tab.led_on_by(lambda: page.click("form[action*='/try'] button"))
    assert page.locator("#answer-heading strong").inner_text() == "none"
    assert page.locator("tr.lit:visible").count() == 3
    tab.close()


@needs_chromium
@pytest.mark.long
def test_documents_that_people_keep_read_as_well_as_pages(
    site: Site, browser: Browser, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Ledgers, a study's dossier and a report, opened from a disk: they load nothing, and can be read everywhere."""
    looks, tab = Looks(SCREENSHOTS, is_thorough=True), _signed_in(browser, site)
    job, study = site.places["job"], site.places["study"]
    kept = {
        "ledger-of-the-cloud": f"{site.cloud}/jobs/{job}/ledger/page",
        "ledger-of-a-hospital": f"{site.house}/house/jobs/{job}/files/ledger.html",
        "dossier": f"{site.cloud}/studies/{study}/dossier",
    }
    for name, address in kept.items():
        answer = tab.context.request.get(address)
        assert answer.ok, address
        (tmp_path / f"{name}.html").write_bytes(answer.body())
    report(capsys, folder_with(tmp_path), "ab", "--html", tmp_path / "report.html")
    tab.hosts = {""}
    for name in (*kept, "report"):
        tab.page.goto((tmp_path / f"{name}.html").as_uri())
        looks.at(tab, f"kept-{name}", weigh=False)
    tab.close()
    looks.check()
