"""What a job came to, and the published tree."""

from __future__ import annotations

import json
from typing import Annotated

from fastapi import APIRouter, Depends

from cloud_service.api.caller import Use, may
from cloud_service.api.job_models import PredictionOut, RecordIn, ResultOut, TreeOut
from cloud_service.api.problems import responses
from cloud_service.service.permissions import Caller, Permission

router = APIRouter(tags=["people"])


@router.get(
    "/v1/jobs/{job_id}/result",
    summary="Who attested which tree",
    responses=responses(401, 403, 404, 429, 503),
)
def result(
    services: Use, _caller: Annotated[Caller, Depends(may(Permission.RESULTS_READ))], job_id: str
) -> ResultOut:
    """The hash of the tree, as every hospital has signed it."""
    found = services.results.result(job_id)
    return ResultOut(
        job=found.job,
        tree_sha256=found.tree_sha256,
        attested={str(agent): sha256 for agent, sha256 in found.attested.items()},
        missing=[str(agent) for agent in found.missing],
        is_published=found.is_published,
    )


@router.get(
    "/v1/jobs/{job_id}/tree", summary="The published tree", responses=responses(401, 403, 404, 429, 503)
)
def tree(
    services: Use, _caller: Annotated[Caller, Depends(may(Permission.TREES_READ))], job_id: str
) -> TreeOut:
    """Only where the study publishes it; without counts, which only hospitals have."""
    found, schema = services.results.tree(job_id)
    return TreeOut(tree_sha256=found.sha256, tree=json.loads(found.canonical()), schema_=schema.to_json())


@router.post(
    "/v1/jobs/{job_id}/predict",
    summary="Ask the published tree",
    responses=responses(400, 401, 403, 404, 422, 429, 503),
)
def predict(
    services: Use,
    _caller: Annotated[Caller, Depends(may(Permission.TREES_READ))],
    job_id: str,
    asked: RecordIn,
) -> PredictionOut:
    """The class of one record and the path in words. For patients' data ask the hospital's own agent instead."""
    found, _ = services.results.tree(job_id)
    answer = services.results.predict(job_id, asked.record)
    return PredictionOut(label=answer.label, path=answer.path, note=answer.note, tree_sha256=found.sha256)
