"""What the documentation site needs beyond Markdown files in `docs`: pages made at build time, links, diagrams.

mkdocs calls the functions named `on_…`. Pages made here cannot drift from what they are made of: the API reference
comes from the programs' own descriptions, the table of who learns what from the threat model, the list of decisions
from the decisions.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from deploy.site import apis, diagrams

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PROJECT = "project"
"""The folder of the site in which files from outside `docs` lie as they lie in the repository."""
PAGES = ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "deploy/README.md")
"""Pages of the repository outside `docs` that the site takes in."""
_LINK = re.compile(r"(\[(?:[^\[\]]|\[[^\]]*\])*\])\(([^)\s]+)\)")
_INSERT = re.compile(r"^<!-- insert ([\w.-]+): (.+) -->$", re.MULTILINE)
_MADE = re.compile(r"^<!-- made: (\w+) -->$", re.MULTILINE)
_MAKERS = {"cloud_reference": apis.cloud_reference, "agent_reference": apis.agent_reference}
_FENCED = re.compile(r"(^ *```.*?^ *```$)", re.MULTILINE | re.DOTALL)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Take in the pages of the repository, what they link to, and the pages made from the code."""
    made = {f"{PROJECT}/{name}": (ROOT / name).read_text(encoding="utf-8") for name in PAGES}
    made |= {f"{PROJECT}/{name}": (ROOT / name).read_text(encoding="utf-8") for name in _linked_files()}
    made["adr/index.md"] = decisions_page()
    for uri, content in made.items():
        files.append(File.generated(config, uri, content=content))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Insert sections of other pages, lead links to where files lie in the site, and draw diagrams."""
    uri = page.file.src_uri
    text = _INSERT.sub(lambda found: section(found.group(1), found.group(2)), markdown)
    text = _MADE.sub(lambda found: _MAKERS[found.group(1)](), text)
    parts = _FENCED.split(text)
    parts[::2] = [_LINK.sub(lambda found: _led(found, uri), part) for part in parts[::2]]
    return diagrams.drawn("".join(parts))


def on_post_page(output: str, page: Page, config: MkDocsConfig) -> str:
    """Name the theme's search for who does not see it."""
    return output.replace('role="dialog">', 'role="dialog" aria-label="Search">')


def section(document: str, heading: str) -> str:
    """The text under a heading of level 2, without the heading; its links within the document lead there.

    Raises:
        LookupError: the document has no such heading.
    """
    text = (DOCS / document).read_text(encoding="utf-8")
    found = re.search(rf"^## {re.escape(heading)}$(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    if found is None:
        raise LookupError(f"{document} has no heading {heading!r}; the page that inserts it names another")
    return found.group(1).strip().replace("](#", f"]({document}#")


def decisions_page() -> str:
    """The list of decision records, newest first."""
    lines = ["# Decisions", "", "Each says what there was to decide, what was chosen and what it costs.", ""]
    for path in sorted(DOCS.glob("adr/0*.md"), reverse=True):
        title = path.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ")
        lines.append(f"- [{title.replace('. ', ' · ', 1)}]({path.name})")
    return "\n".join(lines) + "\n"


def _linked_files() -> set[str]:
    """Text files outside `docs`, from the root, to which a page leads."""
    sources = [*DOCS.rglob("*.md"), *(ROOT / name for name in PAGES)]
    targets = {
        (path.parent / target.partition("#")[0]).resolve()
        for path in sources
        for _, target in _LINK.findall(path.read_text(encoding="utf-8"))
        if "://" not in target and not target.startswith(("#", "mailto:"))
    }
    outside = {path for path in targets if path.is_file() and path.is_relative_to(ROOT)}
    names = {path.relative_to(ROOT).as_posix() for path in outside if not path.is_relative_to(DOCS)}
    return names - set(PAGES)


def _led(found: re.Match[str], uri: str) -> str:
    """One link of the page at `uri`; a link to a folder that is no page stays as its words."""
    words, target = found.groups()
    place, mark, fragment = target.partition("#")
    if not place or "://" in target or target.startswith("mailto:"):
        return found.group()
    home = Path(uri)
    on_disk = ROOT / home.relative_to(PROJECT) if home.parts[0] == PROJECT else DOCS / home
    path = Path(posixpath.normpath((on_disk.parent / place).as_posix()))
    inside = _site_uri(path)
    if inside is None:
        return words[1:-1] if path.is_dir() else found.group()
    return f"{words}({posixpath.relpath(inside, home.parent.as_posix())}{mark}{fragment})"


def _site_uri(path: Path) -> str | None:
    if path == DOCS / "adr":
        return "adr/index.md"
    if path.is_dir():
        index = next((path / name for name in ("README.md", "index.md") if (path / name).exists()), None)
        return None if index is None else _site_uri(index)
    if path.is_relative_to(DOCS):
        return path.relative_to(DOCS).as_posix()
    return f"{PROJECT}/{path.relative_to(ROOT).as_posix()}" if path.is_relative_to(ROOT) else None
