"""A patient's FHIR resources through a mapping: one record in the study's words, and where each value came from.

Of several resources the latest by its date counts, among those with a state that counts (of an Observation final,
amended, corrected). What carries no value is passed over for the one before it; two of one moment that say different
things give no value. No resource means a missing value, unless the mapping declares what it means, and never where only
a part of the resources came. The moment of asking is an argument: the same resources give the same record.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any, Final

from shared.contract.fhir_resources import (
    EARLIEST,
    Gathered,
    Json,
    changed_of,
    codings_of,
    date_of,
    items_of,
    listed,
    moment_of,
    reference_to,
    states_of,
    text_of,
    value_in,
    verification_of,
)
from shared.contract.fhir_values import (
    Reading,
    Value,
    age_in_years,
    is_among,
    kind_of,
    read_element,
    read_number,
    read_text,
)
from shared.wire.fhir_mapping import FhirMapping, MappedAttribute

Evaluate = Callable[[Json, datetime], list[Any]]
"""A FHIRPath on one resource, at the moment of asking."""
CompilePath = Callable[[str], Evaluate]

USUAL: Final[Mapping[str, frozenset[str]]] = {
    "Observation": frozenset({"final", "amended", "corrected"}),
    "QuestionnaireResponse": frozenset({"completed", "amended"}),
    "MedicationRequest": frozenset({"active", "on-hold", "completed"}),
    "ServiceRequest": frozenset({"active", "on-hold", "completed"}),
}
"""States that count where a mapping names none; a Condition counts in every state."""
_NEVER: Final = frozenset({"entered-in-error"})
_UNSURE: Final = frozenset({"refuted", "entered-in-error"})
_SKEW: Final = timedelta(days=1)
"""How far ahead of the moment of asking a date may lie: clocks and time zones differ."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a value came from. `value`: the study's, None where it is missing; `note`: why, or what stands for it.

    `resource`: such as `Observation/12`; `date`: of it; `given`: the value as the resource has it.
    """

    attribute: str
    value: Value | None
    note: str = ""
    resource: str = ""
    date: str = ""
    given: str = ""

    @property
    def document(self) -> dict[str, Any]:
        """For programs; what is empty is left out, but for the value."""
        value = f"{self.value:f}" if isinstance(self.value, Decimal) else self.value
        told = {"note": self.note, "resource": self.resource, "date": self.date, "given": self.given}
        return {"attribute": self.attribute, "value": value} | {
            name: text for name, text in told.items() if text
        }


@dataclass(frozen=True, slots=True)
class MappedRecord:
    """A record in the study's words: `values` by attribute name, without those that are missing."""

    origins: tuple[Origin, ...] = field(repr=False)

    @property
    def values(self) -> dict[str, Value]:
        """What the tree is asked with."""
        return {one.attribute: one.value for one in self.origins if one.value is not None}

    @property
    def missing(self) -> list[str]:
        """Attributes of the mapping without a value."""
        return [one.attribute for one in self.origins if one.value is None]


@dataclass(frozen=True, slots=True)
class MappingReader:
    """A mapping, ready to read many patients."""

    mapping: FhirMapping
    _paths: Mapping[str, Evaluate] = field(repr=False)

    @classmethod
    def of(cls, mapping: FhirMapping, compile_path: CompilePath) -> MappingReader:
        """Args: compile_path: raises InputError on a text that is no FHIRPath."""
        return cls(
            mapping, {one.name: compile_path(one.path) for one in mapping.attributes if one.path is not None}
        )

    def read(self, gathered: Gathered, asked: datetime, selected: Sequence[Json] = ()) -> MappedRecord:
        """One patient's record.

        Args: asked: the moment, with its zone. selected: draft orders that were chosen (hook order-select).
        Raises: InputError: a number in a unit that the mapping does not know, or a path that cannot be evaluated.
        """
        return MappedRecord(
            tuple(self._origin(one, gathered, asked, selected) for one in self.mapping.attributes)
        )

    def _origin(
        self, attribute: MappedAttribute, gathered: Gathered, asked: datetime, selected: Sequence[Json]
    ) -> Origin:
        kind = attribute.resource
        found = [one for one in gathered.of(kind) if _counts(attribute, one, asked)]
        if attribute.drafts:
            found += [one for one in selected if one["resourceType"] == kind and _is_meant(attribute, one)]
        if not found:
            return _none(attribute, kind in gathered.partial)
        found.sort(key=_by_date, reverse=True)
        if attribute.take == "present":
            return _origin_of(attribute, found[0], Reading(attribute.present))
        read = [(one, reading) for one in found if (reading := self._read(attribute, one, asked)) is not None]
        if not read:
            return Origin(attribute.name, None, f"no {kind} of these carries a value")
        latest, reading = read[0]
        rivals = {other.value for one, other in read if _by_date(one) == _by_date(latest)}
        if len(rivals) > 1:
            return Origin(attribute.name, None, "two values of the same moment differ", date=date_of(latest))
        return _origin_of(attribute, latest, reading)

    def _read(self, attribute: MappedAttribute, resource: Json, asked: datetime) -> Reading | None:
        """What one resource says; None where it says nothing."""
        if attribute.take == "age":
            born = text_of(resource.get("birthDate"))
            age = age_in_years(born, asked.date()) if born else None
            unclear = Reading(None, note="the birth date leaves the age open") if born else None
            return unclear if age is None else read_number(attribute, Decimal(age), str(age))
        if attribute.take == "gender":
            gender = text_of(resource.get("gender"))
            return read_text(attribute, gender) if gender else None
        if attribute.path is not None:
            return _of_path(attribute, self._paths[attribute.name](resource, asked))
        if attribute.resource == "QuestionnaireResponse":
            return _of_answers(attribute, resource)
        return _of_observation(attribute, resource)


