"""What a data contract makes of several columns: the columns that it reads for that, and how a value comes of them.

Declarative and exact on purpose: listed combinations, differences of dates in whole days, products of powers in decimal
numbers. What needs more is made by the hospital's query or export.
"""

from __future__ import annotations

from typing import Annotated, Final, Literal, Self

from pydantic import Field, StringConstraints, model_validator

from shared.wire.base import DecimalText, WireModel, is_absent

MAX_SOURCES: Final = 64
"""Columns of one derived value."""
MAX_CASES: Final = 1024
MAX_DERIVED: Final = 256
MAX_POWER: Final = 4

DateFormat = Literal["YYYY-MM-DD", "YYYYMMDD", "DD.MM.YYYY", "DD/MM/YYYY", "MM/DD/YYYY"]
"""How a date is written; a time behind it, as databases write it, does not count."""
Rounding = Literal["half-up", "half-even"]
"""What a number half way between two becomes: the one further from 0, or the even one."""

Source = Annotated[str, StringConstraints(min_length=1, max_length=200)]
"""The name of an input of the contract, or of an attribute that has a column of its own."""
Sources = Annotated[list[Source], Field(min_length=2, max_length=MAX_SOURCES)]
CaseText = Annotated[str, StringConstraints(max_length=200)]


class Case(WireModel):
    """One combination: `when` has a value for each column, in their order; null for any, an empty field included."""

    when: Annotated[list[CaseText | None], Field(min_length=2, max_length=MAX_SOURCES)]
    value: CaseText


class Combination(WireModel):
    """A listed combination of values to a value; the first case that fits counts.

    Where none fits: a record with an empty field among the columns has no value; any other has `otherwise`, or is
    refused.
    """

    kind: Literal["combination"] = "combination"
    name: Source
    columns: Sources
    cases: Annotated[list[Case], Field(min_length=1, max_length=MAX_CASES)]
    otherwise: Annotated[CaseText | None, Field(exclude_if=is_absent)] = None

    @model_validator(mode="after")
    def _has_a_value_each(self) -> Self:
        if any(len(case.when) != len(self.columns) for case in self.cases):
            raise ValueError(f"{self.name}: a case has one entry of `when` for each of its columns")
        return self


class AnyOf(WireModel):
    """`value` where one of the columns has one of `texts`; else no value where one is empty, else `otherwise`."""

    kind: Literal["any"] = "any"
    name: Source
    columns: Sources
    texts: Annotated[list[CaseText], Field(min_length=1, max_length=MAX_CASES)]
    value: CaseText
    otherwise: CaseText


class Days(WireModel):
    """Whole days from the first date to the second; below 0 where the second is the earlier one."""

    kind: Literal["days"] = "days"
    name: Source
    columns: Annotated[list[Source], Field(min_length=2, max_length=2)]


class Product(WireModel):
    """`times` the product of the columns, each raised to its power, rounded once, at the end, to `decimals`.

    A ratio is of the powers 1 and -1; a body mass index of weight 1 and height -2.
    """

    kind: Literal["product"] = "product"
    name: Source
    columns: Sources
    powers: Annotated[
        list[Annotated[int, Field(ge=-MAX_POWER, le=MAX_POWER)]],
        Field(min_length=2, max_length=MAX_SOURCES),
    ]
    times: DecimalText = "1"
    decimals: Annotated[int, Field(ge=0, le=17)]
    rounding: Rounding = "half-up"

    @model_validator(mode="after")
    def _has_a_power_each(self) -> Self:
        if len(self.powers) != len(self.columns) or 0 in self.powers:
            raise ValueError(f"{self.name}: each of its columns has one power, which is not 0")
        return self


Derivation = Annotated[Combination | AnyOf | Days | Product, Field(discriminator="kind")]
