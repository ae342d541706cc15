"""The guide to data contracts: its commands can be typed, its links lead somewhere, and it explains every finding."""

from __future__ import annotations

import re

import pytest

from tests.unit.test_operations_guide import ROOT, broken_links, commands, fault

GUIDE = ROOT / "docs/guides/data-contract.md"
TEXT = GUIDE.read_text()


def test_every_command_can_be_typed() -> None:
    written = commands(TEXT)
    assert len(written) > 8
    assert {" ".join(words): found for words in written if (found := fault(words))} == {}


def test_every_link_leads_somewhere() -> None:
    assert broken_links(GUIDE, TEXT) == []


def test_every_finding_is_explained() -> None:
    sources = "".join(path.read_text() for path in (ROOT / "hospital_agent/records/profile").glob("*.py"))
    codes = set(re.findall(r'[Ff]inding\(\s*"([a-z-]+)"', sources))
    assert len(codes) > 20
    assert {code for code in codes if code not in TEXT} == set()


@pytest.mark.parametrize("planted", ["privet data inspekt x.csv", "privet data merge a.json --into b.json"])
def test_a_wrong_command_is_noticed(planted: str) -> None:
    assert all(fault(words) for words in commands(f"    {planted}\n"))
