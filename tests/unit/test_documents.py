"""What the documents say of the code is what the code says."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

from shared.errors import ErrorCode, JobCode
from shared.protocol.states import AGENT_TRANSITIONS, CLOUD_TRANSITIONS, mermaid

ROOT = Path(__file__).parents[2]
THREAT_MODEL = (ROOT / "docs/threat-model.md").read_text()
PROTOCOL = (ROOT / "docs/protocol.md").read_text()


@pytest.mark.parametrize("table", [CLOUD_TRANSITIONS, AGENT_TRANSITIONS], ids=["cloud", "agent"])
def test_the_state_diagrams_are_the_transition_tables(table: dict) -> None:
    assert mermaid(table) in PROTOCOL


@pytest.mark.parametrize("code", [*ErrorCode, *JobCode])
def test_every_error_code_is_listed(code: str) -> None:
    assert f"`{code}`" in PROTOCOL


def opening_places() -> list[str]:
    section = THREAT_MODEL.split("## What is opened")[1].split("\n## ")[0]
    return re.findall(r"`(shared\.[a-z_.]+)`", section)


@pytest.mark.parametrize("place", sorted(set(opening_places())))
def test_every_row_of_the_openings_names_code_that_exists(place: str) -> None:
    module, _, name = place.rpartition(".")
    assert callable(getattr(importlib.import_module(module), name))


def test_every_decryption_and_unwrap_has_its_row() -> None:
    """The calls that open something, found in the source, stand in functions that the threat model lists."""
    pattern = re.compile(r"\.(?:decrypt|unwrap)\(|unwrap_nonce\(")
    callers = {
        path.relative_to(ROOT).with_suffix("").as_posix().replace("/", ".")
        for room in ("shared/secure_tree", "shared/protocol", "machine", "cloud_service", "hospital_agent")
        for path in (ROOT / room).rglob("*.py")
        if pattern.search(path.read_text())
    }
    listed = {place.rpartition(".")[0] for place in opening_places()}
    # The keyring's cipher hands decrypt on to the key holder; it opens nothing by itself. Second factors of people's
    # accounts are secrets of the cloud, encrypted at rest: no hospital's value.
    assert callers - {"hospital_agent.keyring.cipher", "cloud_service.service.second_factor"} <= listed


@pytest.mark.parametrize("link", re.findall(r"\]\((adr/[^)]+)\)", PROTOCOL))
def test_links_to_decision_records_hold(link: str) -> None:
    assert (ROOT / "docs" / link).is_file()
