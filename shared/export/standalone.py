"""One Python file without dependencies that answers for records, from a program or as CSV on its standard input.

The file is data and a fixed program (`standalone_program`). Every text of the tree stands there as `ascii()` writes it,
so that the file is plain ASCII and no name, value or label can be taken for code.
"""

from __future__ import annotations

from typing import Any, Final

from shared.contract.reading import other_names
from shared.export.compiled import Coding, coding_of, question_of
from shared.export.standalone_deriving import DERIVING, NOTHING, derived_tables
from shared.export.standalone_program import PROGRAM
from shared.export.subject import READING, Place, Subject
from shared.export.votes import IN_PARTS
from shared.tree.numbers import decimal_text

_HEAD: Final = '''\
#!/usr/bin/env python3
"""A decision tree as one file of Python 3.8 or later, without dependencies.

As a program: `python3 FILE < records.csv` answers for records of a CSV file with a header, as CSV.
From Python: `predict({"name of an attribute": value, ...})` answers with a dict.
"""
'''


def to_python(subject: Subject) -> str:
    """The file's text."""
    codings = {attribute: coding_of(subject, attribute) for attribute in subject.asked}
    tables = {
        "ABOUT": dict(subject.header) | ({READING: subject.held_reading} if subject.contract else {}),
        "CLASS_NAME": subject.schema.class_name,
        "CLASSES": list(subject.schema.classes),
        "FIELDS": [_field(subject, coding) for coding in codings.values()],
        "COLUMNS": _columns(subject),
        "READS": [_reads(subject, attribute) for attribute in codings],
        "NODES": [_node(place, codings, subject.asked) for place in subject.places],
    }
    derived = derived_tables(subject)
    data = "\n\n".join(f"{name} = {_literal(value)}" for name, value in (tables | derived).items())
    program = PROGRAM.lstrip().replace("@DERIVE@", (DERIVING if derived else NOTHING).strip() + "\n\n")
    return "\n".join([_HEAD, program.replace("@DATA@\n", data + "\n")])


def _field(subject: Subject, coding: Coding) -> tuple[Any, ...]:
    """(name, listed values or None, points as decimal texts or None, code of an empty field, `IN_PARTS`, or None)."""
    attribute = subject.schema.attributes[coding.attribute]
    values = list(attribute.values) if coding.points is None else None
    points = None if coding.points is None else [decimal_text(point) for point in coding.points]
    return (attribute.name, values, points, IN_PARTS if coding.in_parts else coding.missing)


def _columns(subject: Subject) -> dict[str, str]:
    """The study's name of every further name of a column."""
    return {} if subject.contract is None else other_names(subject.contract)


def _reads(subject: Subject, attribute: int) -> tuple[Any, ...] | None:
    """(spelling, codes for missing, value by text, value by prefix, value of all others or None), texts as listed.

    Of a number only codes for missing matter: one outside its range is left as it is when a tree is asked.
    """
    if subject.contract is None:
        return None
    described = subject.contract.attributes[attribute]
    spelling = "number" if described.kind == "number" else described.spelling
    texts = {text: entry.value for entry in described.values for text in (entry.value, *entry.texts)}
    prefixes = {prefix: entry.value for entry in described.values for prefix in entry.prefixes}
    rest = next((entry.value for entry in described.values if entry.other), None)
    return (spelling, list(described.missing_codes), texts, prefixes, rest)


def _node(place: Place, codings: dict[int, Coding], asked: tuple[int, ...]) -> tuple[Any, ...]:
    """(class or None, share or None, counts or None), of a split followed by (field, kind, rank, kids, votes).

    Counts are integers, or fractions as text where parts of records came.
    """
    weights = place.weights
    counts = None if weights is None else [int(w) if w.denominator == 1 else str(w) for w in weights]
    answer = (place.label, place.share, counts)
    if place.attribute is None:
        return answer
    question = question_of(place, codings[place.attribute])
    return (
        *answer,
        asked.index(place.attribute),
        question.kind,
        question.rank,
        list(place.kids),
        place.votes,
    )


def _literal(value: Any) -> str:
    """Python source of lists, dicts and tuples of plain values, an entry a line, in ASCII."""
    if isinstance(value, dict):
        entries = [f"{key!a}: {entry!a}" for key, entry in value.items()]
        return "{\n" + "".join(f"    {entry},\n" for entry in entries) + "}"
    if isinstance(value, list):
        return "[\n" + "".join(f"    {entry!a},\n" for entry in value) + "]"
    return ascii(value)
