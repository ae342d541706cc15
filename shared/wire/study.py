"""The study document: what hospitals approve once, before any job, by its hash; and their signed answers.

A document is never changed, since answers are to its bytes; another question, rule or member makes another study. It
says the most that jobs may do. Who checks that: `shared.protocol.governing`; how it reads to a person:
`shared.protocol.plain_words`.
"""

from __future__ import annotations

import hashlib
from typing import Annotated, Final, Literal, Self

from pydantic import Field, StringConstraints, model_validator

from shared.wire.asking import AskingRules
from shared.wire.base import Base64Url, Count, Hex32, Hex64, Id, WireModel, is_absent
from shared.wire.contract import DataContract
from shared.wire.fhir_mapping import FhirMapping
from shared.wire.manifest import (
    MAX_AGENTS,
    MAX_ATTRIBUTES,
    Criterion,
    Disclosure,
    KeyMode,
    Profile,
    SchemaSpec,
)
from shared.wire.noise import NoiseSpec
from shared.wire.quality import QualitySpec
from shared.wire.secret import COMPUTE_PARTIES, MAX_RECORDS
from shared.wire.tally import TallyKind

MAX_STUDY_BYTES: Final = 2**25
"""Of a signed document: its schema is a manifest's."""
MAX_ANSWER_BYTES: Final = 2**12
MAX_JOBS: Final = 100_000
MAX_SHRINKS: Final = 16
_LAST_MOMENT: Final = 253_402_300_799
"""The last second of the year 9999, in Unix seconds: later ones are no day that could be told."""

Start = Literal["asked", "approved"]
AnswerWord = Literal["approve", "decline", "withdraw"]
ReasonCode = Literal["question", "legal", "ethics", "floors", "parties", "data", "resources", "other"]
Line = Annotated[str, StringConstraints(max_length=500)]
Moment = Annotated[int, Field(ge=0, le=_LAST_MOMENT)]
Ids = Annotated[list[Id], Field(min_length=1, max_length=MAX_AGENTS)]


