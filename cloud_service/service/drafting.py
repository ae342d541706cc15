"""From what a person says of a study to its document: everything that was not said takes a safe default.

Safe is what a hospital's own policy allows if nobody changes it. A study of test data (`synthetic`) is open instead.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Final

from pydantic import ValidationError

from shared.errors import InputError
from shared.wire.asking import AskingRules
from shared.wire.base import describe
from shared.wire.contract import DataContract
from shared.wire.fhir_mapping import FhirMapping
from shared.wire.manifest import SECRET_CRITERIA, Criterion, Disclosure, KeyMode, Profile, SchemaSpec
from shared.wire.noise import NoiseSpec
from shared.wire.quality import QualitySpec
from shared.wire.study import MAX_JOBS, MAX_SHRINKS, Start, StudyDocument
from shared.wire.tally import TallyKind

DAY_SECONDS: Final = 86_400
YEAR_SECONDS: Final = 365 * DAY_SECONDS
NO_LIMIT: Final = 0
"""Of `max_depth`: any depth."""

_SAFE: Final[Mapping[str, Any]] = {
    "profiles": ["hardened"],
    "min_node": 10,
    "min_child": 5,
    "max_depth": 12,
    "max_shrinks": 1,
    "max_jobs": 20,
    "shared_result": False,
    "open_empty": False,
}
_OPEN: Final[Mapping[str, Any]] = {
    "profiles": ["hardened", "paper", "secret-gainratio", "secret-id3"],
    "min_node": 1,
    "min_child": 1,
    "max_depth": None,
    "max_shrinks": MAX_SHRINKS,
    "max_jobs": MAX_JOBS,
    "shared_result": True,
    "open_empty": True,
}


@dataclass(frozen=True, slots=True)
class StudyRules:
    """What a person may say of a study besides its question and schema; None for the default of that rule.

    Members and rules are those of `StudyDocument`; `members` None is every hospital of the federation, `max_depth` 0
    any depth, `expires` Unix seconds, a year from now by default.
    """

    purpose: str = ""
    legal_basis: str = ""
    members: Sequence[str] | None = None
    profiles: Sequence[Profile] | None = None
    criteria: Sequence[Criterion] | None = None
    key_mode: KeyMode | None = None
    min_hospitals: int = 3
    min_node: int | None = None
    min_child: int | None = None
    max_depth: int | None = None
    max_shrinks: int | None = None
    max_jobs: int | None = None
    start: Start = "asked"
    noise: NoiseSpec | None = None
    compute_parties: Sequence[str] | None = None
    result_parties: Sequence[str] | None = None
    shared_result: bool | None = None
    open_empty: bool | None = None
    max_records: int | None = None
    contract: DataContract | None = None
    fhir: FhirMapping | None = None
    tallies: Sequence[TallyKind] | None = None
    asking: AskingRules | None = None
    quality: QualitySpec | None = None
    expires: int | None = None


@dataclass(frozen=True, slots=True)
class Frame:
    """What a document says that no person chose: federation, hospitals, key mode, and times in Unix seconds."""

    federation: str
    hospitals: Sequence[str]
    key_mode: KeyMode
    created: int
    expires: int


@dataclass(frozen=True, slots=True)
class Question:
    """The part of a study that there was before documents."""

    id: str
    question: str
    schema: SchemaSpec
    publish_tree: bool
    disclosure: Disclosure
    synthetic: bool


def draft(question: Question, rules: StudyRules, frame: Frame) -> StudyDocument:
    """The document.

    Raises: InputError: the rules contradict themselves, or name a hospital that is not there, or no job could ever run.
    """
    said = {field.name: getattr(rules, field.name) for field in fields(rules)}
    chosen = {name: value for name, value in said.items() if value is not None}
    defaults = dict(_OPEN if question.synthetic else _SAFE)
    defaults["key_mode"] = "shared" if question.synthetic else frame.key_mode
    if rules.noise is not None:
        defaults["profiles"] = ["hardened"]
    chosen = {**defaults, **chosen}
    members = sorted(set(frame.hospitals if rules.members is None else rules.members))
    strangers = sorted(set(members) - set(frame.hospitals))
    if strangers:
        raise InputError(
            f"{strangers[0]} is not a hospital of this federation",
            where="members",
            remedy="Name present members.",
        )
    if rules.max_depth == NO_LIMIT:
        chosen["max_depth"] = None
    profiles = sorted(set(chosen["profiles"]))
    _check_numbers(question.schema, profiles)
    chosen |= {
        "profiles": profiles,
        "criteria": sorted(set(rules.criteria or _criteria_of(profiles))),
        "members": members,
        "compute_parties": None if rules.compute_parties is None else list(rules.compute_parties),
        "result_parties": None if rules.result_parties is None else sorted(set(rules.result_parties)),
        "tallies": _tallies_of(rules),
        "expires": frame.expires if rules.expires is None else rules.expires,
    }
    fixed: dict[str, Any] = {
        "id": question.id,
        "federation": frame.federation,
        "question": question.question,
        "schema_": question.schema,
        "publish_tree": question.publish_tree,
        "disclosure": question.disclosure,
        "synthetic": question.synthetic,
        "created": frame.created,
    }
    try:
        return StudyDocument(**chosen, **fixed)
    except ValidationError as error:
        raise InputError(
            describe(error), where="study", remedy="Change the rule, or leave it out for its default."
        ) from None


def _tallies_of(rules: StudyRules) -> list[TallyKind] | None:
    """Those that were named, and evaluations where their figures are to be published."""
    published = () if rules.quality is None else rules.quality.figures
    counted: set[TallyKind] = {"evaluation"} if "evaluation" in published else set()
    return sorted({*(rules.tallies or ()), *counted}) or None


def _check_numbers(schema: SchemaSpec, profiles: Sequence[str]) -> None:
    """A study cannot be changed once it is there. Raises: InputError: numbers that only mode gain-ratio compares."""
    measured = [attribute.name for attribute in schema.attributes if attribute.numeric is not None]
    if measured and "secret-gainratio" not in profiles:
        more = f" and {len(measured) - 1} more" if len(measured) > 1 else ""
        raise InputError(
            f"attribute {measured[0]!r}{more}: a number without cut points, which no job of these profiles can use "
            f"({', '.join(profiles)})",
            where="schema",
            remedy="Give it cut points (privet data grid, or draft --cuts), or allow profile secret-gainratio.",
        )


def _criteria_of(profiles: Sequence[str]) -> set[Criterion]:
    """All that the profiles can have."""
    if {"hardened", "paper"} & set(profiles):
        return {"gain-ratio", "information-gain"}
    return {SECRET_CRITERIA[profile] for profile in profiles}
