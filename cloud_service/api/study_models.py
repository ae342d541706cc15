"""What people send and see of studies."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from cloud_service.api.job_requests import NoiseIn
from cloud_service.service.drafting import StudyRules
from cloud_service.service.governance import Standing
from cloud_service.service.studies import StudyView
from shared.ids import ID_PATTERN
from shared.protocol.plain_words import words_of
from shared.wire.asking import AskingRules
from shared.wire.base import MAX_INTEGER
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
from shared.wire.quality import DEFAULT_FLOOR, MAX_FLOOR, QualityKind, QualitySpec
from shared.wire.secret import COMPUTE_PARTIES, MAX_RECORDS
from shared.wire.study import MAX_JOBS, MAX_SHRINKS, Start
from shared.wire.tally import TallyKind

SCHEMA_EXAMPLE: Final[dict[str, Any]] = {
    "attributes": [
        {"name": "nausea", "values": ["0", "1"]},
        {"name": "temperature", "values": ["<= 37.5", "> 37.5"], "cuts": ["37.5"]},
    ],
    "class": {"name": "diagnosis", "labels": ["none", "nephritis"]},
}
_RULES: Final = StudyRules()
Id = Annotated[str, Field(pattern=ID_PATTERN)]
Line = Annotated[str, Field(max_length=500)]
AnswerState = Literal["pending", "approved", "declined", "withdrawn"]


class QualityIn(BaseModel):
    """What is published of finished jobs. `floor`: no number of records below it is told; others are rounded to it."""

    model_config = ConfigDict(extra="forbid")

    figures: Annotated[
        list[QualityKind],
        Field(
            min_length=1,
            description="evaluation: how good a tree is (jobs may then evaluate); importance: what attributes told",
        ),
    ]
    floor: Annotated[int, Field(ge=2, le=MAX_FLOOR)] = DEFAULT_FLOOR

    def spec(self) -> QualitySpec:
        """The document's block."""
        return QualitySpec(figures=sorted(set(self.figures)), floor=self.floor)


class StudyIn(BaseModel):
    """A new study. What is left out takes a default that a hospital's unchanged policy allows; test data is open."""

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
        json_schema_extra={
            "example": {
                "id": "acute-inflammations",
                "question": "Which acute inflammation of the urinary system does a patient have?",
                "purpose": "a bedside rule for emergency rooms",
                "schema": SCHEMA_EXAMPLE,
                "min_node": 20,
                "publish_tree": False,
                "disclosure": "counts",
                "synthetic": False,
            }
        },
    )

    id: Id
    question: Annotated[str, Field(min_length=1, max_length=2000)]
    schema_: Annotated[SchemaSpec, Field(alias="schema")]
    publish_tree: Annotated[bool, Field(description="Whether the cloud may learn and show the tree")] = False
    disclosure: Annotated[
        Disclosure, Field(description="The most that a hospital's predictions may show")
    ] = "counts"
    synthetic: Annotated[bool, Field(description="Test data; profile paper needs it")] = False
    purpose: Annotated[Line, Field(description="What for, in one line")] = _RULES.purpose
    legal_basis: Annotated[Line, Field(description="On what grounds, in one line")] = _RULES.legal_basis
    members: Annotated[
        list[Id] | None, Field(max_length=MAX_AGENTS, description="By default every hospital there is now")
    ] = None
    profiles: Annotated[
        list[Profile] | None, Field(min_length=1, description="hardened, or of test data any, by default")
    ] = None
    criteria: Annotated[list[Criterion] | None, Field(min_length=1)] = None
    key_mode: Annotated[
        KeyMode | None,
        Field(description="threshold: no hospital opens a sum alone; by default as the key is"),
    ] = _RULES.key_mode
    min_hospitals: Annotated[int, Field(ge=3, le=MAX_AGENTS)] = _RULES.min_hospitals
    min_node: Annotated[int | None, Field(ge=1, le=2**46, description="10 by default")] = None
    min_child: Annotated[int | None, Field(ge=1, le=2**46, description="5 by default")] = None
    max_depth: Annotated[
        int | None, Field(ge=0, le=MAX_ATTRIBUTES, description="12 by default; 0 allows any")
    ] = None
    max_shrinks: Annotated[int | None, Field(ge=0, le=MAX_SHRINKS, description="1 by default")] = None
    max_jobs: Annotated[int | None, Field(ge=1, le=MAX_JOBS, description="20 by default")] = None
    start: Annotated[Start, Field(description="approved: no job before all it invites have approved")] = (
        _RULES.start
    )
    noise: Annotated[NoiseIn | None, Field(description="Each job adds at least this noise")] = None
    compute_parties: (
        Annotated[list[Id], Field(min_length=COMPUTE_PARTIES, max_length=COMPUTE_PARTIES)] | None
    ) = None
    result_parties: Annotated[list[Id], Field(min_length=1)] | None = None
    shared_result: bool | None = None
    open_empty: bool | None = None
    max_records: Annotated[int | None, Field(ge=1, le=MAX_RECORDS)] = None
    contract: Annotated[
        DataContract | None,
        Field(description="How texts become values; the schema must be the one it stands for"),
    ] = None
    fhir: Annotated[
        FhirMapping | None,
        Field(
            description="How FHIR resources of clinical systems become records that its trees are asked with"
        ),
    ] = _RULES.fhir
    tallies: Annotated[
        list[TallyKind] | None,
        Field(min_length=1, description="What jobs may count besides growing trees; by default nothing"),
    ] = None
    asking: Annotated[
        AskingRules | None,
        Field(description="How often each hospital may ask a shared tree by itself; by default never"),
    ] = None
    quality: Annotated[
        QualityIn | None,
        Field(description="Rounded figures of finished jobs that hospitals send here; by default none"),
    ] = None
    expires: Annotated[
        int | None, Field(ge=0, le=MAX_INTEGER, description="Unix seconds; a year from now by default")
    ] = None

    def view(self) -> StudyView:
        """The part of a study that there was before documents."""
        return StudyView(
            id=self.id,
            question=self.question,
            schema=self.schema_,
            publish_tree=self.publish_tree,
            disclosure=self.disclosure,
            synthetic=self.synthetic,
            created=0,
        )

    def rules(self) -> StudyRules:
        """The rest, for the use case."""
        names = set(StudyRules.__dataclass_fields__) - {"noise", "quality"}
        noise = None if self.noise is None else self.noise.plan().spec()
        quality = None if self.quality is None else self.quality.spec()
        return StudyRules(**{name: getattr(self, name) for name in names}, noise=noise, quality=quality)


