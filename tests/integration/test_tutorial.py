"""The tutorial, typed through in its order by a shell, its pages walked through in a browser: all but the installation.

The default run types what comes before the federation; the three runs of a federation are in the long test.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Page

from tests.support.chromium import needs_chromium, opened_browser

TUTORIAL = Path(__file__).parents[2] / "docs/tutorial.md"
TEXT = TUTORIAL.read_text()
BLOCKS = re.findall(r"^```sh\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)
INSTALL, VERSION, FILES, INSPECT, GROW, GROW_JSON, STAY, ASK, TIDY = range(9)
PATIENCE_SECONDS = 120


def surroundings() -> dict[str, str]:
    """With the commands of this environment, as after the tutorial's first block."""
    return {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}


def typed(number: int, folder: Path, **names: str) -> str:
    """What a block prints; names such as HOSPITAL are filled in."""
    block = BLOCKS[number]
    for name, value in names.items():
        block = block.replace(name, value)
    done = subprocess.run(
        ["bash", "-ec", block],
        cwd=folder,
        env=surroundings(),
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
    )
    assert done.returncode == 0, f"{block}\n{done.stdout}{done.stderr}"
    return done.stdout


def promised(after: str, before: str) -> list[str]:
    """What the page says one sees, between two of its sentences."""
    part = TEXT[TEXT.index(after) : TEXT.index(before)]
    return re.findall(r"`([^`]+)`", part)


def test_the_page_has_the_blocks_that_are_typed_here() -> None:
    assert len(BLOCKS) == 9
    assert BLOCKS[INSTALL] == 'make setup\nexport PATH="$PWD/.venv/bin:$PATH"\n'
    assert "--stay" in BLOCKS[STAY]
    assert "HOSPITAL" in BLOCKS[ASK]
    assert BLOCKS[GROW].rstrip() in BLOCKS[STAY]


def test_files_are_made_and_looked_at(tmp_path: Path) -> None:
    assert typed(VERSION, tmp_path).startswith("privet ")
    typed(FILES, tmp_path)
    told = typed(INSPECT, tmp_path)
    assert "identifier: patient" in told
    assert [
        name for name in ("fever", "cough", "smoker", "diagnosis") if f"  {name}: category" not in told
    ] == []
    typed(TIDY, tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.long
@pytest.mark.timeout(400)
def test_three_hospitals_grow_what_the_page_says(tmp_path: Path) -> None:
    typed(FILES, tmp_path)
    told = " ".join(typed(GROW, tmp_path).split())
    seen = promised("Near the end you see", "Those who write programs")
    assert len(seen) == 5
    assert [words for words in seen if words not in told] == []
    typed_json = typed(GROW_JSON, tmp_path)
    assert typed_json.split() == ["True", "240", "3"]


@needs_chromium
@pytest.mark.long
@pytest.mark.timeout(400)
def test_its_pages_show_what_the_page_says(tmp_path: Path) -> None:
    typed(FILES, tmp_path)
    with staying(tmp_path) as told:
        found = re.search(r"dashboard\s+(\S+)\s+sign in as\s+(\w+), password (\S+)", told)
        assert found is not None
        hospitals = re.findall(r"hospital h\d\s+(http\S+/)", told)
        assert len(hospitals) == 3
        with opened_browser() as browser:
            page = browser.new_page()
            look_at_dashboard(page, *found.groups())
            try_a_patient(page, hospitals[0])
        answer = typed(ASK, tmp_path, HOSPITAL=hospitals[0].rstrip("/"))
    assert '"class": "pneumonia"' in answer
    assert '"notice": "Decision support' in answer
    with pytest.raises(httpx.ConnectError):
        httpx.get(hospitals[0], trust_env=False)


def look_at_dashboard(page: Page, url: str, name: str, password: str) -> None:
    page.goto(url)
    page.get_by_label("Name").fill(name)
    page.get_by_label("Password", exact=True).fill(password)
    page.get_by_role("button", name="Sign in", exact=True).click()
    page.get_by_role("link", name="Jobs", exact=True).click()
    page.wait_for_url("**/jobs")
    page.locator("main table a").first.click()
    page.wait_for_url("**/jobs/*")
    page.locator("main a", has_text="Look at the result").click()
    page.wait_for_url("**/result")
    shown = page.inner_text("main")
    assert promised("**At the dashboard**", "**At a hospital's page**")[0] in shown


def try_a_patient(page: Page, url: str) -> None:
    page.goto(url)
    page.get_by_role("link", name="Models", exact=True).click()
    page.wait_for_url("**/house/models")
    page.locator("main table a").first.click()
    page.wait_for_url("**/house/models/*")
    page.get_by_role("treeitem", name="cough?").wait_for()
    page.locator("main a", has_text="Try a patient").first.click()
    page.wait_for_url("**/try")
    for question in ("cough", "fever"):
        page.get_by_label(question, exact=True).select_option(label="yes")
    page.get_by_role("button", name="Answer").click()
    shown = page.inner_text("#answer")
    seen = promised("*Try a patient* shows", "A ward's program asks")
    assert len(seen) == 2
    assert [words for words in seen if words not in shown] == []


@contextmanager
def staying(folder: Path) -> Iterator[str]:
    """The federation that stays, and what it has told until it was up; Ctrl-C ends it."""
    process = subprocess.Popen(
        ["bash", "-ec", f"exec {BLOCKS[STAY]}"],
        cwd=folder,
        env=surroundings(),
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    try:
        assert process.stderr is not None
        told = ""
        for line in process.stderr:
            told += line
            if line.strip().startswith("running until Ctrl-C"):
                break
        yield told
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=PATIENCE_SECONDS)
    assert process.returncode == 0, told
