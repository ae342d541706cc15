"""Whether a FHIR mapping fits a study's schema, and a first draft of one from the schema and the data contract."""

from __future__ import annotations

from collections.abc import Iterator

from shared.errors import InputError
from shared.tree.schema import Attribute, Schema
from shared.tree.schema_checks import is_plain_line
from shared.wire.contract import ContractAttribute, DataContract
from shared.wire.fhir_mapping import FhirMapping, MappedAttribute, MappedValue

LOINC = "http://loinc.org"
TO_FILL = "FILL-IN"
"""Stands in a draft where only a person knows the code."""


def check_mapping(mapping: FhirMapping, schema: Schema) -> list[str]:
    """What a person should know of a mapping that fits: attributes that no answer will have, numbers without a unit.

    Raises: InputError: an attribute or a value that the study does not have, a category's value map for a number, or a
        text that is not one plain line.
    """
    _check_lines(mapping)
    known = {one.name: one for one in schema.attributes}
    for mapped in mapping.attributes:
        if mapped.name not in known:
            raise InputError(
                "the study has no such attribute",
                where=f"mapping {mapping.name}, attribute {mapped.name!r}",
                remedy="Names are those of the study: privet agent models show.",
            )
        _check(mapped, known[mapped.name], f"mapping {mapping.name}, attribute {mapped.name!r}")
    mapped_names = {one.name for one in mapping.attributes}
    without_unit = [one.name for one in mapping.attributes if _has_no_unit(one, known[one.name])]
    return [
        *(f"{name} is not mapped: always missing" for name in known if name not in mapped_names),
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
    stated = [
        *(one.value for one in mapped.values),
        *(mapped.bins.values if mapped.bins else ()),
        *(text for text in (mapped.present, mapped.absent) if text is not None),
    ]
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
    return FhirMapping(
        name=name,
        attributes=[_drafted(one, told.get(one.name)) for one in schema.attributes],
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
