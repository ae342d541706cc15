"""Prefetch: which resources a CDS Hooks client is asked to send along, and what it did send.

One query for each type of resource that the mapping reads, so that a clinical system need not run one for each
attribute. A key that is not there was not satisfied; `null` and an empty Bundle say that there is nothing; an
OperationOutcome says that the client could not have it. A Bundle with a `next` link is only a part.
Source: CDS Hooks 2.0, sections "Providing FHIR Resources to a CDS Service" and "Prefetch template".
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import quote

from shared.contract.fhir import USUAL
from shared.contract.fhir_resources import (
    Gathered,
    Json,
    has_more,
    of_one_patient,
    owner_of,
    resources_in,
)
from shared.contract.fhir_values import parts_of
from shared.wire.fhir_mapping import FhirMapping, MappedAttribute

PATIENT: Final = "{{context.patientId}}"
CODES_A_QUERY: Final = 30
"""More would make an address longer than some servers take."""
_MOST: Final = 500
_NEWEST: Final = {
    "Observation": "-date",
    "Condition": "-recorded-date",
    "MedicationRequest": "-authoredon",
    "QuestionnaireResponse": "-authored",
    "ServiceRequest": "-authored",
}


def templates(mapping: FhirMapping) -> dict[str, str]:
    """Prefetch templates by key; the key begins with the type of resource in lower case."""
    found: dict[str, str] = {}
    for kind in dict.fromkeys(one.resource for one in mapping.attributes):
        queries = _queries(kind, [one for one in mapping.attributes if one.resource == kind])
        for number, query in enumerate(queries, start=1):
            key = kind.lower() if kind == "Patient" else f"{kind.lower()}s"
            found[key if number == 1 else f"{key}-{number}"] = query
    return found


def _queries(kind: str, attributes: Sequence[MappedAttribute]) -> list[str]:
    if kind == "Patient":
        return [f"Patient/{PATIENT}"]
    base = f"{kind}?patient={PATIENT}"
    tail = f"{_states(kind, attributes)}&_sort={_NEWEST[kind]}&_count={_MOST}"
    codes = [parts_of(token) for one in attributes for token in one.codes]
    # What lies below a code cannot be asked for by an equal token: then all of the type are.
    if not codes or any(below for _, _, below in codes):
        return [base + _questionnaires(attributes) + tail]
    tokens = dict.fromkeys(
        f"{quote(system, safe=':/')}%7C{quote(code, safe='')}" for system, code, _ in codes
    )
    listed = list(tokens)
    chunks = [listed[start : start + CODES_A_QUERY] for start in range(0, len(listed), CODES_A_QUERY)]
    return [f"{base}&code={','.join(chunk)}{tail}" for chunk in chunks]


def _states(kind: str, attributes: Sequence[MappedAttribute]) -> str:
    """A Condition counts by its clinical status, which it need not have: it is asked for in every state."""
    if kind == "Condition":
        return ""
    wanted = {state for one in attributes for state in one.statuses or USUAL[kind]}
    return f"&status={','.join(sorted(wanted))}"


def _questionnaires(attributes: Sequence[MappedAttribute]) -> str:
    named = [one.questionnaire for one in attributes if one.questionnaire is not None]
    if not named or len(named) < len(attributes):
        return ""
    return "&questionnaire=" + ",".join(quote(one, safe=":/") for one in dict.fromkeys(named))


def type_of(query: str) -> str:
    """The type of resource that a template asks for."""
    return query.split("?")[0].split("/")[0]


@dataclass(slots=True)
class Basket:
    """What came for the templates of a service. `missing`: queries by key that were not satisfied."""

    found: list[tuple[Json, str]] = field(default_factory=list, repr=False)
    partial: set[str] = field(default_factory=set)
    missing: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, wanted: Mapping[str, str], sent: Mapping[str, Any]) -> Basket:
        """Args: wanted: templates by key. sent: the request's `prefetch`. Raises: InputError: no resources there."""
        basket = cls()
        for key, query in wanted.items():
            if key in sent:
                basket.put(type_of(query), sent[key], f"prefetch.{key}")
            else:
                basket.missing[key] = query
        return basket

    def put(self, kind: str, content: object, where: str) -> None:
        """What came for resources of a type."""
        if content is None:
            return
        found = resources_in(content, where)
        if has_more(content) or any(_is_failure(one) for one, _ in found):
            self.partial.add(kind)
        self.found += [pair for pair in found if pair[0]["resourceType"] != "OperationOutcome"]

    def gathered(self, patient: str, further: Iterable[Json] = ()) -> Gathered:
        """All of it, of this patient.

        Args: further: drafts of orders, which must be theirs too where they say whose they are.
        Raises: InputError: it is another's, or does not say whose it is.
        """
        resources = of_one_patient(self.found, patient)
        of_one_patient([(one, "") for one in further if owner_of(one)], patient)
        return Gathered(tuple(resources), frozenset(self.partial))


def _is_failure(resource: Json) -> bool:
    if resource["resourceType"] != "OperationOutcome":
        return False
    issues = resource.get("issue")
    severities = (
        [one.get("severity") for one in issues if isinstance(one, Mapping)]
        if isinstance(issues, list)
        else []
    )
    return not severities or any(one in ("error", "fatal") for one in severities)
