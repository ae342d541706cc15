"""A schema as a person types it, one attribute a line, and as a file that a person has: to the plain form of a study.

nausea: no, yes
stage (in order): I, II, III
temperature: cut at 37.5, 38
age: numbers 0 to 120
creatinine: numbers 0 to 20, 2 decimals
smoker (may be missing): no, yes
"""

from __future__ import annotations

import csv
import json
import re
from dataclasses import dataclass, replace
from typing import Any, Final

from shared.contract.files import contract_of
from shared.contract.schema import MISSING, schema_of_contract
from shared.errors import InputError
from shared.texts import text
from shared.tree.numbers import FixedPoint
from shared.tree.schema import Attribute, Schema

_NOTE: Final = re.compile(r"\s*\((in order|may be missing)\)\s*$")
_CUT: Final = re.compile(r"cut at\s+(.+)")
_NUMBERS: Final = re.compile(r"numbers\s+(\S+)\s+to\s+(\S+?)(?:\s*,\s*(\d{1,9})\s+decimals?)?")
_LONGEST_NAME: Final = 500
"""With what is said behind it: expressions that look for that from every blank on are slow on long lines."""


@dataclass(frozen=True, slots=True)
class Described:
    """What records look like, as `POST /v1/studies` takes it. `contract`: where the file had one."""

    schema: dict[str, Any]
    contract: dict[str, Any] | None = None


def from_file(raw: str) -> Described:
    """A schema, a study with one, a data contract, or a draft of one. Raises: InputError: none of these."""
    try:
        document = json.loads(raw)
    except (ValueError, RecursionError):
        raise InputError(text("cloud.plan.fault.not_json")) from None
    if isinstance(document, dict) and isinstance(document.get("schema"), dict):
        contract = document.get("contract")
        return Described(document["schema"], contract if isinstance(contract, dict) else None)
    if (
        isinstance(document, dict)
        and isinstance(document.get("class"), dict)
        and "labels" in document["class"]
    ):
        return Described(document)
    contract = contract_of(document, text("cloud.plan.fault.the_file"))
    written = contract.model_dump(mode="json", by_alias=True)
    return Described(schema_of_contract(contract).to_json(), written)


def from_lines(lines: str, class_name: str, class_labels: str) -> Described:
    """Attributes, and the class with its labels between commas. Raises: InputError: naming the line."""
    attributes = [
        _attribute(line.strip(), number) for number, line in enumerate(lines.splitlines(), 1) if line.strip()
    ]
    if not attributes:
        raise InputError(text("cloud.plan.fault.no_attributes"))
    return Described(Schema.create(attributes, class_name.strip(), _listed(class_labels)).to_json())


def _attribute(line: str, number: int) -> Attribute:
    where = text("cloud.plan.fault.line", number=number)
    name, colon, rest = line.partition(":")
    if len(name) > _LONGEST_NAME:
        raise InputError(text("cloud.plan.fault.form"), where=where)
    notes = []
    while (note := _NOTE.search(name)) is not None:
        notes.append(note[1])
        name = name[: note.start()]
    name, rest = name.strip(), rest.strip()
    if not colon or not name or not rest:
        raise InputError(text("cloud.plan.fault.form"), where=where)
    try:
        return _typed(name, rest, notes)
    except InputError as error:
        raise InputError(str(error), where=where) from None


def _typed(name: str, rest: str, notes: list[str]) -> Attribute:
    may_be_missing = "may be missing" in notes
    if (numbers := _NUMBERS.fullmatch(rest)) is not None:
        if may_be_missing:
            raise InputError(text("cloud.plan.fault.missing_number"))
        point = FixedPoint.create(name, numbers[1], numbers[2], int(numbers[3] or 0))
        return Attribute(name, (), fixed_point=point)
    if (cuts := _CUT.fullmatch(rest)) is not None:
        return Attribute.numeric(name, _listed(cuts[1]), MISSING if may_be_missing else None)
    values = [*_listed(rest), *([MISSING] if may_be_missing else [])]
    attribute = Attribute(name, tuple(values))
    return replace(attribute, treat_as="ordered" if "in order" in notes else "equality")


def _listed(rest: str) -> list[str]:
    """Texts between commas; one with a comma stands in double quotes."""
    if not rest.strip():
        return []
    try:
        (row,) = csv.reader([rest.replace("\n", " ")], skipinitialspace=True)
    except csv.Error:  # a value longer than any may be
        raise InputError(text("cloud.plan.fault.form")) from None
    return [value.strip() for value in row]
