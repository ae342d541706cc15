"""SVG: a picture of the tree that stands by itself, needs no script, no style sheet and no font of its own.

The root is on the left; leaves take a row each, a split stands in the middle of its branches. This layered layout
suffices for trees: nothing can overlap. Names that do not fit are cut, their full text is the element's title. For
screen readers the picture is a tree of items with levels. Where counts may be shown, a branch is as wide as its share
of the records.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from shared.export.markup import Markup
from shared.export.naming import branches, class_name, evidence, place_name, shortened
from shared.export.subject import Place, Subject

_BOX_WIDTH: Final = 190
_BOX_HEIGHT: Final = 40
_GAP: Final = 150
_ROW: Final = 50
_MARGIN: Final = 16
_FOOT: Final = 40
_LETTERS: Final = 22
_BRANCH_LETTERS: Final = 14
_INK: Final = "#1a1a1a"
_LINE: Final = "#5a6470"
_SPLIT_FILL: Final = "#ffffff"
_CLASS_FILLS: Final = (
    "#d7e8f7", "#fde3c4", "#d5efdf", "#f6d8e8", "#fff3bf", "#e2dcf5", "#d8f0f2", "#ececec",
)  # fmt: skip
"""Light grounds on which `_INK` has a contrast above 12:1; a class is named in its box, never told by colour alone."""


@dataclass(frozen=True, slots=True)
class _Spot:
    """Where a place is drawn: the left upper corner of its box, and its level from 1."""

    x: int
    y: int
    level: int


def to_svg(subject: Subject) -> str:
    """The picture. Raises: InputError: a text that XML cannot hold."""
    spots = _layout(subject)
    width = max(spot.x for spot in spots) + _BOX_WIDTH + _MARGIN
    height = max(spot.y for spot in spots) + _BOX_HEIGHT + _MARGIN + _FOOT
    xml = Markup()
    xml.open(
        "svg",
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {width} {height}",
        width=str(width),
        height=str(height),
        font_family="sans-serif",
        font_size="13",
        fill=_INK,
    )
    xml.leaf("title", f"Decision tree for {subject.schema.class_name}")
    xml.leaf("desc", "; ".join(f"{name}: {text}" for name, text in subject.header))
    xml.leaf("rect", width="100%", height="100%", fill="#ffffff")
    _edges(xml, subject, spots)
    xml.open("g", role="tree", aria_label=f"Decision tree for {subject.schema.class_name}")
    _items(xml, subject, spots)
    xml.close()
    notice = f"{subject.origin.notice} Tree {subject.tree_sha256[:16]}."
    xml.leaf("text", notice, x=str(_MARGIN), y=str(height - _MARGIN), font_size="11")
    xml.close()
    return xml.text()


def _layout(subject: Subject) -> list[_Spot]:
    """A row for each leaf in the order of the branches; a split in the middle between its first and last kid."""
    levels = [1] * len(subject.places)
    for place in subject.places:  # parents first
        for kid in place.kids:
            levels[kid] = levels[place.number] + 1
    rows: dict[int, float] = {}
    for number, row in zip(_leaves_in_order(subject), range(len(subject.places)), strict=False):
        rows[number] = row
    for place in reversed(subject.places):  # kids first
        if place.kids:
            rows[place.number] = (rows[place.kids[0]] + rows[place.kids[-1]]) / 2
    return [
        _Spot(_MARGIN + (level - 1) * (_BOX_WIDTH + _GAP), _MARGIN + round(rows[number] * _ROW), level)
        for number, level in enumerate(levels)
    ]


def _leaves_in_order(subject: Subject) -> list[int]:
    found, pending = [], [0]
    while pending:
        place = subject.places[pending.pop()]
        if place.is_leaf:
            found.append(place.number)
        pending.extend(reversed(place.kids))
    return found


def _edges(xml: Markup, subject: Subject, spots: list[_Spot]) -> None:
    """The lines and their names; screen readers get them from the items."""
    total = subject.places[0].records
    xml.open("g", aria_hidden="true", fill="none", stroke=_LINE)
    for place in subject.places:
        for _, kid in branches(subject, place):
            start, end = spots[place.number], spots[kid.number]
            x1, y1 = start.x + _BOX_WIDTH, start.y + _BOX_HEIGHT // 2
            x2, y2 = end.x, end.y + _BOX_HEIGHT // 2
            bend = f"M{x1} {y1} C{x1 + 40} {y1} {x1 + 10} {y2} {x1 + 50} {y2} L{x2} {y2}"
            xml.leaf("path", d=bend, stroke_width=_width(kid, total))
    xml.close()
    xml.open("g", aria_hidden="true", font_size="12")
    for place in subject.places:
        for name, kid in branches(subject, place):
            end = spots[kid.number]
            x, y = end.x - _GAP + 52, end.y + _BOX_HEIGHT // 2 - 6
            xml.leaf("text", shortened(name, _BRANCH_LETTERS), x=str(x), y=str(y))
    xml.close()


def _width(kid: Place, total: Fraction) -> str:
    share = float(kid.records / total) if total else 0.0
    return f"{1.2 + 6 * share:.1f}"


def _items(xml: Markup, subject: Subject, spots: list[_Spot]) -> None:
    """The places in reading order, each with its whole text."""
    pending: list[tuple[Place, str]] = [(subject.places[0], "")]
    while pending:
        place, branch = pending.pop()
        _item(xml, subject, place, branch, spots[place.number])
        pending.extend((kid, name) for name, kid in reversed(branches(subject, place)))


def _item(xml: Markup, subject: Subject, place: Place, branch: str, spot: _Spot) -> None:
    told = evidence(subject, place)
    name = place_name(subject, place)
    parts = [f"{branch}: {name}" if branch else name, told]
    if not place.is_leaf and place.label is not None:
        parts.append(f"otherwise {class_name(subject, place)}")
    full = ", ".join(part for part in parts if part)
    fill = _SPLIT_FILL if not place.is_leaf else _CLASS_FILLS[(place.label or 0) % len(_CLASS_FILLS)]
    xml.open("g", role="treeitem", aria_level=str(spot.level), aria_label=full)
    xml.leaf("title", full)
    xml.leaf(
        "rect",
        x=str(spot.x),
        y=str(spot.y),
        width=str(_BOX_WIDTH),
        height=str(_BOX_HEIGHT),
        rx="14" if place.is_leaf else "3",
        fill=fill,
        stroke=_LINE,
    )
    first = spot.y + (17 if told else 25)
    xml.leaf("text", shortened(name, _LETTERS), x=str(spot.x + 10), y=str(first), font_weight="bold")
    if told:
        xml.leaf(
            "text", shortened(told, _LETTERS + 6), x=str(spot.x + 10), y=str(spot.y + 33), font_size="11"
        )
    xml.close()
