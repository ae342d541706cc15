"""The form of a new study: its fields step by step, and what they say as `POST /v1/studies` takes it.

Nothing is decided here: the body is checked by the model of the API, and the document by the use case; this room only
tells which field a fault belongs to, so that it can stand beside it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from pydantic import ValidationError

from cloud_service.api.study_models import StudyIn
from cloud_service.pages.typed_schema import Described, from_file, from_lines
from shared.errors import InputError
from shared.texts import has_text, text
from shared.wire.quality import DEFAULT_FLOOR

STEPS: Final = ("question", "records", "hospitals", "mode", "rules", "summary")
ASKING: Final[Mapping[str, str]] = {
    "ask_questions_per_day": "questions_per_day",
    "ask_questions": "questions",
    "ask_records_per_day": "records_per_day",
    "ask_records": "records",
}
"""Fields of how often a hospital may ask a shared tree, and what the document calls them."""
FIELDS: Final[Mapping[str, tuple[str, ...]]] = {
    "question": ("id", "question", "purpose", "legal_basis", "synthetic"),
    "records": ("document", "lines", "class_name", "class_labels", "fhir"),
    "hospitals": ("members", "records", "min_hospitals", "start"),
    "mode": (
        "hide_sums",
        "distrust",
        "hide_tree",
        "round_trip_ms",
        "megabits",
        "profiles",
        "compute_0",
        "compute_1",
        "compute_2",
        "result_parties",
        "shared_result",
        "asking",
        *ASKING,
    ),
    "rules": (
        "min_node",
        "min_child",
        "max_depth",
        "criteria",
        "disclosure",
        "publish_tree",
        "max_jobs",
        "expires",
        "tallies",
        "quality",
        "quality_floor",
        "noise_sigma",
        "noise_untrusted",
    ),
    "summary": (),
}
BOXES: Final = frozenset(
    {
        "synthetic",
        "members",
        "hide_sums",
        "distrust",
        "hide_tree",
        "profiles",
        "result_parties",
        "shared_result",
        "asking",
        "criteria",
        "publish_tree",
        "tallies",
        "quality",
    }
)
"""Fields of which nothing is sent where nothing is ticked."""
DEFAULTS: Final[Mapping[str, str]] = {
    "records": "10000",
    "min_hospitals": "3",
    "start": "approved",
    "round_trip_ms": "30",
    "megabits": "50",
    "min_node": "10",
    "min_child": "5",
    "max_depth": "8",
    "disclosure": "counts",
    "max_jobs": "20",
    "quality_floor": str(DEFAULT_FLOOR),
    "noise_untrusted": "1",
    "ask_questions_per_day": "20",
    "ask_questions": "500",
    "ask_records_per_day": "100",
    "ask_records": "2000",
}
_MOST_DIGITS: Final = 15
_NUMBERS: Final = ("min_hospitals", "min_node", "min_child", "max_depth", "max_jobs")
_SECRET: Final = frozenset({"secret-id3", "secret-gainratio"})
_FIELD_OF: Final[Mapping[str, str]] = {
    "schema": "document",
    "contract": "document",
    "noise": "noise_sigma",
    "compute_parties": "compute_0",
    "class": "class_labels",
    "quality": "quality_floor",
}
"""Where a fault of the body stands, if not at the field of the same name."""
GENERAL: Final = "general"


@dataclass(frozen=True, slots=True)
class Values:
    """What the form shows: what was said, or a default."""

    said: Mapping[str, list[str]]
    defaults: Mapping[str, list[str]]

    def value(self, name: str) -> str:
        """Of a field with one value."""
        found = self.values(name)
        return found[-1] if found else ""

    def values(self, name: str) -> list[str]:
        """Of boxes."""
        if name in self.said:
            return list(self.said[name])
        return list(self.defaults.get(name) or ([DEFAULTS[name]] if name in DEFAULTS else []))

    def at(self, name: str, place: int) -> str:
        """Of a field that stands several times; empty where it was not sent so often."""
        found = self.values(name)
        return found[place] if place < len(found) else ""

    def has(self, name: str, value: str = "yes") -> bool:
        """Whether a box is ticked."""
        return value in self.values(name)


@dataclass(frozen=True, slots=True)
class Reading:
    """What a form says. `body`: None while something is missing. `faults`: by field, in words."""

    body: StudyIn | None
    faults: Mapping[str, str]
    described: Described | None


def step_of(name: str) -> str:
    """The step that has a field; the last one for what belongs nowhere."""
    return next((step for step, names in FIELDS.items() if name in names), STEPS[-1])


def said_in(step: str, fields: Mapping[str, list[str]]) -> dict[str, list[str]]:
    """A step's fields as they were sent; a box that is not ticked is told by nothing."""
    return {name: list(fields.get(name, [])) for name in FIELDS[step] if name in fields or name in BOXES}


def read(values: Values) -> Reading:
    """The body, or what keeps it from being one."""
    faults: dict[str, str] = {}
    described = _described(values, faults)
    body = dict(_body(values, faults))
    if described is not None:
        body |= {"schema": described.schema}
        body |= {} if described.contract is None else {"contract": described.contract}
    body |= _mapping(values, faults)
    try:
        checked = StudyIn.model_validate_json(json.dumps(body))
    except ValidationError as error:
        for fault in error.errors(include_url=False, include_context=False, include_input=False):
            name = str(fault["loc"][0]) if fault["loc"] else GENERAL
            place = ".".join(str(part) for part in fault["loc"][1:])
            faults.setdefault(_field(name, values), _words(name, fault["msg"], place))
        return Reading(None, faults, described)
    return Reading(None if faults else checked, faults, described)


