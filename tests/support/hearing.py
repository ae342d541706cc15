"""A page as programs for people who do not see it get it: Chromium's accessibility tree, and what must hold of it.

    heard(tab)                  every fault, a line each
    Reader(tab).follow("link", "Jobs")

Axe reads the markup; this reads what the browser made of it, names computed and hidden parts left out.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from playwright.sync_api import CDPSession

from tests.support.chromium import Tab

CONTROLS: Final = (
    *(
        "button",
        "link",
        "textbox",
        "searchbox",
        "combobox",
        "checkbox",
        "radio",
        "slider",
        "spinbutton",
        "listbox",
    ),
    *("menuitem", "switch", "tab", "treeitem", "DisclosureTriangle", "Date", "progressbar"),
)
NAMED: Final = (
    *("table", "navigation", "region", "tree", "radiogroup", "dialog"),
    *("img", "image", "figure", "SvgRoot", "graphics-document"),
)
ONCE: Final = ("main", "banner", "contentinfo")
_LIVE: Final = frozenset({"status", "alert", "log"})
_SAYS_SOMETHING: Final = re.compile(r"\w")
_CHANGES_BY_ITSELF: Final = """() => [...document.querySelectorAll("[hx-trigger*=every], [sse-connect]")]
  .filter((part) => !part.closest("[data-calm]")).length"""
_FAULTY_FIELDS: Final = """() => [...document.querySelectorAll("[aria-invalid=true]")]
  .filter((part) => !(part.getAttribute("aria-describedby") || "").split(" ").some((id) =>
    document.getElementById(id)?.textContent.trim()))
  .map((part) => part.name || part.id)"""


@dataclass
class Heard:
    """One node that is told: its role, its name as computed, what else is said of it, and where it is."""

    role: str
    name: str
    said: dict[str, Any]
    above: Heard | None = field(default=None, repr=False)
    below: list[Heard] = field(default_factory=list, repr=False)

    def within(self, *roles: str) -> Heard | None:
        """The nearest node above with one of these roles."""
        node = self.above
        while node is not None and node.role not in roles:
            node = node.above
        return node

    def every(self, *roles: str) -> Iterator[Heard]:
        """All nodes below with one of these roles, in reading order."""
        for node in self.below:
            if node.role in roles:
                yield node
            yield from node.every(*roles)

    @property
    def words(self) -> str:
        """All text below."""
        return " ".join(" ".join(node.name for node in self.every("StaticText")).split())


def tree_of(tab: Tab) -> Heard:
    """What a reader gets of the page as it is now."""
    wire = tab.context.new_cdp_session(tab.page)
    try:
        nodes = wire.send("Accessibility.getFullAXTree")["nodes"]
    finally:
        wire.detach()
    by_id = {node["nodeId"]: node for node in nodes}
    root = _heard(nodes[0])
    _hang(nodes[0], root, by_id)
    return root


def _heard(node: dict[str, Any]) -> Heard:
    said = {each["name"]: each["value"].get("value") for each in node.get("properties", ())}
    name = " ".join(str(node.get("name", {}).get("value", "")).split())
    return Heard(str(node.get("role", {}).get("value", "")), name, said)


def _hang(node: dict[str, Any], place: Heard, by_id: dict[str, dict[str, Any]]) -> None:
    """Children below their parents; what is not told is left out, its children are not."""
    for child in node.get("childIds", ()):
        known = by_id.get(child)
        if known is None:
            continue
        if known["ignored"]:
            _hang(known, place, by_id)
            continue
        heard = _heard(known)
        heard.above = place
        place.below.append(heard)
        _hang(known, heard, by_id)


def heard(tab: Tab) -> list[str]:
    """What is wrong with the page for who hears it."""
    root = tree_of(tab)
    found = [
        *_names(root),
        *_landmarks(root),
        *_headings(root),
        *_tables(root),
        *_links(root),
        *_choices(root),
    ]
    if tab.page.evaluate(_CHANGES_BY_ITSELF) and not _live_places(root):
        found.append("it changes by itself and tells nobody: no live region")
    found += [
        f"large live region: {place.words[:60]}" for place in _live_places(root) if len(place.words) > 400
    ]
    found += [f"field {name} is faulty and does not say how" for name in tab.page.evaluate(_FAULTY_FIELDS)]
    return found


def _names(root: Heard) -> Iterator[str]:
    for node in root.every(*CONTROLS, *NAMED):
        if not _SAYS_SOMETHING.search(node.name):
            yield f"a {node.role} without a name, in {_where(node)}"


def _where(node: Heard) -> str:
    place = node.within("region", "navigation", "table", "form", "group", "main", "banner")
    return f"{place.role} {place.name!r}" if place else "the page"


def _landmarks(root: Heard) -> Iterator[str]:
    for role in ONCE:
        if (count := len(list(root.every(role)))) != 1:
            yield f"{count} times {role}"
    for role in ("navigation", "region"):
        for name, count in Counter(node.name for node in root.every(role)).items():
            if count > 1:
                yield f"{count} times {role} {name!r}"


def _headings(root: Heard) -> Iterator[str]:
    before = 0
    for node in root.every("heading"):
        level = int(node.said.get("level", 0))
        if level > before + 1:
            yield f"heading {level} under heading {before}: {node.name[:40]}"
        if not node.name:
            yield f"a heading {level} that says nothing"
        before = level
    if (count := sum(node.said.get("level") == 1 for node in root.every("heading"))) != 1:
        yield f"{count} headings of level 1"


def _tables(root: Heard) -> Iterator[str]:
    for node in root.every("LayoutTable"):
        yield f"a table that the browser takes for layout: {node.words[:60]}"
    for node in root.every("table"):
        if not list(node.every("columnheader")):
            yield f"table {node.name!r} without heads of columns"


def _links(root: Heard) -> Iterator[str]:
    """A list of links is how many get about, and in it nothing stands around a link. Menus may repeat a name."""
    places: defaultdict[str, set[str]] = defaultdict(set)
    for node in root.every("link"):
        if node.within("navigation") is None:
            places[node.name].add(str(node.said.get("url", "")))
    yield from (
        f"{len(to)} links {name!r} lead to different places" for name, to in places.items() if len(to) > 1
    )


def _choices(root: Heard) -> Iterator[str]:
    for node in root.every("radio"):
        group = node.within("radiogroup", "group")
        if group is None or not group.name:
            yield f"choice {node.name!r} without the question that it answers"


def _live_places(root: Heard) -> list[Heard]:
    return [
        node for node in root.every(*_roles(root)) if node.role in _LIVE or node.said.get("live") == "polite"
    ]


def _roles(root: Heard) -> set[str]:
    found: set[str] = set()
    waiting: Sequence[Heard] = [root]
    while waiting:
        found |= {node.role for node in waiting}
        waiting = [below for node in waiting for below in node.below]
    return found


class Reader:
    """Somebody who has keys and hears names, and nothing else."""

    def __init__(self, tab: Tab) -> None:
        self.tab = tab
        self._wire: CDPSession = tab.context.new_cdp_session(tab.page)

    def focused(self) -> Heard:
        """Where the focus is."""
        place = self._wire.send("Runtime.evaluate", {"expression": "document.activeElement"})["result"]
        asked = {"objectId": place["objectId"], "fetchRelatives": False}
        return _heard(self._wire.send("Accessibility.getPartialAXTree", asked)["nodes"][0])

    def to(self, role: str, name: str, most: int = 120) -> Heard:
        """Tab until something of this role begins with this name. Raises: AssertionError: nothing does."""
        passed = []
        for _ in range(most):
            self.tab.page.keyboard.press("Tab")
            now = self.focused()
            if now.role == role and now.name.startswith(name):
                return now
            passed.append(f"{now.role} {now.name!r}")
        raise AssertionError(
            f"{self.tab.path}: no {role} {name!r} by the Tab key; passed {', '.join(passed)}"
        )

    def follow(self, role: str, name: str) -> None:
        """Go there, press Enter, and wait for the page that comes."""
        self.to(role, name)
        self.tab.led_on_by(lambda: self.tab.page.keyboard.press("Enter"))

    def write(self, name: str, text: str, role: str = "textbox") -> None:
        """Type into a field."""
        self.to(role, name)
        self.tab.page.keyboard.type(text)
