"""The form of a new job: its fields, and what they say as `POST /v1/studies/{study}/jobs` takes it."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pydantic import ValidationError

from cloud_service.api.job_requests import JobIn
from cloud_service.pages import job_options, job_several
from cloud_service.pages.study_form import GENERAL, Values, whole_number
from cloud_service.service.planning import SECRET_MODES, JobPlan
from cloud_service.service.studies import StudyView
from cloud_service.service.tallying import SelectionPlan
from cloud_service.store.jobs import StoredJob
from shared.errors import ErrorCode, InputError, PeerError
from shared.texts import has_text, text

FIELDS: Final = (
    "what",
    "model",
    "taken",
    "invited",
    "way",
    "criterion",
    "min_node",
    "min_child",
    "max_depth",
    "min_hospitals",
    "thresholds",
    "pruning",
    "min_gain",
    "hold_out",
    "compute_0",
    "compute_1",
    "compute_2",
    "result",
    "invite_hours",
    "records",
    "key",
    *job_options.FIELDS,
    *job_several.FIELDS,
)
PRUNINGS: Final[Mapping[str, Mapping[str, str]]] = {
    "collapse": {"method": "collapse"},
    "pessimistic": {"method": "pessimistic"},
    "majority": {"method": "majority", "share": "0.95"},
}
HELD_OUT: Final = ("10%", "20%", "30%", "1/3")
_SEED_BYTES: Final = 16
_SEED_CONTEXT: Final = b"privet/job-form/selection-seed/1\n"
_NUMBERS: Final = ("min_node", "min_child", "min_hospitals")
_GATHERED: Final[Mapping[str, tuple[str, ...]]] = {
    "way": ("profile", "mode"),
    "compute_0": ("secret", "compute_parties"),
    "hold_out": ("selection", "hold-out"),
    "what": ("tally", "histogram"),
    "model": ("evaluate", "places"),
    "invite_hours": ("deadlines",),
    "invited": ("invites",),
    "noise_sigma": ("noise",),
    "weight": ("class_weights",),
    "most_records": ("max_records",),
    "without_one": ("--leave-one-out",),
    "every_fold": ("--all-folds",),
}
_PLACES: Final = {word: field for field, words in _GATHERED.items() for word in words}
_HOUR_SECONDS: Final = 3600
_DEFAULTS: Final = JobPlan()


@dataclass(frozen=True, slots=True)
class JobReading:
    """What a form says. `body`: None where something is not right; `faults`: by field, in words."""

    body: JobIn | None
    faults: Mapping[str, str]


def defaults_of(view: StudyView, candidates: list[str], key: str) -> dict[str, list[str]]:
    """What the form shows at first: as strict as the study asks."""
    document = view.document
    least = {name: getattr(_DEFAULTS, name) for name in _NUMBERS}
    depth = _DEFAULTS.max_depth or 0
    if document is not None:
        least = {name: max(number, getattr(document, name)) for name, number in least.items()}
        depth = min(depth, document.max_depth or depth)
    found = {name: [str(number)] for name, number in least.items()}
    return found | {
        "max_depth": [str(depth)],
        "what": ["tree"],
        "way": [ways_of(view)[0]],
        "criterion": [criteria_of(view)[0]],
        "invited": candidates,
        "invite_hours": ["24"],
        "records": ["10000"],
        "result": ["open"],
        "noise_untrusted": ["1"],
        "key": [key],
    }


def ways_of(view: StudyView) -> list[str]:
    """Profiles that a job may have; the safest first."""
    if view.document is None:
        return ["hardened", "paper"] if view.synthetic else ["hardened"]
    return sorted(view.document.profiles, key=lambda profile: (profile != "hardened", profile))


def criteria_of(view: StudyView) -> list[str]:
    """Criteria that a job of mode ppsdt may have; the usual one first."""
    found = ["information-gain", "gain-ratio"] if view.document is None else list(view.document.criteria)
    return sorted(found, key=lambda name: (name != "information-gain", name))


def read(values: Values, view: StudyView, shared: Sequence[StoredJob] = ()) -> JobReading:
    """The body, or what keeps it from being one. Args: shared: jobs whose trees can be asked."""
    faults: dict[str, str] = {}
    body = dict(_body(values, view, shared, faults))
    try:
        checked = JobIn.model_validate_json(json.dumps(body))
    except ValidationError as error:
        for fault in error.errors(include_url=False, include_context=False, include_input=False):
            name = str(fault["loc"][0]) if fault["loc"] else GENERAL
            if name == "secret" and len(fault["loc"]) > 1 and fault["loc"][1] == "grid":
                name = "grid"
            known = f"cloud.plan.expected.{name}"
            sentence = text(known) if has_text(known) else fault["msg"].removeprefix("Value error, ")
            faults.setdefault(_PLACES.get(name, name), sentence)
        return JobReading(None, faults)
    return JobReading(None if faults else checked, faults)


def seed_of(values: Values) -> str:
    """Of the form's own number, so that the plan that was read and the job that is started part records alike."""
    return hashlib.sha256(_SEED_CONTEXT + values.value("key").encode()).digest()[:_SEED_BYTES].hex()


