"""The picture of a tree in a real browser: what people do with it by mouse and keys, and what they save."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import Any, Final
from xml.etree import ElementTree

import pytest
from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

from shared.export.subject import Origin, Subject
from shared.tree.model import Leaf, Split, Tree
from shared.tree.schema import Attribute, Schema
from shared.web.tree_view import TreeView
from tests.support.tree_page import CHROMIUM, FLAGS, full_tree, page, served

pytestmark = pytest.mark.skipif(not CHROMIUM.exists(), reason=f"no browser at {CHROMIUM}")

READ_PNG: Final = """async (address) => {
  const image = new Image();
  image.src = address;
  await image.decode();
  const canvas = Object.assign(document.createElement("canvas"), { width: image.width, height: image.height });
  const drawing = canvas.getContext("2d");
  drawing.drawImage(image, 0, 0);
  const points = new Uint32Array(drawing.getImageData(0, 0, image.width, image.height).data.buffer);
  return [image.width, [...drawing.getImageData(2, 2, 1, 1).data], new Set(points).size];
}"""
SCHEMA = Schema.create(
    [
        Attribute("lumbar pain", ("no", "yes")),
        Attribute.numeric("temperature", ["37.5", "38.2"]),
        Attribute('</script><b>"נשים"', ("<i>", "أ", "z" * 200)),
    ],
    "diagnosis",
    ("none", "bladder inflammation", "<img src=x onerror=alert(1)>"),
)
TREE = Tree(
    Split(
        0,
        (
            Split(2, (Leaf(0, (30, 0, 0)), Leaf(1, (2, 40, 1)), Leaf(0, (0, 0, 0))), 1, (32, 40, 1)),
            Split(1, (Leaf(0, (10, 0, 2)), Leaf(2, (0, 1, 12)), Leaf(2, (0, 0, 31))), 2, (10, 1, 45)),
        ),
        2,
        (42, 41, 46),
    )
)


def view(disclosure: Any = "counts") -> TreeView:
    return TreeView(Subject.prepare(TREE, SCHEMA, disclosure, Origin(study="s")))


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    pages = {
        "/": page(view()),
        "/lit": page(view(), lit=(0, 2, 6)),
        "/class": page(view("class")),
        "/large": page(full_tree(10, 2)),
        "/huge": page(full_tree(12, 2)),
        "/leaf": page(TreeView(Subject.prepare(Tree(Leaf(1)), SCHEMA, "class", Origin()))),
    }
    with served(pages) as url:
        yield url


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=str(CHROMIUM), args=list(FLAGS))
        yield opened
        opened.close()


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    opened = browser.new_context(viewport={"width": 1280, "height": 900}, accept_downloads=True)
    yield opened
    opened.close()


@pytest.fixture
def tab(context: BrowserContext) -> Iterator[Page]:
    """A tab in which no script may fail and nothing may offend against the policy."""
    faults: list[str] = []
    opened = context.new_page()
    opened.on("pageerror", lambda error: faults.append(str(error)))
    opened.on("console", lambda message: faults.append(message.text) if message.type == "error" else None)
    yield opened
    assert faults == []


def focused(tab: Page) -> str:
    return str(tab.evaluate("document.activeElement.getAttribute('data-place')"))


def shown(tab: Page) -> int:
    return tab.locator("[role=treeitem]").count()


def test_keys_walk_open_and_close(tab: Page, address: str) -> None:
    tab.goto(address)
    assert shown(tab) == 9
    tab.locator('[data-place="0"]').focus()
    for key, place in [
        ("ArrowDown", "1"), ("ArrowRight", "3"), ("ArrowDown", "4"), ("ArrowLeft", "1"), ("End", "8"), ("Home", "0"),
        ("ArrowRight", "1"),
    ]:  # fmt: skip
        tab.keyboard.press(key)
        assert focused(tab) == place, key
    tab.keyboard.press("ArrowLeft")
    item = tab.locator('[data-place="1"]')
    assert (shown(tab), item.get_attribute("aria-expanded"), focused(tab)) == (6, "false", "1")
    assert "closed, 3 places below" in (item.get_attribute("aria-label") or "")
    tab.keyboard.press("Enter")
    assert (shown(tab), item.get_attribute("aria-expanded")) == (9, "true")
    assert tab.locator('[role=treeitem][tabindex="0"]').count() == 1


@pytest.mark.long
def test_mouse_opens_closes_and_tells(tab: Page, address: str) -> None:
    tab.goto(address)
    tab.locator('[data-place="2"]').click()
    assert shown(tab) == 6
    tab.locator("[data-tree-do=open]").click()
    assert shown(tab) == 9
    tab.locator("[data-tree-do=close]").click()
    assert shown(tab) == 1
    tab.locator("[data-tree-do=open]").click()
    tab.locator('[data-place="7"]').hover()
    told = tab.locator("[data-tree-details]").inner_text()
    for text in (
        "lumbar pain = yes and temperature > 37.5 to 38.2",
        "13 records",
        "bladder inflammation 1 (7.7",
        SCHEMA.classes[2],
    ):
        assert text in told
    widths = {
        n: float(tab.locator(f"path[data-edge='{n}']").get_attribute("stroke-width") or 0) for n in (1, 2, 5)
    }
    assert widths[1] > widths[2] > widths[5] > 0


@pytest.mark.long
def test_the_frame_zooms_fits_and_is_dragged(tab: Page, address: str) -> None:
    tab.goto(address)
    frame, picture = tab.locator("[data-tree-frame]"), tab.locator("svg.tree-svg")
    before = float(picture.get_attribute("width") or 0)
    tab.locator("[data-tree-do=in]").click()
    tab.locator("[data-tree-do=in]").click()
    assert float(picture.get_attribute("width") or 0) > 1.5 * before
    assert frame.evaluate("frame => frame.scrollWidth > frame.clientWidth")
    scrolled = int(frame.evaluate("frame => frame.scrollLeft"))
    place = frame.bounding_box()
    assert place is not None
    x, y = place["x"] + 300, place["y"] + place["height"] - 20
    tab.mouse.move(x, y)
    tab.mouse.down()
    tab.mouse.move(x - 60, y, steps=3)
    tab.mouse.up()
    assert int(frame.evaluate("frame => frame.scrollLeft")) == scrolled + 60
    tab.locator('[data-place="0"]').focus()
    tab.keyboard.press("0")
    assert frame.evaluate(
        "frame => frame.scrollWidth <= frame.clientWidth && frame.scrollHeight <= frame.clientHeight"
    )


def test_a_chosen_rule_lights_its_path_and_only_that(tab: Page, address: str) -> None:
    tab.goto(address)
    tab.locator("[data-tree-do=close]").click()
    rule = tab.locator("[data-tree-rule='8']")
    rule.click()
    lit = (
        "[...document.querySelectorAll('[role=treeitem].tree-lit')].map((item) => Number(item.dataset.place))"
    )
    assert tab.evaluate(lit) == [0, 2, 8]
    assert rule.get_attribute("aria-pressed") == "true"
    assert "on the path" in (tab.locator('[data-place="8"]').get_attribute("aria-label") or "")
    tab.locator("[data-tree-do=clear]").click()
    assert (tab.evaluate(lit), rule.get_attribute("aria-pressed")) == ([], "false")
    tab.evaluate("PrivetTree.of(document.querySelector('[data-tree]')).light([0, 1, 4])")
    assert tab.evaluate(lit) == [0, 1, 4]
    tab.goto(f"{address}/lit")
    assert tab.evaluate(lit) == [0, 2, 6]
    assert tab.locator("tr.lit").count() == 3


@pytest.mark.long
def test_search_counts_its_hits_and_walks_through_them(tab: Page, address: str) -> None:
    tab.goto(address)
    tab.locator("[data-tree-do=close]").click()
    tab.keyboard.press("/")
    tab.keyboard.type("TEMPERATURE")
    hits = tab.locator("[data-tree-hits]")
    assert hits.inner_text() == "1 of 1 places"
    tab.locator("input[type=search]").fill("none")
    assert hits.inner_text() == "1 of 3 places"
    tab.keyboard.press("Enter")
    assert (hits.inner_text(), tab.locator(".tree-hit").count()) == ("2 of 3 places", 2)
    tab.keyboard.press("Shift+Enter")
    assert hits.inner_text() == "1 of 3 places"
    assert tab.locator("[data-tree-rule]").count() == 3
    tab.locator("input[type=search]").fill("no such thing")
    assert (hits.inner_text(), tab.locator(".tree-hit").count()) == ("nothing found", 0)


def test_what_is_saved_can_be_read_elsewhere(tab: Page, address: str) -> None:
    tab.goto(address)
    with tab.expect_download() as saving:
        tab.locator("[data-tree-do=svg]").click()
    text = saving.value.path().read_text("utf-8")
    assert saving.value.suggested_filename == f"tree-{TREE.sha256[:12]}.svg"
    root = ElementTree.fromstring(text)
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert "<img src=x onerror=alert(1)>, 31 records" in {
        item.get("aria-label", "").partition(": ")[2] for item in root.iter()
    }
    assert {"none", "bladder inflammation", "<img src=x onerror=alert(1)>"} <= {
        item.text for item in root.iter()
    }  # the legend
    for unwanted in ("class=", "style=", "var(", "tabindex", "<script", "http://127"):
        assert unwanted not in text
    with tab.expect_download() as saving:
        tab.locator("[data-tree-do=png]").click()
    picture = base64.b64encode(saving.value.path().read_bytes()).decode()
    width, corner, colours = tab.evaluate(READ_PNG, f"data:image/png;base64,{picture}")
    assert width >= 2 * float(root.get("width", "0")) - 2
    assert corner == [255, 255, 255, 255]
    assert colours > 50  # boxes, texts and the patterns of the classes


@pytest.mark.long
def test_large_trees_begin_small_and_draw_fast(
    tab: Page, address: str, capsys: pytest.CaptureFixture[str]
) -> None:
    tab.goto(f"{address}/large")
    assert shown(tab) == 31
    took = tab.evaluate(
        """() => { const begun = performance.now();
        document.querySelector('[data-tree-do=open]').click(); document.body.getBoundingClientRect();
        return performance.now() - begun; }"""
    )
    assert shown(tab) == 2047
    with capsys.disabled():
        print(f"\n2047 places drawn in {took:.0f} ms")
    tab.locator("summary").click()
    assert tab.locator("[data-tree-rows] tr").count() == 2047
    assert tab.locator("[data-tree-rule]").count() == 100
    tab.locator("[data-tree-do=more]").click()
    assert tab.locator("[data-tree-rule]").count() == 200


@pytest.mark.long
def test_a_picture_opens_no_more_than_it_can_show(tab: Page, address: str) -> None:
    tab.goto(f"{address}/huge")
    tab.locator("[data-tree-do=open]").click()
    assert shown(tab) == 3999
    assert "more places than one picture can show" in tab.locator("[data-tree-said]").inner_text()


@pytest.mark.long
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_everybody_can_use_it(browser: Browser, address: str, theme: Any) -> None:
    context = browser.new_context(color_scheme=theme, viewport={"width": 360, "height": 780})
    tab = context.new_page()
    for path in ("/lit", "/class", "/leaf"):
        tab.goto(address + path)
        assert tab.evaluate("document.documentElement.scrollWidth") <= 360
        found = Axe().run(tab).response["violations"]
        assert [each for each in found if each["impact"] in ("serious", "critical")] == []
    context.close()


@pytest.mark.long
def test_without_script_there_is_the_table(browser: Browser, address: str) -> None:
    context = browser.new_context(java_script_enabled=False)
    tab = context.new_page()
    tab.goto(f"{address}/lit")
    assert tab.locator("[data-tree-rows] tr").count() == 9
    assert tab.locator("[data-tree-rows] tr").first.is_visible()
    assert not tab.locator("[data-tree-room]").is_visible()
    assert tab.locator("noscript").first.is_visible()
    context.close()
