"""The documentation site, built once, and what can be wrong with its pages: links that lead nowhere or elsewhere."""

from __future__ import annotations

import logging
import os
import re
from dataclasses import dataclass, field
from functools import cached_property
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

ROOT = Path(__file__).parents[2]
LOADED = {
    ("script", "src"),
    ("img", "src"),
    ("iframe", "src"),
    ("source", "src"),
    ("object", "data"),
    ("form", "action"),
}
"""Attributes whose address a browser fetches or sends to by itself; of `link`, all but `canonical` and the like."""
_NOT_FETCHED = {"canonical", "prev", "next", "license", "author"}
_IN_STYLE = re.compile(r"""(?:@import\s+|url\()\s*["']?([^"')\s;]+)""")


@dataclass
class PageOf(HTMLParser):
    """What one built page names: ids, addresses that are fetched, addresses that are followed."""

    text: str
    ids: set[str] = field(default_factory=set)
    fetched: list[str] = field(default_factory=list)
    followed: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()
        self.feed(self.text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = {name: value or "" for name, value in attrs}
        self.ids |= {named[name] for name in ("id", "name") if name in named}
        self.fetched += [value for name, value in named.items() if (tag, name) in LOADED]
        self.fetched += _IN_STYLE.findall(named.get("style", ""))
        if "href" in named:
            fetched = tag in ("link", "use") and not _NOT_FETCHED & set(named.get("rel", "").split())
            (self.fetched if fetched else self.followed).append(named["href"])


@dataclass(frozen=True)
class Site:
    """A built site. `told`: warnings and errors of the build."""

    folder: Path
    told: tuple[str, ...]

    @cached_property
    def pages(self) -> dict[str, PageOf]:
        """Every page by its address within the site."""
        paths = sorted(self.folder.rglob("*.html"))
        return {path.relative_to(self.folder).as_posix(): PageOf(path.read_text()) for path in paths}

    def broken(self) -> list[str]:
        """Followed and fetched addresses of this site that lead to no file, or to no place in a page."""
        found = []
        for address, page in self.pages.items():
            for target in page.followed + page.fetched:
                if not is_foreign(target) and not self._leads(address, target):
                    found.append(f"{address}: {target}")
        return found

    def _leads(self, address: str, target: str) -> bool:
        parts = urlsplit(target)
        if parts.scheme in ("mailto", "data"):
            return True
        path = (self.folder / address).parent / unquote(parts.path) if parts.path else self.folder / address
        path = (self.folder / parts.path.lstrip("/")) if parts.path.startswith("/") else path
        path = path / "index.html" if path.is_dir() else path
        if not path.is_file():
            return False
        place = unquote(parts.fragment)
        if not place or path.suffix != ".html" or place == "__top":
            return True
        return place in self.pages[path.resolve().relative_to(self.folder.resolve()).as_posix()].ids

    def foreign(self) -> list[str]:
        """What pages and styles would fetch from another host."""
        found = [
            f"{name}: {url}" for name, page in self.pages.items() for url in page.fetched if is_foreign(url)
        ]
        for path in sorted(self.folder.rglob("*.css")):
            found += [f"{path.name}: {url}" for url in _IN_STYLE.findall(path.read_text()) if is_foreign(url)]
        return found

    def external(self) -> dict[str, list[str]]:
        """Addresses of other hosts that a reader may follow, with the pages that name them."""
        found: dict[str, list[str]] = {}
        for name, page in self.pages.items():
            for url in filter(is_foreign, page.followed):
                found.setdefault(url, []).append(name)
        return found


def is_foreign(address: str) -> bool:
    return bool(urlsplit(address).netloc)


def build(folder: Path, docs: Path | None = None) -> Site:
    """The site as `make docs` builds it, in this process. `docs`: another folder of pages, without the navigation."""
    os.environ.setdefault("NO_MKDOCS_2_WARNING", "1")
    from mkdocs.commands.build import build as mkdocs_build
    from mkdocs.config import load_config

    told: list[str] = []
    handler = logging.Handler(logging.WARNING)
    handler.emit = lambda record: told.append(record.getMessage())  # type: ignore[method-assign]
    logger = logging.getLogger("mkdocs")
    logger.addHandler(handler)
    more = {} if docs is None else {"docs_dir": str(docs), "hooks": [], "extra_css": []}
    try:
        config = load_config(str(ROOT / "mkdocs.yml"), site_dir=str(folder), strict=False, **more)
        config.nav = config.nav if docs is None else None
        config.plugins.on_startup(command="build", dirty=False)
        mkdocs_build(config)
    finally:
        logger.removeHandler(handler)
    return Site(folder, tuple(told))
