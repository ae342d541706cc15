"""What a person should know of a drafted schema: columns that were perhaps meant as numbers, and are categories.

Nothing of it is wrong enough to refuse. Each remark names the column and the remedy, never a value.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from shared.contract.spelling import number_or_none
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
        found.append(
            f"class column {schema.class_name!r} holds {len(labels)} different numbers, each a class of its own; "
            "another one is named with --class"
        )
    spelled = [a.name for a in schema.attributes if not a.is_numeric and _is_spelled_twice(a.values)]
    found += [_spelled_twice(f"column {name!r}", name, "category") for name in spelled]
    if _is_spelled_twice(labels):
        found.append(_spelled_twice(f"class column {schema.class_name!r}", schema.class_name, "class"))
    return [remark for remark in found if remark]


def _spelled_twice(head: str, name: str, each: str) -> str:
    return (
        f"{head} writes one number in several ways (as 1 and 1.0), each a {each} of its own; write it in one way in "
        f"all files (a study's data contract does it: privet data draft --spelling {name}=number)"
    )


def _is_spelled_twice(values: Sequence[str]) -> bool:
    numbers = [number for number in map(number_or_none, values) if number is not None]
    return len(set(numbers)) < len(numbers)


def _remark(attribute: Attribute, *, numbers: bool) -> str:
    values, fine = attribute.values, _count_numbers(attribute.values)
    if not numbers:
        if fine <= MANY_VALUES or 2 * fine <= len(values):
            return ""
        return (
            f"column {attribute.name!r} holds {fine} different numbers, each a category of its own; "
            "public cut points are given with --cut"
        )
    comma = _count_numbers([value.replace(",", ".", 1) for value in values])
    if 2 * max(fine, comma) <= len(values):
        return ""
    head = f"column {attribute.name!r} is compared by categories, for "
    if comma > fine:
        return f"{head}its numbers have decimal commas; write decimal points to have them compared as numbers"
    return (
        f"{head}{len(values) - fine} of its {len(values)} different values {_is(len(values) - fine)} (a gap counts as "
        "one); fill or leave out such rows to have it compared by numbers"
    )


def _is(count: int) -> str:
    return "is no number" if count == 1 else "are no numbers"


def _count_numbers(values: Sequence[str]) -> int:
    return sum(number_or_none(value) is not None for value in values)
