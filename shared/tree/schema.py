"""Attributes, their ordered values, and the ordered classes: what every hospital's records look like.

Indices into these lists are what cells, paths and trees are made of (protocol section 3). A schema comes
from the signed manifest, never from local data. Limits are those of protocol section 13. Numbers that mode G
compares as they are, without cut points, are the business of `numbers`.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import pairwise
from typing import Any, Final, Literal, get_args

from shared.errors import InputError
from shared.tree.numbers import FixedPoint, UnknownValueError, parse_number
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

TreatAs = Literal["ordered", "equality"]
"""How mode G tests an attribute of listed values: by their order, or whether it is one of them."""

Missing = Literal["fractional"]
"""What becomes of a record whose field is empty, where that is not one more value: parts of it go to every branch."""


@dataclass(frozen=True, slots=True)
class Attribute:
    """One attribute: ordered values, and for a numeric one the public cut points between them.

    With k cuts, `values` names the k+1 intervals `<= cut_1`, ..., `> cut_k` in order; one further value,
    if there is one, stands for an empty field. `cuts` is None for a categorical attribute. With `fixed_point` the
    attribute has no listed values at all: its numbers are compared as they are, in mode G only. `treat_as`: what
    mode G makes of listed values. `missing`: with "fractional" the value of an empty field, which is then the last one,
    has a code and is counted as every other, but makes no branch (docs/adr/0031).
    """

    name: str
    values: tuple[str, ...]
    cuts: tuple[Decimal, ...] | None = None
    fixed_point: FixedPoint | None = None
    treat_as: TreatAs | None = None
    missing: Missing | None = None
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
    def is_fractional(self) -> bool:
        """Whether a record without a value goes to every branch in parts."""
        return self.missing == "fractional"

    @property
    def branch_count(self) -> int:
        """Branches of a split on it that has one a value: the values, without a fractional one for empty fields."""
        return len(self.values) - self.is_fractional

    @property
    def is_numeric(self) -> bool:
        """Whether a record's field is a number: one that cut points place, or one in fixed point."""
        return self.cuts is not None or self.fixed_point is not None

    @property
    def missing_code(self) -> int | None:
        """The code of an empty field, or None where the schema has no value for it."""
        if self.fixed_point is not None:
            number = self.fixed_point.missing
            return None if number is None else self.fixed_point.code_of(self.name, number)
        if self.cuts is not None:
            return len(self.values) - 1 if len(self.values) == len(self.cuts) + 2 else None
        return next((self._codes[name] for name in MISSING_NAMES if name in self._codes), None)

    def code_of(self, text: str) -> int:
        """The index of the value that a record's field stands for, or its fixed-point code.

        A listed text of a categorical attribute is taken as it is; a number goes to the left of a cut that
        it equals.
        Raises: UnknownValueError: not listed, not a finite number, empty without a value for it, or not in the
            declared range and decimals.
        """
        if not self.is_numeric and text in self._codes:
            return self._codes[text]
        if not text.strip():
            return self._code_of_empty()
        if self.fixed_point is not None:
            return self.fixed_point.code_of(self.name, parse_number(self.name, text.strip()))
        if self.cuts is None:
            raise UnknownValueError(
                "a value that the schema does not list",
                where=f"attribute {self.name!r}",
                remedy="Correct the field, or have the study's schema list the value.",
            )
        return bisect_left(self.cuts, parse_number(self.name, text.strip()))

    def _code_of_empty(self) -> int:
        code = self.missing_code
        if code is None:
            raise UnknownValueError(
                "an empty field, and the schema has no value for it",
                where=f"attribute {self.name!r}",
                remedy="Fill the field, or have the study's schema list a value for missing.",
            )
        return code


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
        """Number of values of the attribute with this index; 0 for numbers in fixed point."""
        return len(self.attributes[attribute].values)

    def branch_count(self, attribute: int) -> int:
        """Number of branches of a split on it: its values, but for a fractional one for empty fields."""
        return self.attributes[attribute].branch_count

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
    form: dict[str, Any] = {"name": attribute.name, "values": list(attribute.values), "cuts": cuts}
    if attribute.fixed_point is not None:
        form["numeric"] = attribute.fixed_point.to_json()
    if attribute.treat_as is not None:
        form["treat_as"] = attribute.treat_as
    if attribute.missing is not None:
        form["missing"] = attribute.missing
    return form


def _attribute_from_json(data: Any, index: int) -> Attribute:
    where = f"schema attribute {index + 1}"
    optional = {"cuts", "numeric", "treat_as", "missing"}
    entry = members(data, {"name", "values", *optional}, where, optional=optional)
    name = text_of(entry["name"], where)
    cuts, numeric = entry.get("cuts"), entry.get("numeric")
    points = (
        None if cuts is None else tuple(parse_cut(name, text_of(cut, where)) for cut in listed(cuts, where))
    )
    return Attribute(
        name,
        tuple(text_of(value, where) for value in listed(entry["values"], where)),
        points,
        None if numeric is None else FixedPoint.from_json(name, numeric),
        entry.get("treat_as"),
        entry.get("missing"),
    )


def _check_attribute(attribute: Attribute) -> None:
    check_name(attribute.name, "attribute")
    where = f"attribute {attribute.name!r}"
    if attribute.fixed_point is not None:
        if attribute.values or (attribute.cuts, attribute.treat_as, attribute.missing) != (None, None, None):
            raise InputError(
                "a numeric attribute in fixed point has no values, no cuts and no treat_as, and nothing fractional",
                where=where,
                remedy="Give either its range and decimals, or its cut points.",
            )
        return
    if attribute.treat_as not in (None, *get_args(TreatAs)):
        raise InputError("expected ordered or equality for treat_as", where=where)
    check_list(attribute.values, "values", MAX_VALUES, where)
    _check_missing(attribute, where)
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


def _check_missing(attribute: Attribute, where: str) -> None:
    if attribute.missing not in (None, *get_args(Missing)):
        raise InputError("expected fractional for missing", where=where)
    if attribute.is_fractional and (
        attribute.missing_code != len(attribute.values) - 1 or not attribute.branch_count
    ):
        raise InputError(
            "fractional missing needs the value of an empty field, as the last one after at least one other",
            where=where,
            remedy='List "missing" or the empty text last; of a numeric attribute, one value after the intervals.',
        )
