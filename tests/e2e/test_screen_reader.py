"""A steward who hears the pages by Orca: what waits, what is signed, what becomes of it, and the tree that came out."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from shared.texts import text
from tests.support.browsing import PASSWORD
from tests.support.firefox import Firefox, opened_firefox
from tests.support.screen_reader import ScreenReader, needs_screen_reader, opened_screen_reader
from tests.support.sitemap import Site
from tests.support.stages import STEWARD

pytestmark = [needs_screen_reader, pytest.mark.long]
Pair = tuple[ScreenReader, Firefox]


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[Pair]:
    with opened_screen_reader(tmp_path) as reader, opened_firefox(tmp_path, reader.environment) as fox:
        yield reader, fox


def test_a_steward_hears_what_is_signed_and_what_becomes_of_it(site: Site, pair: Pair) -> None:
    reader, fox = pair
    fox.go(f"{site.house}/house/jobs/{site.places['waiting']}/approve")
    reader.says(text("house.offer.title.approve"), "heading level 1")
    fox.tab_to("#person")
    reader.says(text("house.steward.name"))
    fox.keys(STEWARD)
    fox.keys("Tab")
    reader.says(text("house.steward.password"), text("house.steward.help"))
    fox.keys("wrong")
    fox.led_on_by("Enter")
    reader.says(text("house.problem.wrong_steward.what"))
    fox.tab_to("#password")
    fox.keys(PASSWORD)
    fox.tab_to("section.binding button")
    reader.says(f"{text('house.offer.button.approve')} push button")
    fox.led_on_by("Enter")
    reader.says(text("step.accepted"))


def test_a_tree_is_walked_by_ear(site: Site, pair: Pair) -> None:
    reader, fox = pair
    fox.go(f"{site.house}/house/models/{site.places['job']}")
    fox.tab_to("[role=treeitem]")
    reader.says("lumbar pain?, 120 records", "expanded")
    fox.keys("ArrowDown")
    reader.says("0: urine pushing?, 50 records")
    fox.keys("ArrowDown")
    reader.says("0: none, 10 records")
    fox.keys("Home", "ArrowLeft")
    reader.says("collapsed")


def test_a_patients_answer_is_heard(site: Site, pair: Pair) -> None:
    reader, fox = pair
    fox.go(f"{site.house}/house/models/{site.places['job']}/try")
    for name in ("lumbar pain", "urine pushing"):
        fox.tab_to(f"[id={fox.ask(_id_of(name))!r}]")
        reader.says(f"{name} combo box", text("house.try.unknown"))
        fox.keys("0")
    fox.tab_to("form[action*='/try'] button")
    reader.says(f"{text('house.try.button')} push button")
    fox.led_on_by("Enter")
    reader.says("none")


def _id_of(name: str) -> str:
    return f"[...document.querySelectorAll('label')].find((label) => label.textContent.trim() === {name!r}).htmlFor"
