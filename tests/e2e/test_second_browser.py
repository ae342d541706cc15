"""The pages in Firefox: every one loads without an error, and what people do in them works by keyboard."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.browsing import COOKIE, PASSWORD
from tests.support.chromium import NARROW, WIDE
from tests.support.firefox import Firefox, needs_firefox, opened_firefox
from tests.support.looking import PARTS, WIDER
from tests.support.sitemap import CLOUD, CLOUD_FAULTS, HOUSE, HOUSE_FAULTS, TOKEN, Site, Visit

pytestmark = [needs_firefox, pytest.mark.long]


@pytest.fixture
def fox(tmp_path: Path) -> Iterator[Firefox]:
    with opened_firefox(tmp_path) as fox:
        yield fox


def test_every_page_loads_and_fits(site: Site, fox: Firefox) -> None:
    fox.cookie(site.cloud, COOKIE, site.session)
    found = []
    for base, kinds, faults in ((site.cloud, CLOUD, CLOUD_FAULTS), (site.house, HOUSE, HOUSE_FAULTS)):
        for visit in (*(kind for kind in kinds.values() if isinstance(kind, Visit)), *faults):
            for address in visit.addresses:
                fox.see_as(WIDE)
                fox.go(base + address.format(**site.places), visit.status)
                wrong = [*fox.ask(f"({PARTS})()"), *fox.faults]
                fox.see_as(NARROW)
                if wider := fox.ask(f"({WIDER})()"):
                    wrong.append(f"wider than the window: {wider}")
                found += [f"{address}: {fault}" for fault in wrong]
                fox.faults.clear()
    assert not found, "\n".join(found)


def test_a_tree_is_drawn_and_walked(site: Site, fox: Firefox) -> None:
    fox.go(f"{site.house}/house/models/{site.places['job']}")
    shown = "document.querySelectorAll('[role=treeitem]').length"
    assert fox.ask(shown) == 11
    fox.tab_to("[role=treeitem]")
    fox.keys("ArrowDown")
    assert fox.ask("document.activeElement.dataset.place") != "0"
    fox.keys("Home", "ArrowLeft")
    assert fox.ask(shown) == 1
    fox.keys("ArrowRight")
    assert fox.ask(shown) == 11
    fox.tab_to("[data-tree-rule]")
    fox.keys("Enter")
    assert fox.ask("document.querySelectorAll('[role=treeitem].tree-lit').length") >= 2
    assert fox.faults == []


def test_a_patient_is_tried_behind_a_token(site: Site, fox: Firefox) -> None:
    fox.go(f"{site.locked}/house/models/{site.places['job']}/try")
    fox.tab_to("[name=token]")
    fox.keys(TOKEN)
    fox.led_on_by("Enter")
    for name in ("lumbar pain", "urine pushing"):
        label = (
            f"[...document.querySelectorAll('label')].find((label) => label.textContent.trim() === {name!r})"
        )
        place = fox.ask(f"{label}.htmlFor")
        fox.tab_to(f"[id={place!r}]")
        fox.keys("0")
    fox.tab_to("form[action*='/try'] button")
    fox.led_on_by("Enter")
    assert fox.ask("document.querySelector('#answer-heading strong').textContent") == "none"
    assert fox.ask("document.querySelectorAll('tr.lit').length") == 3
    assert fox.faults == []


def test_a_person_signs_in_and_is_told_of_a_wrong_password(site: Site, fox: Firefox) -> None:
    fox.go(f"{site.cloud}/sign-in?next=/jobs")
    fox.tab_to("[name=name]")
    fox.keys("everybody")
    fox.tab_to("[name=password]")
    fox.keys(f"{PASSWORD} not")
    fox.led_on_by("Enter")
    assert fox.ask("document.querySelectorAll('[role=alert]').length") == 1
    assert fox.path == "/sign-in"
