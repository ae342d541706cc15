"""IF-THEN rules: read from the top, the first rule that holds answers.

    IF "lumbar pain" = "no" AND "temperature" <= 37.5 THEN "state" = "well"  # node 3, 30 records: well 28, sick 2


Names, values and classes are JSON strings, so that every text survives. After the rules of all branches of a split
comes one with the split's own path: it holds for records whose value there is missing or not listed. A path with no
condition is written `IF TRUE`. `IS MISSING` is an empty field. Where the tree keeps no class at its splits those rules
are absent.

Where an empty field lets all branches answer in parts (`shared.tree.voting`), the rule names each branch with its part
of the training records, and the rules of a named branch stand in a section of their own, whose conditions begin there:

    IF "lumbar pain" IS MISSING THEN 2/5 OF SECTION 1 AND 3/5 OF SECTION 2  # node 0

A section is read like the whole. A record's vote for a class is the sum, over the rules that answered, of the part that
led there times the class's share of the records in the remark.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Final

from shared.export.conditions import Condition, Range, branch_conditions
from shared.export.subject import Place, Subject
from shared.export.votes import parts
from shared.tree.numbers import decimal_text
from shared.tree.schema import Attribute

_HOW_TO_VOTE: Final = (
    "A rule that names sections sends its record on to each of them, as heavily as the fraction says. Read a section",
    "from the top as well. The rule that holds there adds its records' share of each class, times all fractions on the",
    "way, to the vote for that class; a rule of 0 records adds all to the class it names. The class with most votes",
    "answers, of equal ones the first of {order}.",
)


def to_rules(subject: Subject) -> str:
    """The rules as lines of text, their head as comments."""
    head = [f"# {name}: {text}" for name, text in subject.header]
    head.append("# Read from the top: the first rule that holds answers.")
    if not subject.always_answers:
        head.append("# Where none holds, a value is missing or not listed, and the tree has no answer.")
    if subject.votes:
        head.extend(f"# {line.format(order=_order(subject))}" for line in _HOW_TO_VOTE)
    return "\n".join([*head, *_rules(subject, subject.places[0]), *_sections(subject)]) + "\n"


def _order(subject: Subject) -> str:
    return ", ".join(map(quoted, subject.schema.classes))


def _sections(subject: Subject) -> Iterator[str]:
    """The rules below every place that a rule sends a part of a record to."""
    for place in subject.places:
        if place.parent is not None and subject.places[place.parent].votes and place.records:
            yield f"SECTION {place.number}"
            yield from _rules(subject, place)


def _rules(subject: Subject, start: Place) -> Iterator[str]:
    pending: list[tuple[Place, tuple[str, ...], bool]] = [(start, (), False)]
    while pending:
        place, path, kids_done = pending.pop()
        if place.attribute is None or kids_done:
            if place.label is not None:
                yield _rule(subject, place, path)
            continue
        attribute = subject.schema.attributes[place.attribute]
        if place.votes:
            yield _voting_rule(subject, place, (*path, condition_text(attribute.name, _empty(attribute))))
        pending.append((place, path, True))
        conditions = branch_conditions(attribute, place.test)
        for kid, condition in reversed(list(zip(place.kids, conditions, strict=True))):
            pending.append((subject.places[kid], (*path, condition_text(attribute.name, condition)), False))


def _rule(subject: Subject, place: Place, path: tuple[str, ...]) -> str:
    schema = subject.schema
    answer = f"{quoted(schema.class_name)} = {quoted(schema.classes[place.label or 0])}"
    return f"IF {' AND '.join(path) or 'TRUE'} THEN {answer}  # {_remark(subject, place)}"


def _voting_rule(subject: Subject, place: Place, path: tuple[str, ...]) -> str:
    sections = " AND ".join(f"{part} OF SECTION {kid.number}" for kid, part in parts(subject, place))
    return f"IF {' AND '.join(path)} THEN {sections}  # node {place.number}"


def _empty(attribute: Attribute) -> Condition:
    """A field without a value, or with the one that the study lists for that."""
    return Condition(values=() if attribute.is_numeric else (attribute.values[-1],), missing=True)


def _remark(subject: Subject, place: Place) -> str:
    remarks = [f"node {place.number}"]
    if not place.is_leaf:
        remarks.append("value not listed" if place.votes else "value missing or not listed")
    if place.weights is not None:
        named = quoted if subject.votes else str
        present = [
            f"{named(label)} {n}" for label, n in zip(subject.schema.classes, place.weights, strict=True) if n
        ]
        remarks.append(f"{place.records} records" + (f": {', '.join(present)}" if present else ""))
    elif place.share is not None:
        remarks.append(f"share {place.share!r}")
    return ", ".join(remarks)


def condition_text(name: str, condition: Condition) -> str:
    """A branch's condition, in brackets where it has alternatives; `FALSE` where nothing meets it."""
    alternatives = [_range_text(name, each) for each in condition.ranges]
    if len(condition.values) == 1:
        alternatives.append(f"{quoted(name)} = {quoted(condition.values[0])}")
    elif condition.values:
        alternatives.append(f"{quoted(name)} IN ({', '.join(map(quoted, condition.values))})")
    if condition.missing:
        alternatives.append(f"{quoted(name)} IS MISSING")
    if len(alternatives) == 1:
        return alternatives[0]
    return f"({' OR '.join(alternatives)})" if alternatives else "FALSE"


def quoted(text: str) -> str:
    """A JSON string."""
    return json.dumps(text, ensure_ascii=False)


def _range_text(name: str, bounds: Range) -> str:
    low, high = bounds
    found = []
    if low is not None:
        found.append(f"{quoted(name)} > {decimal_text(low)}")
    if high is not None:
        found.append(f"{quoted(name)} <= {decimal_text(high)}")
    return " AND ".join(found) or f"{quoted(name)} IS NOT MISSING"
