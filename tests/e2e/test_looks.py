"""What looks at pages sees what is wrong with one."""

from __future__ import annotations

import pytest
from playwright.sync_api import Browser

from tests.support.chromium import Tab, needs_chromium
from tests.support.looking import Looks
from tests.support.tree_page import served

pytestmark = [needs_chromium, pytest.mark.long]

PAGE = """<!doctype html><html lang="en"><head><title>A page to look at</title>
<link rel="icon" href="/assets/privet.svg">
<link rel="stylesheet" href="/assets/vendored/pico.min.css">
<link rel="stylesheet" href="/assets/privet.css"></head>
<body><header>Top</header><main><h1>A page</h1>{}</main><footer>End</footer></body></html>"""
WRONG = {
    "nothing": ("", ""),
    "heading": ("<h1>Another</h1>", "2 h1"),
    "level": ("<h4>Deep</h4>", "h4 under h1"),
    "label": ('<input name="x">', "label"),
    "caption": ("<table><tr><td>1</td></tr></table>", "a table without a caption"),
    "value": ("<dl><dt>x</dt><dd>None</dd></dl>", "a cell with"),
    "template": ("<p>{{ text }}</p>", "raw text"),
    "wide": ('<canvas width="900" height="5"></canvas>', "wider than the window"),
    "script": ("<script>window.a = 1</script>", "Content Security Policy"),
    "style": ('<p style="color: red">x</p>', "Content Security Policy"),
    "stranger": ('<img alt="x" src="http://127.0.0.2:9/x.png">', "asked 127.0.0.2:9"),
    "dark": ('<p class="faint">hardly to be read</p>', "color-contrast"),
    "heavy": (f"<!--{'x' * 300_000}-->", "bytes"),
}


@pytest.mark.parametrize("name", sorted(WRONG))
def test_one_fault_is_seen(browser: Browser, name: str) -> None:
    inside, says = WRONG[name]
    looks = Looks(is_thorough=True)
    with served({"/": PAGE.format(inside)}) as address:
        tab = Tab.open(browser)
        tab.go(address)
        if name == "dark":  # only there: the colour of text on white
            tab.page.evaluate("document.querySelector('.faint').style.color = '#444'")
        looks.at(tab, name)
        tab.close()
    assert any(says in fault for fault in looks.found) if says else looks.found == []
