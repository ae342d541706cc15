"""The ears of the walk over all pages are held to a page with every fault, and to one without."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.chromium import Tab, needs_chromium, opened_browser
from tests.support.hearing import Reader, heard, tree_of

pytestmark = needs_chromium
GOOD = """<!doctype html><html lang="en"><title>Good page</title><body>
<header><nav aria-label="Pages"><a href="http://127.0.0.1/a">Jobs</a></nav></header>
<main><h1>One</h1><h2>Two</h2>
<div hx-trigger="every 3s"><p role="status">it runs</p></div>
<table><caption>Jobs</caption><thead><tr><th scope="col">Job</th></tr></thead><tbody><tr><td>
<a href="http://127.0.0.1/b">Log, 1</a> <a href="http://127.0.0.1/c" aria-label="Log, 2">Log</a>
</td></tr></tbody></table>
<form><label for="n">Name</label><input id="n" name="n" aria-invalid="true" aria-describedby="f"><p id="f">too long</p>
<fieldset><legend>Which</legend><label><input type="radio" name="r">this</label></fieldset>
<button>Save</button></form></main><footer>end</footer></body></html>"""
FAULTS = {
    '<button>Save</button>': ('<button>+</button>', "a button without a name"),
    '<label for="n">Name</label>': ("", "a textbox without a name"),
    "<h2>Two</h2>": ("<h3>Two</h3>", "heading 3 under heading 1"),
    "<h1>One</h1>": ("<h1>One</h1><h1>More</h1>", "2 headings of level 1"),
    '<p role="status">it runs</p>': ("<p>it runs</p>", "it changes by itself and tells nobody"),
    '<p role="status">': (f'<p role="status">{"far too much " * 40}', "large live region"),
    "<caption>Jobs</caption>": ("", "a table without a name"),
    '<thead><tr><th scope="col">Job</th></tr></thead>': ("", "without heads of columns"),
    ' aria-label="Log, 2">Log': (">Log, 1", "2 links 'Log, 1' lead to different places"),
    "<legend>Which</legend>": ("", "choice 'this' without the question"),
    "<p id=\"f\">too long</p>": ('<p id="f"></p>', "field n is faulty and does not say how"),
    "<footer>end</footer>": ("", "0 times contentinfo"),
    '<nav aria-label="Pages">': ("<nav>", "a navigation without a name"),
    "<main>": ('<main><nav aria-label="Pages"></nav>', "2 times navigation 'Pages'"),
}  # fmt: skip


@pytest.fixture(scope="module")
def tab() -> Iterator[Tab]:
    with opened_browser() as browser:
        yield Tab.open(browser)


def test_each_fault_is_heard_and_nothing_else(tab: Tab) -> None:
    tab.page.set_content(GOOD)
    assert heard(tab) == []
    for whole, (broken, told) in FAULTS.items():
        assert whole in GOOD
        tab.page.set_content(GOOD.replace(whole, broken))
        assert any(told in fault for fault in heard(tab)), told


def test_a_reader_with_keys_finds_things_by_their_names(tab: Tab) -> None:
    tab.page.set_content(GOOD)
    reader = Reader(tab)
    reader.write("Name", "Ada")
    assert reader.to("button", "Save").name == "Save"
    assert tab.page.input_value("#n") == "Ada"
    with pytest.raises(AssertionError, match=r"no button 'Delete' by the Tab key; passed .*link 'Jobs'"):
        reader.to("button", "Delete", most=4)
    assert "it runs" in tree_of(tab).words
