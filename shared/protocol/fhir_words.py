"""A study's FHIR mapping in the words that a data steward reads before approving: what its trees are asked with."""

from __future__ import annotations

from typing import Final

from shared.texts import text
from shared.wire.fhir_mapping import FhirMapping, MappedAttribute

_MANY: Final = 40
"""Attributes that are told one by one."""
_MANY_CODES: Final = 6


def fhir_words(mapping: FhirMapping | None) -> list[str]:
    """One paragraph; none where the study has no mapping."""
    if mapping is None:
        return []
    told = [_told(one) for one in mapping.attributes]
    more = [text("fhir.more", n=len(told) - _MANY)] if len(told) > _MANY else []
    return [text("fhir.mapping", name=mapping.name, attributes="; ".join([*told[:_MANY], *more]))]


def _told(mapped: MappedAttribute) -> str:
    told = text("fhir.from", name=mapped.name, source=_source(mapped))
    return told if mapped.absent is None else text("fhir.absent", told=told, value=mapped.absent)


def _source(mapped: MappedAttribute) -> str:
    if mapped.take in ("age", "gender"):
        return text(f"fhir.{mapped.take}")
    told = text("fhir.present" if mapped.take == "present" else "fhir.latest", resource=mapped.resource)
    if mapped.codes:
        others = [text("fhir.others")] if len(mapped.codes) > _MANY_CODES else []
        told = text("fhir.codes", told=told, codes=", ".join([*mapped.codes[:_MANY_CODES], *others]))
    elif mapped.link:
        told = text("fhir.question", told=told, link=mapped.link)
    if mapped.within_days is not None:
        told = text("fhir.days", told=told, n=mapped.within_days)
    if mapped.drafts:
        told = text("fhir.drafts", told=told)
    if mapped.path is not None:
        told = text("fhir.path", told=told, path=mapped.path)
    return text("fhir.unit", told=told, unit=mapped.unit) if mapped.unit else told
