"""The places of a tree that a record comes to: one path, or several where branches answer in parts."""

from __future__ import annotations

from collections.abc import Mapping

from shared.export.subject import Place, Subject
from shared.tree.binary_tests import AtMost, goes_right
from shared.tree.prediction import Value, value_code, value_number


def reached_places(subject: Subject, record: Mapping[str, Value]) -> tuple[int, ...]:
    """All places on the record's way, the root and the ends included, in level order.

    As `shared.tree.prediction` walks: without a usable value the way ends, or goes on down every branch with training
    records where the study's missing values are fractional and its counts are shown.
    Args: record: as for a prediction, by attribute name. Raises: InputError: not a number where one is due.
    """
    found, pending = [], [subject.places[0]]
    while pending:
        place = pending.pop()
        found.append(place.number)
        branch = _branch(subject, place, record)
        if branch is not None:
            pending.append(subject.places[place.kids[branch]])
        elif place.votes and _is_missing(subject, place, record):
            kids = (subject.places[kid] for kid in place.kids)
            pending.extend(kid for kid in kids if kid.records)
    return tuple(sorted(found))


def _branch(subject: Subject, place: Place, record: Mapping[str, Value]) -> int | None:
    """The branch that the value leads to; None at an end, and without a usable value."""
    if place.attribute is None:
        return None
    attribute = subject.schema.attributes[place.attribute]
    value = record.get(attribute.name)
    if isinstance(place.test, AtMost):
        number = value_number(attribute, value)
        return None if number is None else int(number > place.test.threshold)
    code, _ = value_code(attribute, value)
    if code is None or (attribute.is_fractional and code == attribute.missing_code):
        return None
    return code if place.test is None else int(goes_right(place.test, code))


def _is_missing(subject: Subject, place: Place, record: Mapping[str, Value]) -> bool:
    """Whether there is no value, rather than one that the training did not know."""
    if place.attribute is None:
        return False
    attribute = subject.schema.attributes[place.attribute]
    code, reason = value_code(attribute, record.get(attribute.name))
    return code == attribute.missing_code if code is not None else reason == "missing"