def whole_number(said: str) -> int | None:
    """A number as a person types it; None: it is none, or longer than any that is meant."""
    digits = said.strip()
    return int(digits) if digits.isascii() and digits.isdigit() and len(digits) <= _MOST_DIGITS else None


def placed(error: Exception, values: Values) -> tuple[str, str]:
    """The field that an error of the use case belongs to, and its sentence without the place."""
    where = error.where if isinstance(error, InputError) else ""
    sentence = str(error).removeprefix(f"{where}: ")
    name = where.split(" ")[0]
    if where == "study":  # a rule of the document itself, whose words begin with the member's name
        sentence = sentence.removeprefix("the document: ")
        name = sentence.split(" ")[0].rstrip(":,")
    if name == "mapping":  # which attribute of it is a part of the place
        return "fhir", str(error)
    if name in ("schema", "attribute", "class", "contract"):
        return _field("schema", values), sentence
    found = _field(name, values)
    return (found if found in {n for names in FIELDS.values() for n in names} else GENERAL), sentence


def profiles_of(values: Values) -> list[str]:
    """How jobs of the study may compute."""
    return values.values("profiles") or ["hardened"]


def is_secret(values: Values) -> bool:
    """Whether one of them works on shares."""
    return bool(_SECRET & set(profiles_of(values)))


def _described(values: Values, faults: dict[str, str]) -> Described | None:
    document, lines = values.value("document").strip(), values.value("lines").strip()
    name = "document" if document else "lines"
    try:
        if document:
            return from_file(document)
        return from_lines(lines, values.value("class_name"), values.value("class_labels"))
    except InputError as error:
        faults[_class_fault(error, name)] = str(error)
        return None


def _mapping(values: Values, faults: dict[str, str]) -> dict[str, Any]:
    said = values.value("fhir").strip()
    if not said:
        return {}
    try:
        return {"fhir": json.loads(said)}
    except (ValueError, RecursionError):
        faults["fhir"] = text("cloud.plan.fault.not_json")
        return {}


def _class_fault(error: InputError, name: str) -> str:
    return "class_labels" if name == "lines" and error.where.startswith("class") else name


def _body(values: Values, faults: dict[str, str]) -> Iterator[tuple[str, Any]]:
    for name in ("id", "question", "purpose", "legal_basis"):
        yield name, values.value(name).strip()
    yield "synthetic", values.has("synthetic")
    yield "publish_tree", values.has("publish_tree")
    yield "members", values.values("members")
    for name in ("start", "disclosure"):
        yield name, values.value(name)
    yield from _numbers(values, faults)
    profiles = profiles_of(values)
    yield "profiles", profiles
    yield from _ways(values, profiles, faults)
    for name in ("criteria", "tallies"):
        if values.values(name):
            yield name, values.values(name)
    if values.values("quality"):
        floor = _number(values, "quality_floor", faults)
        yield (
            "quality",
            {"figures": values.values("quality"), "floor": DEFAULT_FLOOR if floor is None else floor},
        )
    sigma = values.value("noise_sigma").strip()
    if sigma:
        yield "noise", {"sigma": sigma, "untrusted": _number(values, "noise_untrusted", faults)}
    if values.value("expires"):
        yield from _expiry(values.value("expires"), faults)


def _ways(values: Values, profiles: list[str], faults: dict[str, str]) -> Iterator[tuple[str, Any]]:
    """What only the secret modes have."""
    if not _SECRET & set(profiles):
        return
    parties = [values.value(f"compute_{place}") for place in range(3)]
    if all(parties):
        yield "compute_parties", parties
    if "secret-gainratio" in profiles:
        if values.values("result_parties"):
            yield "result_parties", values.values("result_parties")
        yield "shared_result", values.has("shared_result") or values.has("asking")
        if values.has("asking"):
            yield "asking", {name: _number(values, field, faults) or 0 for field, name in ASKING.items()}


def _numbers(values: Values, faults: dict[str, str]) -> Iterator[tuple[str, int]]:
    for name in _NUMBERS:
        found = _number(values, name, faults)
        if found is not None:
            yield name, found


def _number(values: Values, name: str, faults: dict[str, str]) -> int | None:
    found = whole_number(values.value(name))
    if found is None:
        faults[name] = text("cloud.plan.fault.whole_number")
    return found


def _expiry(day: str, faults: dict[str, str]) -> Iterator[tuple[str, int]]:
    try:
        moment = datetime.strptime(day, "%Y-%m-%d").replace(hour=23, minute=59, second=59, tzinfo=UTC)
    except ValueError:
        faults["expires"] = text("cloud.plan.fault.day")
        return
    yield "expires", int(moment.timestamp())


def _field(name: str, values: Values) -> str:
    found = _FIELD_OF.get(name, name)
    return "lines" if found == "document" and not values.value("document").strip() else found


def _words(name: str, message: str, place: str) -> str:
    known = f"cloud.plan.expected.{name}"
    if has_text(known):
        return text(known)
    told = message.removeprefix("Value error, ")
    return f"{place}: {told}" if place else told
