"""FHIR R4 resources as they came: out of their Bundles, of one patient, with their dates, codes and states.

JSON as plain dicts, numbers as decimals. Nothing here knows a mapping. Every reader takes any JSON: what has another
form than R4's counts as not given, since a clinical system's slip in one element must not cost the rest.
Source: HL7 FHIR R4 (4.0.1), pages Bundle, Observation, Condition, QuestionnaireResponse, MedicationRequest,
ServiceRequest, Patient, and Datatypes, section 2.24.0.1 (dates).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from shared.errors import InputError
from shared.wire.fhir_mapping import DATED

Json = Mapping[str, Any]

MAX_RESOURCES: Final = 10_000
EARLIEST: Final = datetime(1, 1, 1, tzinfo=UTC)
_DATE: Final = re.compile(r"\d{4}(-\d\d(-\d\d(T\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:\d\d)?)?)?)?")
_PATIENT: Final = re.compile(
    r"(?:(?P<base>https?://.+)/)?(?P<key>Patient/[A-Za-z0-9.-]{1,64})(?:/_history/.+)?"
)
_STATUS_AT: Final = {"Condition": "clinicalStatus"}
_CODE_AT: Final = {"MedicationRequest": "medicationCodeableConcept"}


@dataclass(frozen=True, slots=True)
class Gathered:
    """The resources of one patient. `partial`: types of which more may exist than came, so that none says nothing."""

    resources: tuple[Json, ...]
    partial: frozenset[str] = frozenset()

    def of(self, kind: str) -> list[Json]:
        """Those of one type that may be read: one with a modifier extension may mean the opposite of what it says."""
        return [
            one for one in self.resources if one["resourceType"] == kind and "modifierExtension" not in one
        ]


def resources_in(document: object, where: str = "the body") -> list[tuple[Json, str]]:
    """Every resource of a Bundle, of a list of resources and Bundles, or one resource; each with its `fullUrl`, or "".

    Raises: InputError: something else than that, or too many of them.
    """
    found: list[tuple[Json, str]] = []
    for resource, url in _unpacked(document, "", where, 0):
        if len(found) == MAX_RESOURCES:
            raise InputError(
                f"more than {MAX_RESOURCES} resources",
                where=where,
                remedy="Send those that the mapping names.",
            )
        found.append((resource, url))
    return found


def _unpacked(document: object, url: str, where: str, depth: int) -> Iterator[tuple[Json, str]]:
    if isinstance(document, list) and depth == 0:
        for one in document:
            yield from _unpacked(one, "", where, 1)
        return
    if not isinstance(document, Mapping) or not isinstance(document.get("resourceType"), str):
        raise InputError(
            "expected FHIR resources: a Bundle, a list of resources, or one",
            where=where,
            remedy="Every resource has a resourceType.",
        )
    if document["resourceType"] != "Bundle":
        yield document, url
        return
    if depth > 1:
        raise InputError(
            "a Bundle in a Bundle's Bundle", where=where, remedy="Send the resources in one Bundle."
        )
    for entry in listed(document.get("entry")):
        if "resource" in entry:
            yield from _unpacked(entry["resource"], text_of(entry.get("fullUrl")), where, depth + 1)


def has_more(document: object) -> bool:
    """Whether a Bundle (or one of a list) says that it is a page of a longer answer."""
    bundles = document if isinstance(document, list) else [document]
    return any(
        isinstance(bundle, Mapping)
        and any(link.get("relation") == "next" for link in listed(bundle.get("link")))
        for bundle in bundles
    )


def of_one_patient(found: Iterable[tuple[Json, str]], expected: str = "") -> list[Json]:
    """Those resources, checked to be of one patient. Args: expected: that patient's logical id, where it is known.

    A resource that names nobody is that patient's only where it stands alone and no patient is expected: what a server
    finds by patient names that patient.
    Raises: InputError: they are of two patients, of another than the one expected, or of nobody knows whom. Says
        nothing of who they are.
    """
    pairs = list(found)
    aliases = {url: _key_of(one, url) for one, url in pairs if one["resourceType"] == "Patient" and url}
    bases: set[str] = set()
    owners = {f"Patient/{expected}"} if expected else set()
    must_say = ("Patient", *DATED) if expected else DATED if len(pairs) > 1 else ()
    for one, url in pairs:
        owner = _key_of(one, url) if one["resourceType"] == "Patient" else _subject_of(one, aliases, bases)
        if owner:
            owners.add(owner)
        elif one["resourceType"] in must_say:
            raise InputError(
                f"a resource {one['resourceType']} does not say whose it is",
                where="the body",
                remedy="Let its subject name the patient; else values of two patients could be mixed.",
            )
    if len(owners) > 1 or len(bases) > 1:
        raise InputError(
            "resources of more than one patient",
            where="the body",
            remedy="Ask for one patient at a time, with that patient's resources only.",
        )
    return [one for one, _ in pairs]


def owner_of(resource: Json) -> str:
    """Whose resource it is, `Patient/123`; "" where it does not say."""
    if resource["resourceType"] == "Patient":
        return _key_of(resource, "")
    return _subject_of(resource, {}, set())


def _key_of(patient: Json, url: str) -> str:
    identity = text_of(patient.get("id"))
    return f"Patient/{identity}" if identity else url


def _subject_of(resource: Json, aliases: Mapping[str, str], bases: set[str]) -> str:
    """Whose resource it is: `Patient/123`, another reference as it stands, or "" where it does not say."""
    subject = resource.get("subject", resource.get("patient"))
    reference = text_of(subject.get("reference")) if isinstance(subject, Mapping) else ""
    if reference in aliases:
        return aliases[reference]
    matched = _PATIENT.fullmatch(reference)
    if matched is None:
        return reference
    if matched["base"]:
        bases.add(matched["base"])
    return matched["key"]


def moment_of(text: object) -> datetime | None:
    """The first moment of a FHIR date, dateTime or instant; where no time zone is given, in UTC. None: it is none."""
    if not isinstance(text, str) or not _DATE.fullmatch(text):
        return None
    whole = text + "-01" * (2 - text.count("-")) if len(text) <= len("2026-11") else text
    try:
        moment = datetime.fromisoformat(whole)
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def date_of(resource: Json) -> str:
    """When what a resource says was so, as it stands there; "" where it does not say."""
    kind = resource["resourceType"]
    if kind == "Observation":
        period = resource.get("effectivePeriod")
        ends = [period.get("end"), period.get("start")] if isinstance(period, Mapping) else []
        given = [resource.get("effectiveDateTime"), resource.get("effectiveInstant"), *ends]
    elif kind == "Condition":
        given = [resource.get("recordedDate"), resource.get("onsetDateTime")]
    else:
        given = [resource.get("authored"), resource.get("authoredOn")]
    return next((text for text in given if isinstance(text, str) and moment_of(text)), "")


def changed_of(resource: Json) -> datetime:
    """When a resource was issued or last changed; of two of one date the later one is the better told."""
    meta = resource.get("meta")
    given = [resource.get("issued"), meta.get("lastUpdated") if isinstance(meta, Mapping) else None]
    return next((moment for text in given if (moment := moment_of(text)) is not None), EARLIEST)


def reference_to(resource: Json) -> str:
    """`Observation/123`, or the type alone where it has no id."""
    identity = text_of(resource.get("id"))
    return f"{resource['resourceType']}/{identity}" if identity else str(resource["resourceType"])


def codings_of(resource: Json) -> list[tuple[str, str]]:
    """Systems and codes of what a resource is about."""
    return concept_codings(resource.get(_CODE_AT.get(resource["resourceType"], "code")))


def concept_codings(concept: object) -> list[tuple[str, str]]:
    """Systems and codes of a CodeableConcept."""
    codings = listed(concept.get("coding")) if isinstance(concept, Mapping) else []
    return [(text_of(one.get("system")), text_of(one.get("code"))) for one in codings]


def states_of(resource: Json) -> list[str]:
    """Its status; of a Condition its clinical status, which it need not have."""
    place = _STATUS_AT.get(resource["resourceType"])
    if place is None:
        return [text_of(resource.get("status"))]
    return [code for _, code in concept_codings(resource.get(place))]


def verification_of(condition: Json) -> list[str]:
    """How sure a Condition is."""
    return [code for _, code in concept_codings(condition.get("verificationStatus"))]


def items_of(response: Json, link: str) -> list[Json]:
    """The items of a QuestionnaireResponse with a link id, at any depth."""
    waiting, found = listed(response.get("item")), []
    for item in waiting:  # grows while it is walked
        if item.get("linkId") == link:
            found.append(item)
        waiting.extend(listed(item.get("item")))
        for answer in listed(item.get("answer")):
            waiting.extend(listed(answer.get("item")))
    return found


def value_in(element: Json, prefix: str = "value") -> tuple[str, Any] | None:
    """The type and content of `value[x]`, or None."""
    for name, content in element.items():
        if name.startswith(prefix) and name[len(prefix) : len(prefix) + 1].isupper():
            return name[len(prefix) :], content
    return None


def listed(value: object) -> list[Json]:
    """The objects of a list."""
    if not isinstance(value, Sequence) or isinstance(value, str):
        return []
    return [one for one in value if isinstance(one, Mapping)]


def text_of(value: object) -> str:
    """A text, or "" for anything else."""
    return value if isinstance(value, str) else ""
