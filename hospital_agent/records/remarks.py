"""What a person should know of a drafted schema: columns that were perhaps meant as numbers, and are categories.

Nothing of it is wrong enough to refuse. Each remark names the column and the remedy, never a value.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from shared.contract.spelling import number_or_none
from shared.texts import text
from shared.tree.schema import Attribute, Schema

MANY_VALUES: Final = 10
"""So many different numbers are rather measured than chosen from a list."""


def remarks(schema: Schema, *, numbers: bool) -> list[str]:
    """One sentence for each column in question. Args: numbers: the draft takes columns of numbers as numbers."""
    found = [
        _remark(attribute, numbers=numbers) for attribute in schema.attributes if not attribute.is_numeric
    ]
    labels = schema.classes
    if len(labels) > MANY_VALUES and _count_numbers(labels) == len(labels):
        found.append(text("remark.class_of_numbers", name=repr(schema.class_name), n=len(labels)))
    spelled = [a.name for a in schema.attributes if not a.is_numeric and _is_spelled_twice(a.values)]
    found += [text("remark.spelled_twice", shown=repr(name), name=name) for name in spelled]
    if _is_spelled_twice(labels):
        name = schema.class_name
        found.append(text("remark.class_spelled_twice", shown=repr(name), name=name))
    return [remark for remark in found if remark]


def _is_spelled_twice(values: Sequence[str]) -> bool:
    numbers = [number for number in map(number_or_none, values) if number is not None]
    return len(set(numbers)) < len(numbers)


def _remark(attribute: Attribute, *, numbers: bool) -> str:
    name, values, fine = repr(attribute.name), attribute.values, _count_numbers(attribute.values)
    if not numbers:
        if fine <= MANY_VALUES or 2 * fine <= len(values):
            return ""
        return text("remark.numbers_as_categories", name=name, n=fine)
    comma = _count_numbers([value.replace(",", ".", 1) for value in values])
    if 2 * max(fine, comma) <= len(values):
        return ""
    if comma > fine:
        return text("remark.decimal_commas", name=name)
    others = len(values) - fine
    return text(
        "remark.one_is_no_number" if others == 1 else "remark.no_numbers",
        name=name,
        n=others,
        all=len(values),
    )


def _count_numbers(values: Sequence[str]) -> int:
    return sum(number_or_none(value) is not None for value in values)
