"""Whether a FHIR mapping fits a study's schema, and a first draft of one from the schema and the data contract."""

from __future__ import annotations

from collections.abc import Iterator

from shared.errors import InputError
from shared.tree.schema import Attribute, Schema
from shared.tree.schema_checks import is_plain_line
from shared.wire.contract import ContractAttribute, ContractInput, DataContract
from shared.wire.fhir_mapping import FhirMapping, MappedAttribute, MappedValue

LOINC = "http://loinc.org"
TO_FILL = "FILL-IN"
"""Stands in a draft where only a person knows the code."""


def check_mapping(mapping: FhirMapping, schema: Schema, contract: DataContract | None = None) -> list[str]:
    """What a person should know of a mapping that fits: attributes that no answer will have, numbers without a unit.

    Args: contract: of the study; columns that it reads for derived attributes may be mapped as well.
    Raises: InputError: an attribute or a value that the study does not have, a category's value map for a number, or a
        text that is not one plain line.
    """
    _check_lines(mapping)
    known = {one.name: one for one in schema.attributes}
    inputs = {} if contract is None else {one.name: one for one in contract.inputs}
    for mapped in mapping.attributes:
        where = f"mapping {mapping.name}, attribute {mapped.name!r}"
        if mapped.name in known:
            _check(mapped, known[mapped.name], where)
        elif mapped.name in inputs:
            _check_input(mapped, inputs[mapped.name], where)
        else:
            raise InputError(
                "the study has no such attribute",
                where=where,
                remedy="Names are those of the study: privet agent models show.",
            )
    mapped_names = {one.name for one in mapping.attributes}
    made = {
        one.name
        for one in (contract.derived if contract is not None else ())
        if {*one.columns} <= mapped_names
    }
    without_unit = [
        one.name for one in mapping.attributes if one.name in known and _has_no_unit(one, known[one.name])
    ]
    return [
        *(f"{name} is not mapped: always missing" for name in known if name not in mapped_names | made),
        *(f"{name} has no unit: a number that carries one is refused" for name in without_unit),
    ]


def _has_no_unit(mapped: MappedAttribute, attribute: Attribute) -> bool:
    """Whether a quantity, which in FHIR mostly carries a unit, would be refused."""
    is_quantity = mapped.resource == "Observation" and mapped.take == "value" and not mapped.values
    return is_quantity and attribute.is_numeric and not mapped.unit


def _check_lines(mapping: FhirMapping) -> None:
    """Of all texts: stewards read them on terminals and pages before they approve."""
    if not all(map(is_plain_line, _lines(mapping))):
        raise InputError(
            "each text of a mapping is one line without control characters and direction overrides",
            where=f"mapping {mapping.name}",
            remedy="Write it anew on one line.",
        )


def _lines(mapping: FhirMapping) -> Iterator[str]:
    yield mapping.title
    for one in mapping.attributes:
        tokens = (*one.codes, *one.component, *(code for value in one.values for code in value.codes))
        yield from (one.name, one.description, one.link, one.questionnaire or "", one.path or "", *tokens)
        yield from (one.present or "", one.absent or "", *(bins.values if (bins := one.bins) else ()))
        for value in one.values:
            yield from (value.value, *value.texts)


def _check(mapped: MappedAttribute, attribute: Attribute, where: str) -> None:
    draft = [one for one in [*mapped.codes, *mapped.component] if TO_FILL in one]
    if draft:
        raise InputError("a code of the draft is not filled in", where=where, remedy="Name the code.")
    stated = _stated(mapped)
    if attribute.is_numeric:
        _check_numbers(stated, attribute, where)
        return
    foreign = next((text for text in stated if text not in attribute.values), None)
    if foreign is not None:
        raise InputError(
            f"{foreign!r} is no value of the study, which has {', '.join(attribute.values)}",
            where=where,
            remedy="Name the study's value.",
        )
    if mapped.take in ("age",) and mapped.bins is None:
        raise InputError("a number for a category", where=where, remedy="Give bins with the study's values.")
    taken = mapped.take == "present" or mapped.bins is not None or mapped.values
    if not taken and mapped.unit:
        raise InputError("a number for a category", where=where, remedy="Give bins with the study's values.")


