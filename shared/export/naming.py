"""What a place and its branches are called in pictures: full names, and short ones that fit a box."""

from __future__ import annotations

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
    """At most so many characters, the last an ellipsis where something was cut."""
    return text if len(text) <= most else text[: most - 1] + "…"
