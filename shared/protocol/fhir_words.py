"""A study's FHIR mapping in the words that a data steward reads before approving: what its trees are asked with."""

from __future__ import annotations

from typing import Final

from shared.wire.fhir_mapping import FhirMapping, MappedAttribute

_MANY: Final = 40
"""Attributes that are told one by one."""
_MANY_CODES: Final = 6
_TAKEN: Final = {"age": "the patient's age in whole years", "gender": "the patient's gender"}


def fhir_words(mapping: FhirMapping | None) -> list[str]:
    """One paragraph; none where the study has no mapping."""
    if mapping is None:
        return []
    told = [f"{one.name} from {_source(one)}{_absent(one)}" for one in mapping.attributes]
    more = [f"and {len(told) - _MANY} more"] if len(told) > _MANY else []
    listed = "; ".join([*told[:_MANY], *more])
    return [
        (
            f"What clinical systems send: FHIR mapping {mapping.name}, a part of this document, reads resources of the "
            f"patient who is asked about. {listed}. `privet agent fhir map` shows it for one patient."
        )
    ]


def _source(mapped: MappedAttribute) -> str:
    if mapped.take in _TAKEN:
        return _TAKEN[mapped.take]
    codes = mapped.codes[:_MANY_CODES] + (["others"] if len(mapped.codes) > _MANY_CODES else [])
    which = f" ({', '.join(codes)})" if codes else f" (question {mapped.link})" if mapped.link else ""
    days = "" if mapped.within_days is None else f" of the last {mapped.within_days} days"
    drafts = ", or a selected draft" if mapped.drafts else ""
    how = "whether there is a" if mapped.take == "present" else "the latest"
    path = "" if mapped.path is None else f" by the path {mapped.path}"
    unit = f" in {mapped.unit}" if mapped.unit else ""
    return f"{how} {mapped.resource}{which}{days}{drafts}{path}{unit}"


def _absent(mapped: MappedAttribute) -> str:
    return "" if mapped.absent is None else f", where there is none: {mapped.absent}"