def _check_input(mapped: MappedAttribute, source: ContractInput, where: str) -> None:
    """Of a column that is read for derived attributes alone: its values are those that the contract lists for it."""
    draft = [one for one in [*mapped.codes, *mapped.component] if TO_FILL in one]
    if draft:
        raise InputError("a code of the draft is not filled in", where=where, remedy="Name the code.")
    listed = {entry.value for entry in source.values}
    foreign = next((text for text in _stated(mapped) if listed and text not in listed), None)
    if foreign is not None:
        raise InputError(
            f"{foreign!r} is no value of that column, which has {', '.join(sorted(listed))}",
            where=where,
            remedy="Name a value that the study's data contract lists for it.",
        )


def _stated(mapped: MappedAttribute) -> list[str]:
    """All values that the mapping names."""
    return [
        *(one.value for one in mapped.values),
        *(mapped.bins.values if mapped.bins else ()),
        *(text for text in (mapped.present, mapped.absent) if text is not None),
    ]


def _check_numbers(stated: list[str], attribute: Attribute, where: str) -> None:
    for text in stated:
        try:
            attribute.code_of(text)
        except InputError:
            raise InputError(
                f"{text!r} is no number that the study takes",
                where=where,
                remedy="The study's attribute is a number: give numbers, without bins.",
            ) from None


def draft_mapping(name: str, schema: Schema, contract: DataContract | None = None) -> FhirMapping:
    """A mapping to fill in: every attribute as the latest Observation of a code that a person names."""
    told = {one.name: one for one in contract.attributes} if contract is not None else {}
    made = {one.name: one for one in contract.derived if one.name in told} if contract is not None else {}
    own = [_drafted(one, told.get(one.name)) for one in schema.attributes if one.name not in made]
    read = {name for one in made.values() for name in one.columns}
    inputs = [one for one in contract.inputs if one.name in read] if contract is not None else []
    return FhirMapping(name=name, attributes=[*own, *map(_drafted_input, inputs)])


def _drafted_input(source: ContractInput) -> MappedAttribute:
    """A column that attributes are derived from, as the latest Observation of a code that a person names."""
    return MappedAttribute(
        name=source.name,
        description=source.description,
        resource="Observation",
        take="value",
        codes=[f"{LOINC}|{TO_FILL}"],
        unit=source.unit,
        conversions=source.conversions,
        values=[MappedValue(value=entry.value, texts=[entry.value, *entry.texts]) for entry in source.values],
    )


def _drafted(attribute: Attribute, told: ContractAttribute | None) -> MappedAttribute:
    codes = [f"{LOINC}|{TO_FILL}"]
    if attribute.is_numeric:
        if attribute.name.strip().casefold() == "age":
            return MappedAttribute(name=attribute.name, resource="Patient", take="age")
        return MappedAttribute(
            name=attribute.name,
            resource="Observation",
            take="value",
            codes=codes,
            unit="" if told is None else told.unit,
            conversions=[] if told is None else told.conversions,
            decimals=None if told is None else told.decimals,
        )
    values = [MappedValue(value=text, texts=_texts(text)) for text in attribute.values if text.strip()]
    if attribute.name.strip().casefold() in ("sex", "gender"):
        return MappedAttribute(name=attribute.name, resource="Patient", take="gender", values=values)
    return MappedAttribute(
        name=attribute.name, resource="Observation", take="value", codes=codes, values=values
    )


def _texts(value: str) -> list[str]:
    """The value itself, and a boolean's text where it reads as one."""
    booleans = {"yes": "true", "1": "true", "no": "false", "0": "false"}
    return list(dict.fromkeys([value, booleans.get(value.casefold(), value)]))