def placed(error: Exception) -> tuple[str, str]:
    """The field that an error of the use case belongs to, and its sentence without the place."""
    if isinstance(error, PeerError) and error.code is ErrorCode.POLICY_MIN_HOSPITALS:
        return "invited", str(error)
    where = error.where if isinstance(error, InputError) else ""
    sentence = str(error).removeprefix(f"{where}: ").removeprefix("the document: ")
    if field := job_options.place_of(where):
        return field, sentence
    for word in (where.split(" ")[0], *re.findall(r"[a-z_]+", sentence)):
        name = _PLACES.get(word, word)
        if name in FIELDS and word not in ("records", "what", "taken", "result", "key", "model"):
            return name, sentence
    return GENERAL, sentence


def _body(
    values: Values, view: StudyView, shared: Sequence[StoredJob], faults: dict[str, str]
) -> Iterator[tuple[str, Any]]:
    way, what = values.value("way"), values.value("what")
    yield "invited", values.values("invited")
    yield "mode", SECRET_MODES.get(way, "ppsdt")
    yield "profile", way if way in ("hardened", "paper") else "hardened"
    for name in _NUMBERS:
        yield name, _number(values, name, faults)
    hours = _number(values, "invite_hours", faults)
    yield "deadlines", {"invite_seconds": hours * _HOUR_SECONDS}
    if what == "ask":
        yield from job_options.asking(values, shared, faults)
        return
    if what != "tree":
        yield "tally", _tally(values, what)
        yield from job_options.noise(values, faults)
        return
    yield "max_depth", _number(values, "max_depth", faults) or None
    yield from _growing(values, way)
    yield from job_options.growing(values, view, faults)
    yield from _held_out(values, faults)
    if way in SECRET_MODES:
        yield "secret", {**_secret(values, way), **dict(job_options.secret(values, view, way, faults))}


def _growing(values: Values, way: str) -> Iterator[tuple[str, Any]]:
    if way in ("hardened", "paper"):
        yield "criterion", values.value("criterion")
    for name in ("thresholds", "min_gain"):
        if values.value(name).strip():
            yield name, values.value(name).strip()
    if values.value("pruning") in PRUNINGS:
        yield "pruning", PRUNINGS[values.value("pruning")]


def _held_out(values: Values, faults: dict[str, str]) -> Iterator[tuple[str, Any]]:
    share = values.value("hold_out")
    if not share or share in job_several.FOLDS:
        return
    try:
        plan = SelectionPlan.hold_out(share)
    except InputError as error:
        faults["hold_out"] = str(error)
        return
    parted = {"parts": plan.parts, "first": plan.first, "last": plan.last}
    yield "selection", {**parted, "seed": seed_of(values)}


def _tally(values: Values, what: str) -> dict[str, Any]:
    if what != "evaluation":
        return {"kind": what}
    taken = values.value("taken")
    return {"kind": what, "model": values.value("model"), **({"records": taken} if taken else {})}


def _secret(values: Values, way: str) -> dict[str, Any]:
    parties = [values.value(f"compute_{place}") for place in range(3)]
    block: dict[str, Any] = {} if not all(parties) else {"compute_parties": parties}
    if way == "secret-gainratio":
        block["result"] = values.value("result") or "open"
    return block


def _number(values: Values, name: str, faults: dict[str, str]) -> int:
    found = whole_number(values.value(name))
    if found is None:
        faults[name] = text("cloud.plan.fault.whole_number")
    return 1 if found is None else found
