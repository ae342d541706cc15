"""The data contract: what each column of a hospital's table means, and how its texts become a study's values.

A study's schema is derived from it (`shared.contract.schema`), and every agent reads its own records through it
(`shared.contract.reading`). It travels inside the study document, so that its hash is part of what hospitals approve.
"""

from __future__ import annotations

import hashlib
from typing import Annotated, Final, Literal, Self

from pydantic import Field, StringConstraints, model_validator

from shared.wire.base import Base64Url, DecimalText, Hex32, Hex64, Id, WireModel, is_absent
from shared.wire.contract_derived import MAX_DERIVED, DateFormat, Derivation
from shared.wire.manifest import MAX_ATTRIBUTES, MAX_CLASSES, MAX_VALUES

MAX_CONTRACT_BYTES: Final = 2**24
MAX_TEXTS: Final = 4096
"""Of one value: spellings, or prefixes of codes."""

MissingPolicy = Literal["category", "refuse", "fractional"]
"""What an empty field is: a value of its own, a fault, or a record that goes down every branch in part (C4.5)."""
Spelling = Literal["exact", "number", "folded"]
"""When two texts are the same: letter by letter; as numbers (`1`, `1.0`); without regard to case, accents, blanks."""
TreatAs = Literal["ordered", "equality"]

Name = Annotated[str, StringConstraints(min_length=1, max_length=200)]
Text = Annotated[str, StringConstraints(max_length=200)]
Line = Annotated[str, StringConstraints(max_length=500)]


def is_blank(value: object) -> bool:
    """For `Field(exclude_if=is_blank)`: what says nothing is not written, since people read and edit a contract."""
    return value in ("", [], False)


def is_zero(value: object) -> bool:
    """For `Field(exclude_if=is_zero)`."""
    return value == "0"


class ContractValue(WireModel):
    """One value of a column as the study knows it.

    `texts`: further texts that mean it. `prefixes`: every text that begins so means it, the longest prefix first (code
    lists such as `I2`). `other`: it takes every text that no other value takes.
    """

    value: Text
    meaning: Line = Field(default="", exclude_if=is_blank)
    texts: list[Text] = Field(default=[], max_length=MAX_TEXTS, exclude_if=is_blank)
    prefixes: list[Name] = Field(default=[], max_length=MAX_TEXTS, exclude_if=is_blank)
    other: bool = Field(default=False, exclude_if=is_blank)


class CodeListSource(WireModel):
    """Where a column's values are from: a published list of codes. `file_sha256`: of the file as it was read, hex."""

    url: Line = Field(default="", exclude_if=is_blank)
    version: Text = Field(default="", exclude_if=is_blank)
    systems: list[Line] = Field(default=[], max_length=MAX_VALUES, exclude_if=is_blank)
    file_sha256: Hex32


class UnitConversion(WireModel):
    """From another unit to the attribute's: number times `factor` plus `offset`, then rounded to its decimals."""

    unit: Annotated[str, StringConstraints(min_length=1, max_length=50)]
    factor: DecimalText
    offset: DecimalText = Field(default="0", exclude_if=is_zero)

    @model_validator(mode="after")
    def _tells_numbers_apart(self) -> Self:
        if not self.factor.strip("-0."):
            raise ValueError("factor: 0 would make all numbers one")
        return self


class ContractAttribute(WireModel):
    """One attribute of the study and the column that holds it.

    `columns`: other names that the column has at hospitals. `unit`: UCUM, such as `mg/dL`. A category lists `values`
    (none, in the draft of a hospital that may tell none). A number has public `cuts`, or `decimals` with `minimum` and
    `maximum` where mode gain-ratio compares it as it is (`missing_as`: the number that an empty field then counts as);
    a number outside `minimum` to `maximum` is a fault. `missing_codes`: texts that stand for an empty field.
    `conversions`: of numbers, from the units that single hospitals use. `code_list`: where `values` are from.
    """

    name: Name
    columns: list[Name] = Field(default=[], max_length=MAX_VALUES, exclude_if=is_blank)
    description: Line = Field(default="", exclude_if=is_blank)
    unit: str = Field(default="", max_length=50, exclude_if=is_blank)
    conversions: list[UnitConversion] = Field(default=[], max_length=MAX_VALUES, exclude_if=is_blank)
    kind: Literal["category", "number"]
    values: list[ContractValue] = Field(default=[], max_length=MAX_VALUES, exclude_if=is_blank)
    spelling: Spelling = "exact"
    cuts: Annotated[list[DecimalText] | None, Field(max_length=MAX_VALUES - 2, exclude_if=is_absent)] = None
    minimum: Annotated[DecimalText | None, Field(exclude_if=is_absent)] = None
    maximum: Annotated[DecimalText | None, Field(exclude_if=is_absent)] = None
    decimals: Annotated[int | None, Field(ge=0, le=17, exclude_if=is_absent)] = None
    missing_as: Annotated[DecimalText | None, Field(exclude_if=is_absent)] = None
    missing_codes: list[Text] = Field(default=[], max_length=MAX_TEXTS, exclude_if=is_blank)
    missing_policy: MissingPolicy = "refuse"
    treat_as: Annotated[TreatAs | None, Field(exclude_if=is_absent)] = None
    code_list: Annotated[CodeListSource | None, Field(exclude_if=is_absent)] = None

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        bounds = (self.minimum, self.maximum, self.decimals)
        measured = self.cuts is None and None not in bounds
        wrong = [
            (
                self.kind == "category" and (self.cuts is not None or bounds != (None,) * 3),
                "a category has values, and neither cuts nor a range nor decimals",
            ),
            (
                self.kind == "category" and bool(self.conversions),
                "a category has no unit to convert",
            ),
            (
                self.kind == "number" and self.code_list is not None,
                "code_list: a number has no list of codes",
            ),
            (
                self.kind == "number" and (bool(self.values) or self.spelling != "exact"),
                "a number has no values and no spelling",
            ),
            (
                self.kind == "number" and self.cuts is None and not measured,
                "a number has cuts, or minimum, maximum and decimals",
            ),
            (
                measured and self.missing_policy != "refuse",
                "missing_policy: a number without cuts has no value for an empty field; give missing_as, or cuts",
            ),
            (self.missing_as is not None and not measured, "missing_as: of a number without cuts"),
        ]
        reason = next((text for broken, text in wrong if broken), None)
        if reason is not None:
            raise ValueError(f"{self.name}: {reason}")
        return self