class AnswerOut(BaseModel):
    """What a hospital has said to the document; `since`: Unix seconds, null while pending."""

    hospital: str
    answer: AnswerState
    code: str | None
    reason: str
    since: int | None


class StudyOut(BaseModel):
    """A study. Times: Unix seconds. `closed`: since when it takes no more jobs."""

    model_config = ConfigDict(populate_by_name=True)

    id: str
    question: str
    schema_: Annotated[SchemaSpec, Field(alias="schema")]
    publish_tree: bool
    disclosure: Disclosure
    synthetic: bool
    created: int
    closed: int | None
    document_sha256: Annotated[
        str | None, Field(description="What hospitals approve; null for a study of before documents")
    ]
    members: list[str]
    expires: int | None


class StudyFull(StudyOut):
    """A study with its document's rules, what they mean, and what each hospital has answered."""

    document: Annotated[dict[str, Any] | None, Field(description="All rules, as hospitals approve them")]
    in_words: Annotated[list[str], Field(description="What a hospital reads, one sentence or two each")]
    answers: list[AnswerOut]


class StudyList(BaseModel):
    """All studies, by id."""

    studies: list[StudyOut]


def study_of(view: StudyView) -> StudyOut:
    """A study for a list."""
    return StudyOut(**_summary(view))


def full_study_of(view: StudyView, standings: list[Standing]) -> StudyFull:
    """A study in full."""
    document = view.document
    return StudyFull(
        **_summary(view),
        document=None if document is None else document.model_dump(mode="json", by_alias=True),
        in_words=[] if document is None else words_of(document),
        answers=[
            AnswerOut(
                hospital=one.hospital, answer=one.state, code=one.code, reason=one.reason, since=one.since
            )
            for one in standings
        ],
    )


def _summary(view: StudyView) -> dict[str, Any]:
    document = view.document
    return {
        "id": view.id,
        "question": view.question,
        "schema_": view.schema,
        "publish_tree": view.publish_tree,
        "disclosure": view.disclosure,
        "synthetic": view.synthetic,
        "created": view.created,
        "closed": view.closed,
        "document_sha256": None if document is None else document.sha256,
        "members": [] if document is None else list(document.members),
        "expires": None if document is None else document.expires,
    }
