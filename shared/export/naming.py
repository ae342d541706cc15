"""What a place and its branches are called in pictures: full names, and short ones that fit a box."""

from __future__ import annotations

import unicodedata
from typing import Final

from shared.export.subject import Place, Subject
from shared.tree.binary_tests import branch_names
from shared.tree.model import shown_number

EMPTY: Final = "(empty)"


def place_name(subject: Subject, place: Place) -> str:
    """Of a split its question, of a leaf its class."""
    if place.attribute is not None:
        return f"{subject.schema.attributes[place.attribute].name}?"
    return class_name(subject, place)


def class_name(subject: Subject, place: Place) -> str:
    """The class that answers at a place."""
    return "(no answer)" if place.label is None else subject.schema.classes[place.label] or EMPTY


def branches(subject: Subject, place: Place) -> list[tuple[str, Place]]:
    """The branches of a split by name, in order; none of a leaf."""
    if place.attribute is None:
        return []
    names = branch_names(subject.schema.attributes[place.attribute], place.test)
    return [(name or EMPTY, subject.places[kid]) for name, kid in zip(names, place.kids, strict=True)]


def evidence(subject: Subject, place: Place) -> str:
    """What the study shows of the training records of a place, in words; empty where it shows nothing."""
    if place.counts is None:
        return "" if place.share is None else f"share {100 * place.share:.1f} %"
    pairs = zip(subject.schema.classes, place.weights or (), strict=True)
    present = [f"{label or EMPTY} {shown_number(weight)}" for label, weight in pairs if weight]
    records = "1 record" if place.records == 1 else f"{shown_number(place.records)} records"
    return records if len(present) < 2 else f"{records}: {', '.join(present)}"


def shortened(text: str, most: int) -> str:
    """As much as fits the width of so many Latin letters, with an ellipsis where something was cut.

    Wide letters, as of Chinese, count as two; marks that stand on another letter as none.
    """
    if sum(map(_width, text)) <= most:
        return text
    kept, left = "", most - 1
    for letter in text:
        left -= _width(letter)
        if left < 0:
            break
        kept += letter
    return f"{kept}…"


def _width(letter: str) -> int:
    if unicodedata.combining(letter):
        return 0
    return 2 if unicodedata.east_asian_width(letter) in "WF" else 1