class ContractClass(WireModel):
    """The class column: as a category that is never empty."""

    name: Name
    columns: list[Name] = Field(default=[], max_length=MAX_VALUES, exclude_if=is_blank)
    description: Line = Field(default="", exclude_if=is_blank)
    values: Annotated[list[ContractValue], Field(min_length=1, max_length=MAX_CLASSES)]
    spelling: Spelling = "exact"
    code_list: Annotated[CodeListSource | None, Field(exclude_if=is_absent)] = None


class ContractInput(WireModel):
    """A column that is no attribute, and is read for derived ones alone.

    As an attribute's, but that a category without `values` is taken as it is written, a number has no cuts and no
    decimals, and a date is written in one of `formats`. An empty field never has a value.
    """

    name: Name
    columns: list[Name] = Field(default=[], max_length=MAX_VALUES, exclude_if=is_blank)
    description: Line = Field(default="", exclude_if=is_blank)
    unit: str = Field(default="", max_length=50, exclude_if=is_blank)
    conversions: list[UnitConversion] = Field(default=[], max_length=MAX_VALUES, exclude_if=is_blank)
    kind: Literal["category", "number", "date"]
    values: list[ContractValue] = Field(default=[], max_length=MAX_VALUES, exclude_if=is_blank)
    spelling: Spelling = "exact"
    minimum: Annotated[DecimalText | None, Field(exclude_if=is_absent)] = None
    maximum: Annotated[DecimalText | None, Field(exclude_if=is_absent)] = None
    formats: list[DateFormat] = Field(default=[], max_length=5, exclude_if=is_blank)
    missing_codes: list[Text] = Field(default=[], max_length=MAX_TEXTS, exclude_if=is_blank)

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        measured = bool(self.conversions or self.unit) or (self.minimum, self.maximum) != (None, None)
        wrong = [
            (self.kind != "number" and measured, "unit, conversions and a range are of numbers"),
            (
                self.kind != "category" and (bool(self.values) or self.spelling != "exact"),
                "values and spelling are of categories",
            ),
            (self.kind == "date" and not self.formats, "a date has formats, such as YYYY-MM-DD"),
            (self.kind != "date" and bool(self.formats), "formats are of dates"),
            (
                {"DD/MM/YYYY", "MM/DD/YYYY"} <= {*self.formats},
                "formats: DD/MM/YYYY and MM/DD/YYYY together would read one text as two dates",
            ),
        ]
        reason = next((text for broken, text in wrong if broken), None)
        if reason is not None:
            raise ValueError(f"{self.name}: {reason}")
        return self


class ExcludedColumn(WireModel):
    """A column that no hospital may use, and why."""

    column: Name
    reason: Line = Field(default="", exclude_if=is_blank)


class DataContract(WireModel):
    """All of a study's columns. `name` is for people; what is approved is the hash.

    `derived`: how attributes and the class, by their names, are made of several columns; `inputs`: those of these
    columns that are no attributes themselves.
    """

    v: Literal[1] = 1
    name: Id
    title: Line = Field(default="", exclude_if=is_blank)
    attributes: Annotated[list[ContractAttribute], Field(min_length=1, max_length=MAX_ATTRIBUTES)]
    class_: Annotated[ContractClass, Field(alias="class")]
    inputs: list[ContractInput] = Field(default=[], max_length=MAX_ATTRIBUTES, exclude_if=is_blank)
    derived: list[Derivation] = Field(default=[], max_length=MAX_DERIVED, exclude_if=is_blank)
    excluded: list[ExcludedColumn] = Field(default=[], max_length=MAX_ATTRIBUTES, exclude_if=is_blank)

    @property
    def sha256(self) -> str:
        """Hash of the canonical document, hex."""
        return hashlib.sha256(self.canonical()).hexdigest()


def owners_of(contract: DataContract) -> list[ContractAttribute | ContractClass]:
    """Whatever owns a column: the attributes, the class last."""
    return [*contract.attributes, contract.class_]


class Derivations(WireModel):
    """What hospitals agree on before they draft: the members of that name of a contract."""

    inputs: list[ContractInput] = Field(default=[], max_length=MAX_ATTRIBUTES)
    derived: list[Derivation] = Field(min_length=1, max_length=MAX_DERIVED)


class SignedContract(WireModel):
    """A contract with a hospital's signature, for the exchange between stewards. `certificate`: the signer's, DER."""

    contract: DataContract
    hospital: Id
    signature: Hex64
    certificate: Annotated[Base64Url, Field(max_length=8192)]
