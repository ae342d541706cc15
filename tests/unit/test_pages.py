"""The pages made from the code are the code's, and the help pages of errors are whole."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from cloud_service.settings import all_settings as cloud_settings
from hospital_agent.settings import all_settings as agent_settings
from privet.__main__ import run
from privet.explaining import page_titles
from tests.support.pages import DOCS, PAGES

ERRORS = DOCS / "errors"
SECTIONS = ["What happened", "Why", "What to do", "How to check"]


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_a_page_is_what_the_code_says_now(path: Path) -> None:
    assert path.read_text(encoding="utf-8") == PAGES[path](), "run: python -m tests.support.pages"


@pytest.mark.parametrize("settings", [cloud_settings(), agent_settings()], ids=["cloud", "agent"])
def test_every_setting_is_explained(settings: list) -> None:
    assert settings
    assert [one.path for one in settings if not one.meaning.endswith((".", ")"))] == []


@pytest.mark.parametrize("number", page_titles())
def test_a_help_page_has_all_its_parts(number: str) -> None:
    text = (ERRORS / f"{number}.md").read_text(encoding="utf-8")
    assert re.findall(r"^## (.+)$", text, re.MULTILINE) == SECTIONS
    for part in re.split(r"^## .+$", text, flags=re.MULTILINE)[1:]:
        assert part.strip()
    for link in re.findall(r"\]\(([^)#]+)", text):
        assert (ERRORS / link).exists(), link


@pytest.mark.parametrize("word", ["C012", "c012", "[C012]", "PRIVET-C012"])
def test_explain_prints_the_page(capsys: pytest.CaptureFixture[str], word: str) -> None:
    assert run(["explain", word]) == 0
    assert capsys.readouterr().out.strip() == (ERRORS / "C012.md").read_text(encoding="utf-8").strip()


def test_explain_lists_all(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["explain", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)["pages"]
    assert {page["number"] for page in listed} == {path.stem for path in ERRORS.glob("[CAT]*.md")}


def test_a_number_without_a_page_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["explain", "C999"]) == 3
    assert "privet explain" in capsys.readouterr().err
