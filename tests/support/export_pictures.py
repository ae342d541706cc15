"""Pictures of trees, followed as a person does: from box to box by what stands at the lines, to the class told."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from dataclasses import dataclass, field

from tests.support.export_cases import Answer, Case

_EMPTY = "(empty)"
_ESCAPE = re.compile(r"\\(.)")


@dataclass
class Box:
    """`text`: of a split its question, of a leaf its class, `rest`: what stands below. `kids`: by the line's text."""

    text: str
    rest: str
    kids: dict[str, Box] = field(default_factory=dict)


def read_dot(text: str) -> Box:
    """The root's box of a graph."""
    boxes: dict[str, Box] = {}
    for start, end, label in re.findall(r'^  (n\d+)(?: -> (n\d+))? \[label="((?:[^"\\]|\\.)*)"', text, re.M):
        first, _, rest = _unescaped(label).partition("\n")
        if end:
            assert first not in boxes[start].kids
            boxes[start].kids[first] = boxes[end]
        else:
            boxes[start] = Box(first, rest)
    return boxes["n0"]


def dot_in_order(text: str) -> str:
    """The same graph, its boxes before its lines, as the reader wants them."""
    lines = text.splitlines(keepends=True)
    return "".join(sorted(lines, key=lambda line: re.match(r"  n\d+ -> ", line) is not None))


def _unescaped(label: str) -> str:
    plain = _ESCAPE.sub(lambda found: "\n" if found[1] == "n" else found[1], label)
    return plain.replace("&amp;", "&")


def follow_dot(text: str, case: Case) -> int:
    """Whether the graph leads every record to its class. Returns: records followed. Raises: AssertionError."""
    root = read_dot(dot_in_order(text))
    for answer in case.answers():
        box = root
        for attribute, branch in answer.steps:
            assert box.text == f"{attribute}?"
            box = box.kids[branch or _EMPTY]
        if box.kids:
            assert answer.label is None or box.rest.split("\n")[0] == f"else {answer.label or _EMPTY}"
            assert answer.label is not None or not box.rest.startswith("else ")
        else:
            assert box.text == (answer.label or _EMPTY)
    return len(case.records)


def follow_svg(text: str, case: Case) -> int:
    """Whether the picture's items, read in their order and levels, lead every record to its class.

    Returns: records followed. Raises: AssertionError.
    """
    items = ET.fromstring(text).findall(".//*[@role='treeitem']")
    told = [(int(item.get("aria-level", "")), item.findtext("{*}title") or "") for item in items]
    for answer in case.answers():
        at, shown = 0, told[0][1]
        for attribute, branch in answer.steps:
            assert shown.startswith(f"{attribute}?")
            at = _kid(told, at, f"{branch or _EMPTY}: ")
            shown = told[at][1].removeprefix(f"{branch or _EMPTY}: ")
        is_split = at + 1 < len(told) and told[at + 1][0] > told[at][0]
        _tells(shown, answer, is_split=is_split)
    return len(case.records)


def _kid(told: list[tuple[int, str]], at: int, beginning: str) -> int:
    level = told[at][0]
    below = range(at + 1, len(told))
    end = next((place for place in below if told[place][0] <= level), len(told))
    kids = [place for place in range(at + 1, end) if told[place][0] == level + 1]
    (found,) = (place for place in kids if told[place][1].startswith(beginning))
    return found


def _tells(shown: str, answer: Answer, *, is_split: bool) -> None:
    label = answer.label or _EMPTY
    if not is_split:
        assert shown == label or shown.startswith(f"{label}, ")
    elif answer.label is None:
        assert "otherwise " not in shown
    else:
        assert shown.endswith(f", otherwise {label}")
