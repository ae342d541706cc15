"""The guide to Privet from Python: its code runs at a real cloud, and its commands, links and names are right."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any

import pytest

import privet.client
from privet.client import Client
from shared.errors import PrivetError
from tests.support.background import in_background
from tests.support.clinic import ROWS
from tests.support.cloud_server import running_cloud
from tests.unit.test_operations_guide import ROOT, broken_links, commands, fault

GUIDE = ROOT / "docs/guides/python.md"
TEXT = GUIDE.read_text()
BLOCKS = re.findall(r"^```python\n(.*?)^```", TEXT, re.DOTALL | re.MULTILINE)
TWO_QUESTIONS = [(row[1], row[2], row[-1]) for row in ROWS]
PARTS = {name: TWO_QUESTIONS[start::3] for start, name in enumerate(("h1", "h2", "h3"))}


@pytest.mark.long
def test_the_code_runs_block_after_block(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("sklearn")
    pytest.importorskip("pandas")
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    with running_cloud(tmp_path / "cloud", bits=512) as cloud:
        monkeypatch.setenv("PRIVET_CLOUD_URL", cloud.base_url)
        monkeypatch.setenv("PRIVET_TOKEN", cloud.token)
        for number, block in enumerate(BLOCKS, start=1):
            grows = ".fit()" in block or "start_job(" in block
            hospitals = in_background(cloud, PARTS) if grows else None
            exec(compile(block, f"{GUIDE.name}, block {number}", "exec"), names)
            if hospitals is not None:
                hospitals.join(20)
    printed = capsys.readouterr().out
    assert len(BLOCKS) == 8
    assert "h1 pending" in printed
    assert "['none' 'inflammation of the bladder']" in printed
    assert "['DONE', 'DONE']" in printed
    assert "404 not_found Not found" in printed
    assert (tmp_path / "tree.svg").read_text().endswith("</svg>\n")


def test_every_command_can_be_typed_and_every_link_leads_somewhere() -> None:
    written = [words for words in commands(TEXT) if words[0] in ("cloud", "agent")]
    assert len(written) == 2
    assert {" ".join(words): found for words in written if (found := fault(words))} == {}
    assert broken_links(GUIDE, TEXT) == []


def test_every_error_and_every_method_is_told_of() -> None:
    errors = [name for name, found in vars(privet.client).items() if _is_error(found)]
    assert len(errors) > 10
    assert [name for name in errors if f"`{name}`" not in TEXT] == []
    methods = [name for name, _ in inspect.getmembers(Client, inspect.isfunction) if name[0] != "_"]
    assert {name for name in methods if not re.search(rf"\b{name}\b", TEXT)} <= {"tree", "study", "result"}


def _is_error(found: Any) -> bool:
    return isinstance(found, type) and issubclass(found, PrivetError)
