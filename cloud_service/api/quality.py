"""Figures of a finished job that its study publishes: how good its tree is, and how much each attribute told."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends
from pydantic import BaseModel, Field

from cloud_service.api.caller import Use, may
from cloud_service.api.problems import responses
from cloud_service.service.permissions import Caller, Permission
from cloud_service.service.quality import Published
from cloud_service.service.services import Services
from cloud_service.store.jobs import StoredJob
from shared.protocol.figures import plain_entry, plain_figures
from shared.wire.manifest import Manifest
from shared.wire.quality import EvaluationFigures

router = APIRouter(tags=["people"])


class FiguresOut(BaseModel):
    """Where the figures of one job stand.

    `state`: none, a job of this kind has no figures; kept, the study does not publish them; waiting, some hospitals
    have not sent theirs; differ, two sent different ones, so none is shown; published, all sent the same.
    """

    job: str
    kind: Literal["evaluation", "importance"] | None
    state: Literal["none", "kept", "waiting", "differ", "published"]
    sent: Annotated[dict[str, str], Field(description="Hospital to the SHA-256 of the figures that it sent")]
    missing: Annotated[list[str], Field(description="Members that have attested without figures, or not yet")]
    sha256: Annotated[str | None, Field(description="Of the figures; null unless published")]
    document: Annotated[
        dict[str, Any] | None,
        Field(description="The figures as hospitals hashed and signed them; null unless published"),
    ]
    figures: Annotated[
        dict[str, Any] | None,
        Field(description="The same in the form of `privet agent report --json`; null unless published"),
    ]


class QualityOut(BaseModel):
    """What is published of a finished job. Of one that grew a tree: its importance, and evaluations of that tree."""

    job: str
    study: str
    importance: FiguresOut | None
    evaluations: Annotated[
        list[FiguresOut], Field(description="The newest first, at most 100; of an evaluation itself")
    ]


@router.get(
    "/v1/jobs/{job_id}/evaluation",
    summary="Published figures: how good a tree is, and how much each attribute told",
    responses=responses(401, 403, 404, 429, 503),
)
def evaluation(
    services: Use, caller: Annotated[Caller, Depends(may(Permission.RESULTS_READ))], job_id: str
) -> QualityOut:
    """Rounded under the study's floor, and only what its document publishes; none else ever reaches the cloud."""
    return quality_of(services, services.results.finished(job_id), caller.hospital)


def quality_of(services: Services, stored: StoredJob, hospital: str | None) -> QualityOut:
    """The answer about a finished job. Args: hospital: of who asks, None for all."""
    own, manifest = services.quality.of_job(stored), stored.job.manifest
    if manifest.tally is not None:
        return QualityOut(
            job=manifest.job, study=stored.study, importance=None, evaluations=[figures_out(own, manifest)]
        )
    found = services.quality.of_tree(stored, hospital)
    return QualityOut(
        job=manifest.job,
        study=stored.study,
        importance=figures_out(own, manifest),
        evaluations=[figures_out(each, manifest) for each in found],
    )


def card_lines(services: Services, stored: StoredJob, hospital: str | None) -> list[dict[str, Any]]:
    """Published evaluations in the few figures of a model card, as hospitals' cards have them."""
    lines = []
    for one in services.quality.published_of(stored, hospital):
        if isinstance(one.figures, EvaluationFigures):
            plain = plain_entry(one.figures, stored.job.manifest.schema_.class_.labels)
            overall = plain["evaluation"]["overall"]
            lines.append(
                {
                    "job": one.job,
                    "on": plain["words"],
                    "hospitals": plain["hospitals"],
                    "records": plain["evaluation"]["records"],
                    **{name: _card_figure(overall[name]) for name in ("accuracy", "balanced_accuracy")},
                }
            )
    return lines


def _card_figure(found: Mapping[str, Any]) -> dict[str, float | None]:
    low, high = found["interval"] or (None, None)
    return {"value": found["value"], "low": low, "high": high}


def figures_out(found: Published, manifest: Manifest) -> FiguresOut:
    """One job's figures. Args: manifest: of it, or of the job whose tree it evaluated."""
    return FiguresOut(
        job=found.job,
        kind=found.kind,
        state=found.standing,
        sent=dict(found.sent),
        missing=list(found.missing),
        sha256=found.sha256,
        document=None if found.figures is None else found.figures.model_dump(mode="json"),
        figures=None if found.figures is None else plain_figures(found.figures, manifest),
    )
