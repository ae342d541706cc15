"""A record without a value where branches answer in parts: `shared.tree.voting` on places and codes."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Final

from shared.export.compiled import Question
from shared.export.subject import Place, Subject

IN_PARTS: Final = -2
"""The code of an empty field that takes a record down all branches in parts; -1 is that of one that stops it."""

NEARLY_EQUAL: Final = 2.0**-40
"""Where a form sums shares as doubles, sums closer than this are equal: far above rounding, far below what is met."""


def vote(
    subject: Subject, start: int, code_of: Callable[[int], int], question_at: Callable[[Place], Question]
) -> tuple[Fraction, ...]:
    """The share of each class for a record at the place `start`; together 1.

    Args: code_of: the record's code of an attribute. question_at: what a split asks of it.
    """
    votes = [Fraction(0)] * subject.schema.class_count
    pending = [(subject.places[start], Fraction(1))]
    while pending:
        place, share = pending.pop()
        code = -1 if place.attribute is None else code_of(place.attribute)
        if code >= 0:
            pending.append((subject.places[place.kids[question_at(place).branch_of(code)]], share))
        elif code == IN_PARTS and place.votes:
            pending.extend((kid, share * part) for kid, part in parts(subject, place))
        else:
            for label, part in enumerate(end_shares(place, len(votes))):
                votes[label] += share * part
    return tuple(votes)


def parts(subject: Subject, place: Place) -> list[tuple[Place, Fraction]]:
    """The branches that training records went down, each with its part of them."""
    kids = [subject.places[kid] for kid in place.kids]
    whole = sum((kid.records for kid in kids), start=Fraction(0))
    return [(kid, kid.records / whole) for kid in kids if kid.records]


def end_shares(place: Place, classes: int) -> list[Fraction]:
    """The training records' shares of the classes; of a place that no record reached, all for its label."""
    if place.weights is None or not place.records:
        return [Fraction(label == place.label) for label in range(classes)]
    return [weight / place.records for weight in place.weights]
