"""Attributes, their ordered values, and the ordered classes: what every hospital's records look like.

Indices into these lists are what cells, paths and trees are made of (protocol section 3). A schema comes
from the signed manifest, never from local data. Limits are those of protocol section 13.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import pairwise
from typing import Any, Final

from shared.errors import InputError
from shared.tree.schema_checks import (
    check_distinct,
    check_list,
    check_name,
    check_size,
    listed,
    members,
    parse_cut,
    text_of,
)

MAX_ATTRIBUTES: Final = 1024
MAX_VALUES: Final = 256
MAX_CLASSES: Final = 64
MAX_CELLS: Final = 2**20

MISSING_NAMES: Final = ("", "missing")
"""How a categorical attribute may list the value that an empty field stands for, in order of preference."""

_NUMBER: Final = re.compile(r"[+-]?([0-9]{1,64}(\.[0-9]{0,64})?|\.[0-9]{1,64})([eE][+-]?[0-9]{1,3})?")


class UnknownValueError(InputError):
    """A field that the schema has no code for. The text names the attribute, never the field's content."""


@dataclass(frozen=True, slots=True)
class Attribute:
    """One attribute: ordered values, and for a numeric one the public cut points between them.

    With k cuts, `values` names the k+1 intervals `<= cut_1`, ..., `> cut_k` in order; one further value,
    if there is one, stands for an empty field. `cuts` is None for a categorical attribute.
    """

    name: str
    values: tuple[str, ...]
    cuts: tuple[Decimal, ...] | None = None
    _codes: Mapping[str, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Index the values once; every field of every record is looked up here."""
        object.__setattr__(self, "_codes", {value: code for code, value in enumerate(self.values)})

    @classmethod
    def numeric(cls, name: str, cuts: Iterable[Decimal | int | str], missing: str | None = None) -> Attribute:
        """A numeric attribute with generated interval names; `missing` names the value of an empty field."""
        points = tuple(parse_cut(name, str(cut)) for cut in cuts)
        return cls(name, interval_names(points) + (() if missing is None else (missing,)), points)

    @property
    def is_numeric(self) -> bool:
        """Whether the values are intervals between cut points."""
        return self.cuts is not None

    @property
    def missing_code(self) -> int | None:
        """The code of an empty field, or None where the schema has no value for it."""
        if self.cuts is not None:
            return len(self.values) - 1 if len(self.values) == len(self.cuts) + 2 else None
        return next((self._codes[name] for name in MISSING_NAMES if name in self._codes), None)

    def code_of(self, text: str) -> int:
        """The index of the value that a record's field stands for.

        A listed text of a categorical attribute is taken as it is; a number goes to the left of a cut that
        it equals.
        Raises: UnknownValueError: not listed, not a finite number, or empty without a value for it.
        """
        if self.cuts is None and text in self._codes:
            return self._codes[text]
        if not text.strip():
            return self._code_of_empty()
        if self.cuts is None:
            raise UnknownValueError(
                "a value that the schema does not list",
                where=f"attribute {self.name!r}",
                remedy="Correct the field, or have the study's schema list the value.",
            )
        return bisect_left(self.cuts, self._number(text.strip()))

    def _code_of_empty(self) -> int:
        code = self.missing_code
        if code is None:
            raise UnknownValueError(
                "an empty field, and the schema has no value for it",
                where=f"attribute {self.name!r}",
                remedy="Fill the field, or have the study's schema list a value for missing.",
            )
        return code

    def _number(self, text: str) -> Decimal:
        if _NUMBER.fullmatch(text) is None:
            raise UnknownValueError(
                "expected a finite decimal number such as 37.5",
                where=f"attribute {self.name!r}",
                remedy="Correct the field; NaN, infinity, units and thousands separators are refused.",
            )
        return Decimal(text)


@dataclass(frozen=True, slots=True)
class Schema:
    """Ordered attributes and ordered class labels. Build it with `create`, which checks every limit."""

    attributes: tuple[Attribute, ...]
    class_name: str
    classes: tuple[str, ...]

    @classmethod
    def create(cls, attributes: Iterable[Attribute], class_name: str, classes: Iterable[str]) -> Schema:
        """A checked schema.

        Raises: InputError: a limit of protocol section 13, a duplicate, an empty name, a character that a
            terminal would obey, cuts that do not rise, or cuts that do not fit the values.
        """
        schema = cls(tuple(attributes), class_name, tuple(classes))
        check_size(schema.attributes, "attributes", MAX_ATTRIBUTES, "schema")
        for attribute in schema.attributes:
            _check_attribute(attribute)
        check_name(class_name, "class")
        check_list(schema.classes, "class labels", MAX_CLASSES, "class")
        check_distinct([*(a.name for a in schema.attributes), class_name], "column names", "schema")
        if schema.cell_count > MAX_CELLS:
            raise InputError(
                f"the root alone has more than {MAX_CELLS} cells (values of all attributes times classes)",
                where="schema",
                remedy="Drop attributes, or merge values or classes.",
            )
        return schema

    @property
    def cell_count(self) -> int:
        """Cells of the root: the values of all attributes, times the classes."""
        return sum(len(attribute.values) for attribute in self.attributes) * len(self.classes)

    @property
    def class_count(self) -> int:
        """Number of classes."""
        return len(self.classes)

    def value_count(self, attribute: int) -> int:
        """Number of values of the attribute with this index."""
        return len(self.attributes[attribute].values)

    def class_code(self, text: str) -> int:
        """The index of a class label. Raises: UnknownValueError: the schema does not list it."""
        if text not in self.classes:
            raise UnknownValueError(
                "a class that the schema does not list",
                where=f"class column {self.class_name!r}",
                remedy="Correct the field, or have the study's schema list the class.",
            )
        return self.classes.index(text)

    def to_json(self) -> dict[str, Any]:
        """The plain form that the manifest carries: cuts as decimal text, or null."""
        return {
            "attributes": [_attribute_to_json(attribute) for attribute in self.attributes],
            "class": {"name": self.class_name, "labels": list(self.classes)},
        }

    @classmethod
    def from_json(cls, data: Any) -> Schema:
        """The inverse of `to_json`, with every check of `create`. Raises: InputError: another form."""
        document = members(data, {"attributes", "class"}, "schema")
        target = members(document["class"], {"name", "labels"}, "class")
        attributes = listed(document["attributes"], "schema attributes")
        return cls.create(
            (_attribute_from_json(entry, index) for index, entry in enumerate(attributes)),
            text_of(target["name"], "class name"),
            (text_of(label, "class label") for label in listed(target["labels"], "class labels")),
        )


def interval_names(cuts: Sequence[Decimal]) -> tuple[str, ...]:
    """Names of the k+1 intervals between k cuts: `<= 37.5`, `> 37.5 to 38`, `> 38`."""
    if not cuts:
        return ("any",)
    between = tuple(f"> {low} to {high}" for low, high in pairwise(cuts))
    return (f"<= {cuts[0]}", *between, f"> {cuts[-1]}")


def _attribute_to_json(attribute: Attribute) -> dict[str, Any]:
    cuts = None if attribute.cuts is None else [format(cut, "f") for cut in attribute.cuts]
    return {"name": attribute.name, "values": list(attribute.values), "cuts": cuts}


def _attribute_from_json(data: Any, index: int) -> Attribute:
    where = f"schema attribute {index + 1}"
    entry = members(data, {"name", "values", "cuts"}, where, optional={"cuts"})
    name = text_of(entry["name"], where)
    cuts = entry.get("cuts")
    points = (
        None if cuts is None else tuple(parse_cut(name, text_of(cut, where)) for cut in listed(cuts, where))
    )
    return Attribute(name, tuple(text_of(value, where) for value in listed(entry["values"], where)), points)


def _check_attribute(attribute: Attribute) -> None:
    check_name(attribute.name, "attribute")
    where = f"attribute {attribute.name!r}"
    check_list(attribute.values, "values", MAX_VALUES, where)
    if attribute.cuts is None:
        return
    if any(not cut.is_finite() for cut in attribute.cuts) or any(a >= b for a, b in pairwise(attribute.cuts)):
        raise InputError("cut points must rise strictly", where=where, remedy="Sort them and drop repeats.")
    if len(attribute.values) - len(attribute.cuts) not in (1, 2):
        raise InputError(
            "k cut points need k+1 interval names, or k+2 with one for missing",
            where=where,
            remedy="List one value per interval, in order.",
        )