def _counts(attribute: MappedAttribute, resource: Json, asked: datetime) -> bool:
    """Whether a resource is about the attribute, in a state that counts, and of the time that counts."""
    if attribute.resource == "Patient":
        return True
    states = states_of(resource)
    wanted = attribute.statuses or USUAL.get(attribute.resource)
    if _NEVER & {*states} or (wanted is not None and not {*wanted} & {*states}):
        return False
    if attribute.resource == "Condition" and not _is_sure(attribute, resource):
        return False
    return _is_meant(attribute, resource) and _is_timely(attribute, resource, asked)


def _is_sure(attribute: MappedAttribute, condition: Json) -> bool:
    states = {*verification_of(condition)}
    return not _UNSURE & states and (not attribute.verification or bool({*attribute.verification} & states))


def _is_meant(attribute: MappedAttribute, resource: Json) -> bool:
    if resource.get("doNotPerform") is True:
        return False
    if attribute.resource != "QuestionnaireResponse":
        return is_among(codings_of(resource), attribute.codes)
    if attribute.questionnaire is None:
        return True
    given, wanted = text_of(resource.get("questionnaire")), attribute.questionnaire
    return wanted in (given, given.split("|")[0])


def _is_timely(attribute: MappedAttribute, resource: Json, asked: datetime) -> bool:
    moment = moment_of(date_of(resource))
    if moment is None:
        return attribute.within_days is None
    if moment > asked + _SKEW:
        return False
    days = attribute.within_days
    return days is None or moment >= asked - timedelta(days=days)


def _by_date(resource: Json) -> tuple[datetime, datetime]:
    return moment_of(date_of(resource)) or EARLIEST, changed_of(resource)


def _of_observation(attribute: MappedAttribute, observation: Json) -> Reading | None:
    element: Json | None = observation
    if attribute.component:
        parts = listed(observation.get("component"))
        element = next((one for one in parts if is_among(codings_of_part(one), attribute.component)), None)
    found = None if element is None else value_in(element)
    return None if found is None else read_element(attribute, *found)


def codings_of_part(component: Json) -> list[tuple[str, str]]:
    """Systems and codes of a part of an Observation."""
    return codings_of({"resourceType": "Observation", "code": component.get("code")})


def _of_answers(attribute: MappedAttribute, response: Json) -> Reading | None:
    answers = [answer for item in items_of(response, attribute.link) for answer in listed(item.get("answer"))]
    found = [value for answer in answers if (value := value_in(answer)) is not None]
    if len(found) > 1:
        return Reading(None, note="the question has more than one answer")
    return read_element(attribute, *found[0]) if found else None


def _of_path(attribute: MappedAttribute, found: list[Any]) -> Reading | None:
    if len(found) > 1:
        return Reading(None, note="the path gives more than one value")
    return read_element(attribute, kind_of(found[0]), found[0]) if found else None


def _none(attribute: MappedAttribute, is_partial: bool) -> Origin:
    if is_partial:
        return Origin(attribute.name, None, f"only a part of the resources {attribute.resource} could be had")
    if attribute.absent is None:
        return Origin(attribute.name, None, f"no {attribute.resource} that counts")
    return Origin(
        attribute.name,
        attribute.absent,
        f"no {attribute.resource} that counts, which the mapping says means this",
    )


def _origin_of(attribute: MappedAttribute, resource: Json, reading: Reading) -> Origin:
    return Origin(
        attribute.name,
        reading.value,
        reading.note,
        reference_to(resource),
        date_of(resource),
        reading.given,
    )
