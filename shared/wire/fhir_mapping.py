"""The FHIR mapping: which resources of a patient (FHIR R4) give each attribute of a study its value.

A document of its own, so that it can be approved by its hash, as a data contract is. It says nothing of one hospital's
tables: codes, units and values only. How resources are read by it: `shared.contract.fhir`.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from decimal import Decimal
from functools import cached_property
from itertools import pairwise
from typing import Annotated, Final, Literal, Self

from pydantic import Field, StringConstraints, model_validator

from shared.wire.base import DecimalText, Id, WireModel, is_absent
from shared.wire.contract import Line, Name, Text, UnitConversion, is_blank
from shared.wire.manifest import MAX_ATTRIBUTES, MAX_VALUES

MAX_MAPPING_BYTES: Final = 2**22
MAX_CODES: Final = 1024

ResourceType = Literal[
    "Condition", "MedicationRequest", "Observation", "Patient", "QuestionnaireResponse", "ServiceRequest"
]
Take = Literal["value", "present", "age", "gender", "path"]
"""What is taken of a resource: its value; whether there is one; of a Patient age in whole years or gender; a path."""

DATED: Final = ("Condition", "MedicationRequest", "Observation", "QuestionnaireResponse", "ServiceRequest")
"""Resources that carry a date by which the latest is found."""
ORDERS: Final = ("MedicationRequest", "ServiceRequest")
_VALUED: Final = ("Observation", "QuestionnaireResponse")
_CODED: Final = ("Condition", "MedicationRequest", "Observation", "ServiceRequest")

Uri = Annotated[str, StringConstraints(pattern=r"^[A-Za-z][A-Za-z0-9+.-]*:[^\s,|$<>\"]{1,500}$")]
StateText = Annotated[str, StringConstraints(pattern=r"^[a-z-]{1,40}$")]
Token = Annotated[
    str,
    StringConstraints(pattern=r"^[A-Za-z][A-Za-z0-9+.-]*:[^\s,|$<>\"]{1,500}\|[^\s,|$<>\"&#*]{1,100}\*?$"),
]
"""A code with its system as FHIR's searches write it, such as `http://loinc.org|4548-4`; with `*` at its end every code
that begins so is meant, as in `http://hl7.org/fhir/sid/icd-10|I50*`, below which I50.1 lies."""
Unit = Annotated[str, StringConstraints(pattern=r"^[!-~]{0,50}$")]
FhirPath = Annotated[str, StringConstraints(pattern=r"^[^\x00-\x1f\x7f]{1,2000}$")]


class MappedValue(WireModel):
    """A value of the study, and what stands for it in a resource: codes, or texts (`true` and `false` of a boolean).

    `other`: it takes whatever no other value takes.
    """

    value: Text
    codes: list[Token] = Field(default=[], max_length=MAX_CODES, exclude_if=is_blank)
    texts: list[Text] = Field(default=[], max_length=MAX_CODES, exclude_if=is_blank)
    other: bool = Field(default=False, exclude_if=is_blank)


class Bins(WireModel):
    """Numbers to values of a category: those up to and with the first cut are the first value, and so on."""

    cuts: Annotated[list[DecimalText], Field(min_length=1, max_length=MAX_VALUES - 1)]
    values: Annotated[list[Text], Field(min_length=2, max_length=MAX_VALUES)]

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if len(self.values) != len(self.cuts) + 1:
            raise ValueError("bins: expected one value more than cuts")
        if any(Decimal(low) >= Decimal(high) for low, high in pairwise(self.cuts)):
            raise ValueError("bins: expected cuts that rise")
        return self


class MappedAttribute(WireModel):
    """Where one attribute of the study comes from. `description`: for people.

    `codes`: any of them, of an Observation's, Condition's or order's code. `component`: of an Observation, the part
    with one of these codes. `link`, `questionnaire`: the item of a QuestionnaireResponse, and the only questionnaire
    that counts. `path`: FHIRPath on each resource that counts, for `take` "path". `unit`: UCUM; a quantity in another
    unit is refused unless `conversions` lists it; `decimals`: to which a number is rounded. `values`, `bins`: to the
    study's values. `within_days`: older resources do not count. `statuses`, `verification`: those that count, where
    not the usual ones. `present`, `absent`: the value where a resource is there, and where none is; without `absent`
    that is a missing value and never a "no". `drafts`: selected orders of the hook order-select count as well.
    """

    name: Name
    description: Annotated[Line, Field(exclude_if=is_blank)] = ""
    resource: ResourceType
    take: Take
    codes: list[Token] = Field(default=[], max_length=MAX_CODES, exclude_if=is_blank)
    component: list[Token] = Field(default=[], max_length=MAX_CODES, exclude_if=is_blank)
    link: Annotated[str, Field(max_length=255, exclude_if=is_blank)] = ""
    questionnaire: Annotated[Uri | None, Field(exclude_if=is_absent)] = None
    path: Annotated[FhirPath | None, Field(exclude_if=is_absent)] = None
    unit: Annotated[Unit, Field(exclude_if=is_blank)] = ""
    conversions: list[UnitConversion] = Field(default=[], max_length=MAX_VALUES, exclude_if=is_blank)
    decimals: Annotated[int | None, Field(ge=0, le=17, exclude_if=is_absent)] = None
    values: list[MappedValue] = Field(default=[], max_length=MAX_VALUES, exclude_if=is_blank)
    bins: Annotated[Bins | None, Field(exclude_if=is_absent)] = None
    within_days: Annotated[int | None, Field(ge=1, le=36_500, exclude_if=is_absent)] = None
    statuses: list[StateText] = Field(default=[], max_length=32, exclude_if=is_blank)
    verification: list[StateText] = Field(default=[], max_length=32, exclude_if=is_blank)
    present: Annotated[Text | None, Field(exclude_if=is_absent)] = None
    absent: Annotated[Text | None, Field(exclude_if=is_absent)] = None
    drafts: bool = Field(default=False, exclude_if=is_blank)

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        reason = next((text for broken, text in self._faults() if broken), None)
        if reason is not None:
            raise ValueError(f"{self.name}: {reason}")
        return self

    def _faults(self) -> list[tuple[bool, str]]:
        """What is wrong, most basic first."""
        patient = self.resource == "Patient"
        values = [one.value for one in self.values]
        return [
            (
                self.take in ("age", "gender") and not patient,
                f"take {self.take!r} is of resource Patient",
            ),
            (self.take == "present" and patient, "take 'present': a Patient is always there"),
            (
                self.take == "value" and self.resource not in _VALUED,
                f"take 'value': a {self.resource} has none; use 'present' or 'path'",
            ),
            ((self.take == "path") != (self.path is not None), "path: goes with take 'path'"),
            (
                self.take == "present" and self.present is None,
                "present: name the value where such a resource is there",
            ),
            (self.present is not None and self.take != "present", "present: goes with take 'present'"),
            (self.resource in _CODED and not self.codes, "codes: name at least one code with its system"),
            (
                self.resource not in _CODED and bool(self.codes),
                f"codes: a {self.resource} is not found by one",
            ),
            (bool(self.component) and self.resource != "Observation", "component: of an Observation only"),
            (bool(self.component) and self.take != "value", "component: goes with take 'value'"),
            (
                self.resource == "QuestionnaireResponse" and self.take == "value" and not self.link,
                "link: name the item (linkId) whose answer counts",
            ),
            (
                bool(self.link or self.questionnaire) and self.resource != "QuestionnaireResponse",
                "link and questionnaire: of a QuestionnaireResponse only",
            ),
            (bool(self.conversions) and not self.unit, "conversions: name the unit that they lead to"),
            (bool(self.unit) and self.take not in ("value", "path"), "unit: of a value only"),
            (bool(self.values) and self.bins is not None, "values and bins: give one of them"),
            (
                bool(self.values or self.bins) and self.take in ("present", "age") and self.bins is None,
                f"values: take {self.take!r} has none; use bins, present and absent",
            ),
            (len(set(values)) != len(values), "values: expected each once"),
            (sum(one.other for one in self.values) > 1, "values: other: one value takes the rest, not two"),
            (self.within_days is not None and patient, "within_days: a Patient has no date"),
            (bool(self.statuses) and patient, "statuses: a Patient has none"),
            (bool(self.verification) and self.resource != "Condition", "verification: of a Condition only"),
            (self.drafts and self.resource not in ORDERS, f"drafts: of {' and '.join(ORDERS)} only"),
        ]


class FhirMapping(WireModel):
    """The sources of a study's attributes. Attributes that it does not name are missing in every answer."""

    v: Literal[1] = 1
    name: Id
    title: Annotated[str, Field(max_length=500, exclude_if=is_blank)] = ""
    fhir: Literal["4.0.1"] = "4.0.1"
    attributes: Annotated[list[MappedAttribute], Field(min_length=1, max_length=MAX_ATTRIBUTES)]

    @model_validator(mode="after")
    def _distinct(self) -> Self:
        counts = Counter(one.name for one in self.attributes)
        twice = next((name for name, count in counts.items() if count > 1), None)
        if twice is not None:
            raise ValueError(f"{twice}: mapped twice")
        return self

    @cached_property
    def sha256(self) -> str:
        """Hash of the canonical document, hex; every answer names it, so it is worked out once."""
        return hashlib.sha256(self.canonical()).hexdigest()
