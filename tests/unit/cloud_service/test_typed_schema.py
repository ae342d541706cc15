"""Attributes as people type them, one a line."""

from __future__ import annotations

import time
from typing import Any

import pytest

from cloud_service.pages.typed_schema import from_file, from_lines
from shared.errors import InputError


def typed(line: str) -> dict[str, Any]:
    """One attribute of a line."""
    (attribute,) = from_lines(line, "outcome", "home, ward").schema["attributes"]
    return {name: value for name, value in attribute.items() if name != "name" and value is not None}


@pytest.mark.parametrize(
    ("line", "means"),
    [
        ("a: no, yes", {"values": ["no", "yes"], "treat_as": "equality"}),
        ("a:no,yes", {"values": ["no", "yes"], "treat_as": "equality"}),
        ('a: "less, much less", more', {"values": ["less, much less", "more"], "treat_as": "equality"}),
        ("a (in order): I, II", {"values": ["I", "II"], "treat_as": "ordered"}),
        ("a (may be missing): x, y", {"values": ["x", "y", "missing"], "treat_as": "equality"}),
        ("a (in order) (may be missing): x, y", {"values": ["x", "y", "missing"], "treat_as": "ordered"}),
        ("a: cut at 37.5", {"values": ["<= 37.5", "> 37.5"], "cuts": ["37.5"]}),
        ("a: numbers 0 to 120", {"values": [], "numeric": {"minimum": "0", "maximum": "120", "decimals": 0}}),
        (
            "a: numbers -1 to 20, 2 decimals",
            {"values": [], "numeric": {"minimum": "-1", "maximum": "20", "decimals": 2}},
        ),
    ],
)
def test_a_line(line: str, means: dict[str, Any]) -> None:
    assert typed(line) == means


@pytest.mark.parametrize(
    ("lines", "says"),
    [
        ("a", "line 1"),
        ("a: x, y\n\nb:", "line 3"),
        ("a: x, y\n: x", "line 2"),
        ("a (may be missing): numbers 0 to 9", "contract"),
        ("a: cut at warm", "line 1"),
        ("a: numbers one to two", "line 1"),
        ("  \n ", "at least one"),
    ],
)
def test_a_line_that_cannot_be_read(lines: str, says: str) -> None:
    with pytest.raises(InputError, match=says):
        from_lines(lines, "outcome", "home, ward")


@pytest.mark.parametrize("raw", ["{", "[]", "3", '"x"', "{}", '{"class": {}}', '{"schema": 3}'])
def test_a_file_that_is_none_of_them(raw: str) -> None:
    with pytest.raises(InputError):
        from_file(raw)


@pytest.mark.parametrize(
    "line",
    [
        "a" + " " * 100_000 + "b: no, yes",
        "a" + "(in order)" * 40_000 + ": no, yes",
        f"a: numbers 0 to 1, {'9' * 5000} decimals",
        'a: "' + "x" * 200_000,
    ],
    ids=["blanks", "notes", "digits", "quote"],
)
def test_a_line_made_to_take_long_is_refused_at_once(line: str) -> None:
    began = time.thread_time()
    with pytest.raises(InputError):
        typed(line)
    assert time.thread_time() - began < 1
