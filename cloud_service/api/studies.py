"""Studies: questions with their public schema, the documents that hospitals approve, and what they have answered."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends

from cloud_service.api.caller import Use, may
from cloud_service.api.problems import responses
from cloud_service.api.study_models import (
    StudyFull,
    StudyIn,
    StudyList,
    StudyOut,
    full_study_of,
    study_of,
)
from cloud_service.service.permissions import Caller, Permission
from cloud_service.service.services import Services
from cloud_service.service.studies import StudyView

router = APIRouter(tags=["people"])
Writer = Annotated[Caller, Depends(may(Permission.STUDIES_WRITE))]
Reader = Annotated[Caller, Depends(may(Permission.STUDIES_READ))]


@router.post(
    "/v1/studies",
    status_code=201,
    summary="Create a study",
    responses=responses(400, 401, 403, 409, 413, 422, 429, 503),
)
def create(services: Use, caller: Writer, study: StudyIn) -> StudyOut:
    """Keep a question with its schema and rules, and show its document to the hospitals that it invites.

    A study is never changed; the same again is answered alike.
    """
    return study_of(services.studies.create(study.view(), study.rules(), actor=caller.name))


@router.get("/v1/studies", summary="List studies", responses=responses(401, 403, 429, 503))
def studies(services: Use, caller: Reader) -> StudyList:
    """Every study; for a hospital's steward those that invite it."""
    seen = services.sight.studies(caller)
    views = [view for view in services.studies.all() if seen is None or view.id in seen]
    return StudyList(studies=[study_of(view) for view in views])


@router.get("/v1/studies/{study_id}", summary="One study", responses=responses(401, 403, 404, 429, 503))
def study(services: Use, _caller: Reader, study_id: str) -> StudyFull:
    """A study with its rules, their meaning, and each hospital's answer."""
    return _full(services, services.studies.get(study_id))


@router.post(
    "/v1/studies/{study_id}/close",
    summary="Close a study",
    responses=responses(401, 403, 404, 409, 429, 503),
)
def close(services: Use, caller: Writer, study_id: str) -> StudyFull:
    """The study takes no more jobs, for good; those that run go on, and trees stay where they are."""
    return _full(services, services.studies.close(study_id, actor=caller.name))


def _full(services: Services, view: StudyView) -> StudyFull:
    standings = [] if view.document is None else services.governance.standings(view.document)
    return full_study_of(view, standings)
