"""The documentation site: it builds without a warning, its links lead somewhere, it loads nothing from elsewhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support.sites import ROOT, PageOf, Site, build
from tests.unit.test_operations_guide import broken_links, commands, fault

DOCS = ROOT / "docs"
OWN = [
    DOCS / name
    for name in ("index.md", "tutorial.md", "questions.md", "glossary.md", "who-learns-what.md", "codes.md")
]
OWN += sorted([*DOCS.glob("roles/*.md"), *DOCS.glob("how/*.md"), *DOCS.glob("reference/*.md")])
HOSTS = {"build.fhir.org", "ohdsi.github.io"}
"""Of other sites that readers may follow a link to."""
PROGRAM_ADDRESSES = {
    "https://api.github.com/repos/",
    "https://api.github.com/users/",
    "https://clipboardjs.com/",
    "https://unpkg.com/mermaid@11/dist/mermaid.min.js",
    "https://unpkg.com/resize-observer-polyfill",
    "http://lunrjs.com",
    "http://tartarus.org/",
    "https://bit.ly/2s3ChXG",
}
"""Named in the theme's program, which fetches none: for a repository's stars, sources, diagrams by script."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Site:
    return build(tmp_path_factory.mktemp("site") / "out")


def test_it_builds_without_a_warning(site: Site) -> None:
    assert site.told == ()
    assert len(site.pages) > 100
    assert (site.folder / "search/search_index.json").stat().st_size > 100_000


def test_every_link_leads_to_a_page_and_a_place(site: Site) -> None:
    assert site.broken() == []


def test_nothing_is_fetched_from_another_host(site: Site) -> None:
    assert site.foreign() == []
    # The theme's program fetches something to draw a diagram or tell of a repository: there is neither.
    texts = {name: page.text for name, page in site.pages.items()}
    assert [
        name
        for name, text in texts.items()
        if 'class="mermaid"' in text or "data-md-component=source" in text
    ] == []
    programs = [path for path in site.folder.rglob("*.js") if "lunr" not in path.parts]
    named = {url for path in programs for url in re.findall(r"https?://[\w.-]+\.[\w@./-]+", path.read_text())}
    assert named <= PROGRAM_ADDRESSES


def test_links_to_other_hosts_are_few_and_known(site: Site) -> None:
    hosts = {url.split("/")[2] for url in site.external()}
    assert hosts <= HOSTS


def test_pages_made_at_build_time_hold_what_they_are_made_of(site: Site) -> None:
    text = site.pages["who-learns-what.html"].text
    for row in ("two compute parties together", "stolen backup of the authority", "open_aggregate"):
        assert row in text
    assert "GET /v1/jobs/{job" in site.pages["reference/cloud-api.html"].text
    assert "POST /v1/models/{model_id}/predict" in site.pages["reference/agent-api.html"].text
    assert "Pages made at the server" in site.pages["adr/index.html"].text
    assert site.pages["protocol.html"].text.count("<svg viewBox") >= 1
    assert 'marker id="tip"' in site.pages["how/ppsdt.html"].text


@pytest.mark.parametrize("path", OWN, ids=lambda path: path.relative_to(DOCS).as_posix())
def test_every_command_can_be_typed_and_every_link_leads_somewhere(path: Path) -> None:
    text = path.read_text()
    assert {" ".join(words): told for words in commands(text) if words and (told := fault(words))} == {}
    assert broken_links(path, text) == []


def test_every_role_has_its_commands() -> None:
    roles = sorted(DOCS.glob("roles/*.md"))
    assert len(roles) == 6
    few = {path.stem for path in roles if len(commands(path.read_text())) < 6}
    assert few == {"index"}


def test_there_are_twenty_questions() -> None:
    assert len(re.findall(r"^### .+\?|^### .+now\?", (DOCS / "questions.md").read_text(), re.MULTILINE)) >= 20


def test_what_is_wrong_is_noticed(tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "index.md").write_text(
        "# A\n[gone](gone.md) [here](#nowhere)\n\n![](https://example.org/a.png)\n"
    )
    planted = build(tmp_path / "out", docs)
    assert len(planted.told) == 2
    assert {line.split(": ")[1] for line in planted.broken()} >= {"gone.md", "#nowhere"}
    assert any("example.org" in line for line in planted.foreign())


def test_addresses_in_styles_and_scripts_are_read() -> None:
    page = PageOf(
        '<p style="background:url(https://a.example/x)"><script src="//b.example/y"></script><a href="z">'
    )
    assert page.fetched == ["https://a.example/x", "//b.example/y"]
    assert page.followed == ["z"]
