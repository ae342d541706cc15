"""From an offer to an answer by somebody who has keys and hears names: no mouse, no picture, no place on a page."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from playwright.sync_api import Browser, expect

from shared.texts import text
from tests.support.browsing import COOKIE, PASSWORD
from tests.support.chromium import Tab, needs_chromium
from tests.support.hearing import Heard, Reader, heard, tree_of
from tests.support.sitemap import Site
from tests.support.stages import STEWARD

pytestmark = [needs_chromium, pytest.mark.long]
Rule = tuple[tuple[str, ...], str]


def _rules_of_items(items: Sequence[Heard]) -> set[Rule]:
    """Of the picture: names and levels of its items, in reading order, are all that is needed."""
    found: set[Rule] = set()
    asked: list[str] = []
    taken: list[str] = []
    for item in items:
        level = int(item.said["level"])
        branch, name = item.name.split(": ", 1) if level > 1 else ("", item.name)
        label = name.split(", ")[0]
        del asked[level - 1 :], taken[max(level - 2, 0) :]
        if level > 1:
            taken.append(f"{asked[level - 2]} = {branch}")
        if "expanded" in item.said:
            asked.append(label.removesuffix("?"))
        else:
            found.add((tuple(taken), label))
    return found


def _rules_of_table(table: Heard) -> set[Rule]:
    """Of the table beside the picture: number, the place above, the branch, what is asked or answered."""
    rows = [
        [" ".join(cell.words.split()) for cell in row.every("rowheader", "cell")]
        for row in table.every("row")
        if not list(row.every("columnheader"))
    ]
    shown = {number: (above, branch, name) for number, above, branch, name, *_ in rows}
    found: set[Rule] = set()
    for above, branch, name in shown.values():
        if "?" in name:
            continue
        path: list[str] = []
        place, taken = above, branch
        while place:
            higher, its_branch, question = shown[place]
            path.insert(0, f"{question.partition('?')[0]} = {taken}")
            place, taken = higher, its_branch
        found.add((tuple(path), name))
    return found


def _sentence(rule: Rule) -> str:
    conditions, answer = rule
    return text("tree.rule", conditions=f" {text('tree.and')} ".join(conditions), answer=answer)


def test_the_picture_its_table_and_its_rules_tell_one_tree(site: Site, browser: Browser) -> None:
    tab = Tab.open(browser)
    tab.context.add_cookies([{"name": COOKIE, "value": site.session, "url": site.cloud}])
    for address in (f"{site.cloud}/jobs/{{job}}/tree", f"{site.house}/house/models/{{job}}"):
        tab.go(address.format(**site.places))
        Reader(tab).to("DisclosureTriangle", text("tree.as_table", n=11))
        tab.page.keyboard.press("Enter")
        root = tree_of(tab)
        (tree,) = root.every("tree")
        (table,) = (one for one in root.every("table") if one.name == text("tree.table"))
        rules = _rules_of_items(list(tree.every("treeitem")))
        assert len(rules) == 6
        assert rules == _rules_of_table(table)
        told = [node.name for node in root.every("button")]  # with numbers of records where they may be known
        assert all(any(each.startswith(_sentence(rule)) for each in told) for rule in rules), told
    assert not tab.faults
    tab.close()


def test_the_picture_is_walked_by_ear(site: Site, browser: Browser) -> None:
    tab = Tab.open(browser)
    tab.go(f"{site.house}/house/models/{site.places['job']}")
    reader, press = Reader(tab), tab.page.keyboard.press
    root = reader.to("treeitem", "lumbar pain?")
    assert (root.said["level"], root.said["expanded"]) == (1, True)
    press("ArrowDown")
    assert reader.focused().name.startswith("0: urine pushing?")
    press("ArrowDown")
    leaf = reader.focused()
    assert leaf.name.startswith("0: none")
    assert "expanded" not in leaf.said
    press("Home")
    press("ArrowLeft")
    assert reader.focused().said["expanded"] is False
    press("ArrowRight")
    assert reader.focused().said["expanded"] is True
    reader.to("button", "If lumbar pain = 0 and urine pushing = 0")
    press("Enter")
    assert any(text("tree.on_path") in item.name for item in tree_of(tab).every("treeitem"))
    tab.close()


def test_from_an_offer_to_an_answer(site: Site, browser: Browser) -> None:
    """A steward hears what waits, signs, and is told what becomes of it; then a patient is tried."""
    tab = Tab.open(browser)
    reader, page = Reader(tab), tab.page
    tab.go(f"{site.house}/")
    reader.follow("link", text("house.home.read_it"))
    reader.to("button", text("house.job.approve"))
    tab.led_on_by(lambda: page.keyboard.press("Space"))  # as everything that is told as a button
    reader.write(text("house.steward.name"), STEWARD)
    reader.write(text("house.steward.password"), PASSWORD)
    reader.follow("button", text("house.offer.button.approve"))
    assert tab.path == f"/house/jobs/{site.places['waiting']}"
    said = page.get_by_role("status")
    expect(said.filter(has_text=text("step.accepted"))).to_have_count(1, timeout=15_000)
    assert heard(tab) == []

    reader.follow("link", text("house.frame.models"))
    reader.follow("link", f"{text('house.models.try')}, {site.places['job'][:8]}")
    for name in ("lumbar pain", "urine pushing"):
        reader.to("combobox", name)
        page.keyboard.type("0")
    reader.follow("button", text("house.try.button"))
    answers = [node.name for node in tree_of(tab).every("heading") if "none" in node.name]
    assert answers, [node.name for node in tree_of(tab).every("heading")]
    assert heard(tab) == []
    assert not tab.faults
    tab.close()
