"""What is asked of every page: axe's rules in both themes, how it is heard, its weight, width, parts; pictures of it.

`Looks.at(tab, name)` notes what is wrong in `found`, so that a walk over many pages tells everything at its end.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]

from tests.support.chromium import NARROW, WIDE, Tab, Theme
from tests.support.hearing import heard

SCREENSHOTS: Final = Path(__file__).resolve().parents[2] / "dist" / "screenshots"
"""Named at the end of a run by `tests/conftest.py`."""
MOST_BYTES: Final = 300_000
THEMES: Final[tuple[Theme, ...]] = ("light", "dark")
_GRAVE: Final = ("serious", "critical")
_ALL_RULES: Final = {"resultTypes": ["violations"]}
_COLOURS: Final = {"resultTypes": ["violations"], "runOnly": {"type": "rule", "values": ["color-contrast"]}}
PARTS: Final = """() => {
  const wrong = [];
  if (document.title.trim().length < 8) wrong.push(`title ${JSON.stringify(document.title)}`);
  if (document.querySelectorAll("h1").length !== 1) wrong.push(`${document.querySelectorAll("h1").length} h1`);
  if (document.querySelectorAll("main").length !== 1) wrong.push("not one main");
  if (!document.documentElement.lang) wrong.push("no lang");
  let level = 0;
  for (const heading of document.querySelectorAll("h1, h2, h3, h4, h5, h6")) {
    if (!heading.checkVisibility()) continue;
    const own = Number(heading.tagName[1]);
    if (own > level + 1) wrong.push(`h${own} under h${level}: ${heading.textContent.trim().slice(0, 40)}`);
    level = own;
  }
  for (const table of document.querySelectorAll("table")) {
    if (!table.caption) wrong.push("a table without a caption");
    if (table.querySelector("th:not([scope])")) wrong.push("a th without scope");
  }
  const main = document.querySelector("main");
  const raw = main.innerText.match(/.{0,30}(\\[object|undefined|\\{\\{|\\{%).{0,30}/);
  if (raw) wrong.push(`raw text: ${raw[0]}`);
  for (const cell of main.querySelectorAll("td, dd")) {
    if (/^(None|nan|null)$/.test(cell.innerText.trim())) wrong.push(`a cell with ${cell.outerHTML}`);
  }
  return wrong;
}"""
WIDER: Final = """() => {
  const root = document.documentElement;
  if (root.scrollWidth <= root.clientWidth) return "";
  const found = [...document.body.querySelectorAll("*")].filter((part) =>
    part.getBoundingClientRect().right > root.clientWidth + 1 && !part.closest(".scroll, .tree-frame, nav, pre"));
  const shown = found.slice(-1).map((part) => part.outerHTML.slice(0, 100)).join(" ");
  return `${root.scrollWidth} of ${root.clientWidth}: ${shown}`;
}"""


@dataclass
class Looks:
    """`found`: what was wrong, a line each. `folder`: where pictures go; None: none are taken.

    `is_thorough`: also weighed, the colours of the dark theme, and pictures at both widths in both themes.
    """

    folder: Path | None = None
    is_thorough: bool = False
    found: list[str] = field(default_factory=list)
    sizes: dict[str, tuple[int, int]] = field(default_factory=dict)

    def at(self, tab: Tab, name: str, *, weigh: bool = True) -> None:
        """One page as it is now. `weigh=False`: it was not loaded by `Tab.go`."""
        found = [*tab.page.evaluate(PARTS), *heard(tab), *_grave(tab, _ALL_RULES)]
        if weigh and self.is_thorough:
            found += self._weighed(tab, name)
        found += self._narrow_and_dark(tab, name)
        self.found += [f"{name}: {fault}" for fault in (*found, *tab.faults)]
        tab.faults.clear()

    def check(self) -> None:
        """Fail with everything that was found."""
        assert not self.found, "\n".join(self.found)

    def _weighed(self, tab: Tab, name: str) -> list[str]:
        loaded = tab.loaded
        self.sizes[name] = (loaded.sent, loaded.unpacked)
        return [f"{n} bytes" for n in (loaded.sent, loaded.unpacked) if not 0 < n < MOST_BYTES]

    def _narrow_and_dark(self, tab: Tab, name: str) -> list[str]:
        self._picture(tab, name, WIDE, "light")
        tab.see_as(NARROW, "light")
        found = [f"wider than the window: {wider}" for wider in [tab.page.evaluate(WIDER)] if wider]
        if self.is_thorough:
            found += _grave(tab, _ALL_RULES)
            self._picture(tab, name, NARROW, "light")
            tab.see_as(NARROW, "dark")
            found += _grave(tab, _COLOURS)
            self._picture(tab, name, NARROW, "dark")
            tab.see_as(WIDE, "dark")
            found += _grave(tab, _COLOURS)
            self._picture(tab, name, WIDE, "dark")
        tab.see_as(WIDE, "light")
        return found

    def _picture(self, tab: Tab, name: str, width: int, theme: Theme) -> None:
        if self.folder is not None:
            self.folder.mkdir(parents=True, exist_ok=True)
            tab.page.screenshot(path=self.folder / f"{name}-{width}-{theme}.png", full_page=True)


def _grave(tab: Tab, options: dict[str, Any]) -> list[str]:
    violations = Axe().run(tab.page, options=options).response["violations"]
    return [
        f"{each['id']}: {node['html'][:160]}"
        for each in violations
        if each["impact"] in _GRAVE
        for node in each["nodes"][:3]
    ]