class StudyDocument(WireModel):
    """The most that the jobs of a study may do.

    `federation`: SHA-256 of the root certificate. `purpose`, `legal_basis`: for people. `profiles`, `criteria`: those
    that jobs may have; `key_mode` "threshold" refuses keys that each hospital has in full. `min_...`: each job's are at
    least so; `max_...`: at most (`max_depth` None: any). `noise`: each job has at least so much. `compute_parties`,
    `result_parties`: of secret jobs; None for whom the job names. `shared_result`, `open_empty`: whether they may.
    `start` "approved": no job before every invited hospital has approved. `contract`: how each hospital's texts become
    the schema's values; the schema is the one it stands for (`shared.contract.schema`). `fhir`: how resources of
    clinical systems become records that its trees are asked with. `tallies`: what jobs may count besides growing trees;
    None for nothing. `asking`: how often each hospital may ask a shared tree by itself; None for never. Such questions
    are counted apart from `max_jobs`. Times: Unix seconds.
    """

    v: Literal[1] = 1
    id: Id
    federation: Hex32
    question: Annotated[str, StringConstraints(min_length=1, max_length=2000)]
    purpose: Line = ""
    legal_basis: Line = ""
    schema_: Annotated[SchemaSpec, Field(alias="schema")]
    members: Annotated[list[Id], Field(max_length=MAX_AGENTS)]
    profiles: Annotated[list[Profile], Field(min_length=1)]
    criteria: Annotated[list[Criterion], Field(min_length=1)]
    key_mode: KeyMode = "shared"
    min_hospitals: Annotated[int, Field(ge=3, le=MAX_AGENTS)]
    min_node: Annotated[int, Field(ge=1, le=2**46)]
    min_child: Annotated[int, Field(ge=1, le=2**46)]
    max_depth: Annotated[int, Field(ge=1, le=MAX_ATTRIBUTES)] | None
    max_shrinks: Annotated[int, Field(ge=0, le=MAX_SHRINKS)]
    max_jobs: Annotated[int, Field(ge=1, le=MAX_JOBS)]
    publish_tree: bool
    disclosure: Disclosure
    synthetic: bool
    start: Start = "asked"
    noise: Annotated[NoiseSpec | None, Field(exclude_if=is_absent)] = None
    compute_parties: Annotated[
        list[Id] | None,
        Field(min_length=COMPUTE_PARTIES, max_length=COMPUTE_PARTIES, exclude_if=is_absent),
    ] = None
    result_parties: Annotated[Ids | None, Field(exclude_if=is_absent)] = None
    shared_result: bool = False
    open_empty: bool = False
    max_records: Annotated[int | None, Field(ge=1, le=MAX_RECORDS, exclude_if=is_absent)] = None
    contract: Annotated[DataContract | None, Field(exclude_if=is_absent)] = None
    fhir: Annotated[FhirMapping | None, Field(exclude_if=is_absent)] = None
    tallies: Annotated[list[TallyKind] | None, Field(min_length=1, exclude_if=is_absent)] = None
    quality: Annotated[QualitySpec | None, Field(exclude_if=is_absent)] = None
    asking: Annotated[AskingRules | None, Field(exclude_if=is_absent)] = None
    created: Moment
    expires: Moment

    @property
    def sha256(self) -> str:
        """Hash of the canonical document, hex: what hospitals approve."""
        return hashlib.sha256(self.canonical()).hexdigest()

    @property
    def is_secret(self) -> bool:
        """Whether jobs may work on shares."""
        return any(profile.startswith("secret-") for profile in self.profiles)

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        wrong = [
            (
                self.members != sorted(set(self.members)),
                "members: expected different hospitals, sorted by id",
            ),
            (self.profiles != sorted(set(self.profiles)), "profiles: expected each once, sorted"),
            (self.criteria != sorted(set(self.criteria)), "criteria: expected each once, sorted"),
            (
                (self.tallies or []) != sorted(set(self.tallies or ())),
                "tallies: expected each once, sorted",
            ),
            (
                self.quality is not None
                and "evaluation" in self.quality.figures
                and "evaluation" not in (self.tallies or ()),
                "quality: figures of evaluations need jobs that evaluate (tallies: evaluation)",
            ),
            (self.expires <= self.created, "expires: expected a time after created"),
            (
                bool({*(self.compute_parties or ()), *(self.result_parties or ())} - set(self.members)),
                "compute_parties and result_parties must be members",
            ),
            (
                len(set(self.compute_parties or ())) != len(self.compute_parties or ()),
                "compute_parties: expected three different hospitals",
            ),
            (
                (self.result_parties or []) != sorted(set(self.result_parties or ())),
                "result_parties: expected different hospitals, sorted by id",
            ),
            ("paper" in self.profiles and not self.synthetic, "profile paper is for synthetic studies only"),
            (
                self.noise is not None and self.profiles != ["hardened"],
                "noise: only profile hardened adds noise, so profiles must name no other",
            ),
            (
                self.asking is not None and not (self.shared_result and "secret-gainratio" in self.profiles),
                "asking: trees that stay shared need profile secret-gainratio and shared_result",
            ),
        ]
        reason = next((text for broken, text in wrong if broken), None)
        if reason is not None:
            raise ValueError(reason)
        return self


class SignedStudy(WireModel):
    """The document as the cloud hands it out: with its Ed25519 signature and its present certificate (DER)."""

    document: StudyDocument
    signature: Hex64
    certificate: Annotated[Base64Url, Field(max_length=8192)]


class StudyAnswer(WireModel):
    """What a hospital says to a document. `reason` travels to the cloud; `time`: Unix seconds, growing from answer to
    answer, so that the last one counts."""

    v: Literal[1] = 1
    hospital: Id
    study: Id
    study_sha256: Hex32
    answer: AnswerWord
    code: Annotated[ReasonCode | None, Field(exclude_if=is_absent)] = None
    reason: Annotated[str, StringConstraints(max_length=200)] = ""
    time: Count

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if (self.code is None) != (self.answer == "approve"):
            raise ValueError("code: named with decline and withdraw, and only there")
        return self


class SignedAnswer(WireModel):
    """Body of `POST /v1/agent/studies/{id}/answer`."""

    answer: StudyAnswer
    signature: Hex64


class StudyLine(WireModel):
    """One study in the list that an agent fetches. `closed`: when it was ended, Unix seconds; 0 while it is open."""

    id: Id
    sha256: Hex32
    closed: Moment


class StudyLines(WireModel):
    """Answer of `GET /v1/agent/studies`: the studies that invite the agent; `change`: of its last change."""

    change: Count
    studies: Annotated[list[StudyLine], Field(max_length=100_000)]
