"""IF-THEN rules: read from the top, the first rule that holds answers.

    IF "lumbar pain" = "no" AND "temperature" <= 37.5 THEN "state" = "well"  # node 3, 30 records: well 28, sick 2

Names, values and classes are JSON strings, so that every text survives. After the rules of all branches of a split
comes one with the split's own path: it holds for records whose value there is missing or not listed. A path with no
condition is written `IF TRUE`. `IS MISSING` is an empty field. Where the tree keeps no class at its splits those rules
are absent.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from shared.export.conditions import Condition, Range, branch_conditions
from shared.export.subject import Place, Subject
from shared.tree.numbers import decimal_text


def to_rules(subject: Subject) -> str:
    """The rules as lines of text, their head as comments."""
    subject.refuse_votes("rules")
    head = [f"# {name}: {text}" for name, text in subject.header]
    head.append("# Read from the top: the first rule that holds answers.")
    if not subject.always_answers:
        head.append("# Where none holds, a value is missing or not listed, and the tree has no answer.")
    return "\n".join([*head, *_rules(subject)]) + "\n"


def _rules(subject: Subject) -> Iterator[str]:
    pending: list[tuple[Place, tuple[str, ...], bool]] = [(subject.places[0], (), False)]
    while pending:
        place, path, kids_done = pending.pop()
        if place.attribute is None or kids_done:
            if place.label is not None:
                yield _rule(subject, place, path)
            continue
        attribute = subject.schema.attributes[place.attribute]
        pending.append((place, path, True))
        conditions = branch_conditions(attribute, place.test)
        for kid, condition in reversed(list(zip(place.kids, conditions, strict=True))):
            pending.append((subject.places[kid], (*path, condition_text(attribute.name, condition)), False))


def _rule(subject: Subject, place: Place, path: tuple[str, ...]) -> str:
    schema = subject.schema
    answer = f"{quoted(schema.class_name)} = {quoted(schema.classes[place.label or 0])}"
    return f"IF {' AND '.join(path) or 'TRUE'} THEN {answer}  # {_remark(subject, place)}"


def _remark(subject: Subject, place: Place) -> str:
    remarks = [f"node {place.number}"]
    if not place.is_leaf:
        remarks.append("value missing or not listed")
    if place.counts is not None:
        present = [f"{label} {n}" for label, n in zip(subject.schema.classes, place.counts, strict=True) if n]
        remarks.append(f"{sum(place.counts)} records" + (f": {', '.join(present)}" if present else ""))
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
