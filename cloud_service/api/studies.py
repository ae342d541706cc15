"""Studies: approved questions with their public schema."""

from __future__ import annotations

from typing import Annotated, Any, Final

from fastapi import APIRouter, Depends
from pydantic import BaseModel, ConfigDict, Field

from cloud_service.api.caller import Use, may
from cloud_service.api.problems import responses
from cloud_service.service.permissions import Caller, Permission
from cloud_service.service.studies import StudyView
from shared.ids import ID_PATTERN
from shared.wire.manifest import Disclosure, SchemaSpec

router = APIRouter(tags=["people"])

SCHEMA_EXAMPLE: Final[dict[str, Any]] = {
    "attributes": [
        {"name": "nausea", "values": ["0", "1"]},
        {"name": "temperature", "values": ["<= 37.5", "> 37.5"], "cuts": ["37.5"]},
    ],
    "class": {"name": "diagnosis", "labels": ["none", "nephritis"]},
}


class StudyIn(BaseModel):
    """A new study."""

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
        json_schema_extra={
            "example": {
                "id": "acute-inflammations",
                "question": "Which acute inflammation of the urinary system does a patient have?",
                "schema": SCHEMA_EXAMPLE,
                "publish_tree": False,
                "disclosure": "counts",
                "synthetic": False,
            }
        },
    )

    id: Annotated[str, Field(pattern=ID_PATTERN)]
    question: Annotated[str, Field(min_length=1, max_length=2000)]
    schema_: Annotated[SchemaSpec, Field(alias="schema")]
    publish_tree: Annotated[bool, Field(description="Whether the cloud may learn and show the tree")] = False
    disclosure: Annotated[
        Disclosure, Field(description="The most that a hospital's predictions may show")
    ] = "counts"
    synthetic: Annotated[bool, Field(description="Test data; profile paper needs it")] = False


class StudyOut(StudyIn):
    """A study. `created`: Unix seconds."""

    created: int


class StudyList(BaseModel):
    """All studies, by id."""

    studies: list[StudyOut]


def _out(view: StudyView) -> StudyOut:
    return StudyOut(
        id=view.id,
        question=view.question,
        schema_=view.schema,
        publish_tree=view.publish_tree,
        disclosure=view.disclosure,
        synthetic=view.synthetic,
        created=view.created,
    )


@router.post(
    "/v1/studies",
    status_code=201,
    summary="Create a study",
    responses=responses(400, 401, 403, 409, 413, 422, 429, 503),
)
def create(
    services: Use, _caller: Annotated[Caller, Depends(may(Permission.STUDIES_WRITE))], study: StudyIn
) -> StudyOut:
    """Keep an approved question with its schema. A study is never changed; the same again is answered alike."""
    view = StudyView(
        id=study.id,
        question=study.question,
        schema=study.schema_,
        publish_tree=study.publish_tree,
        disclosure=study.disclosure,
        synthetic=study.synthetic,
        created=0,
    )
    return _out(services.studies.create(view))


@router.get("/v1/studies", summary="List studies", responses=responses(401, 403, 429, 503))
def studies(services: Use, caller: Annotated[Caller, Depends(may(Permission.STUDIES_READ))]) -> StudyList:
    """Every study; for a hospital's steward those under which it was invited."""
    seen = services.sight.studies(caller)
    views = [view for view in services.studies.all() if seen is None or view.id in seen]
    return StudyList(studies=[_out(view) for view in views])


@router.get("/v1/studies/{study_id}", summary="One study", responses=responses(401, 403, 404, 429, 503))
def study(
    services: Use, _caller: Annotated[Caller, Depends(may(Permission.STUDIES_READ))], study_id: str
) -> StudyOut:
    """A study with its schema."""
    return _out(services.studies.get(study_id))
