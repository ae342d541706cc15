"""What a finished job came to: who attested it, whether its tree is published, and how good it is as far as is known.

The tabs of `finished_frame` lead on to its tree (`finished_tree`) and to its records (`finished_records`).
"""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Response

from cloud_service.api.quality import quality_of
from cloud_service.pages.faults import page_router
from cloud_service.pages.finished_frame import evaluates, grows_a_known_tree, show
from cloud_service.pages.frame import Page, page_may
from cloud_service.pages.quality_view import quality_view
from cloud_service.pages.wording import BAD, GOOD, WAIT, Word, job_line
from cloud_service.service.permissions import PERMISSIONS, Permission, Role
from cloud_service.service.refusals import UnknownThingError
from cloud_service.service.results import Result
from cloud_service.store.jobs import StoredJob
from machine.browsers import json_file
from shared.texts import text
from shared.wire.manifest import Manifest

router = page_router()
Reader = Annotated[Page, Depends(page_may(Permission.RESULTS_READ))]


@router.get("/jobs/{job_id}/result")
def result(page: Reader, job_id: str) -> Response:
    """Who attested which tree, and what can be done with it."""
    found, stored = page.services.results.result(job_id), page.services.jobs.get(job_id)
    readers = [role.value for role in Role if Permission.TREES_READ in PERMISSIONS[role]]
    return show(
        page,
        "finished_result.html",
        stored,
        "result",
        result=found,
        agreement=_agreement(found),
        manifest=stored.job.manifest,
        where=where_of(stored.job.manifest, is_agreed=found.tree_sha256 is not None),
        readers=readers,
        left_out=page.services.jobs.left_out(stored),
    )


@router.get("/jobs/{job_id}/evaluation")
def evaluation(page: Reader, job_id: str) -> Response:
    """How good the tree is, as far as the study publishes it, and the jobs that held records against it."""
    stored = page.services.results.finished(job_id)
    if evaluates(stored):
        return _own_evaluation(page, stored)
    if not grows_a_known_tree(stored):
        raise UnknownThingError("this job has no tree that records could be held against")
    found = quality_of(page.services, stored, page.caller.hospital).evaluations
    document = page.services.studies.get(stored.study).document
    return show(
        page,
        "finished_evaluation.html",
        stored,
        "evaluation",
        manifest=stored.job.manifest,
        lines=[job_line(each) for each in page.services.jobs.counted_in(stored, page.caller.hospital)],
        views=[quality_view(each) for each in found],
        allowed=document is None or "evaluation" in (document.tallies or ()),
        publishes=document is not None
        and document.quality is not None
        and "evaluation" in document.quality.figures,
    )


@router.get("/jobs/{job_id}/evaluation/json")
def evaluation_json(page: Reader, job_id: str) -> Response:
    """Published figures for programs, those of importance among them."""
    stored = page.services.results.finished(job_id)
    document = quality_of(page.services, stored, page.caller.hospital).model_dump(mode="json")
    return json_file(document, f"quality-{job_id}.json")


def _own_evaluation(page: Page, stored: StoredJob) -> Response:
    """The figures of a job that itself held records against a tree."""
    (found,) = quality_of(page.services, stored, page.caller.hospital).evaluations
    return show(
        page,
        "finished_judged.html",
        stored,
        "evaluation",
        manifest=stored.job.manifest,
        view=quality_view(found),
    )


def where_of(manifest: Manifest, *, is_agreed: bool) -> str:
    """The key in `cloud.result` of where a job's result is, and who has it."""
    secret = manifest.secret
    if manifest.tally is not None:
        return "tally"
    if secret is not None and secret.purpose == "predict":
        return "predicted"
    if secret is not None and secret.result == "shared":
        return "shared"
    if secret is not None and secret.result_parties is not None:
        return "some"
    if not manifest.publish_tree:
        return "not_published"
    return "published" if is_agreed else "not_yet"


def _agreement(found: Result) -> Word:
    """Whether all members told the same."""
    if found.tree_sha256 is not None:
        return Word(text("cloud.result.agreed", n=len(found.attested)), GOOD)
    if len(set(found.attested.values())) > 1:
        return Word(text("cloud.result.differ"), BAD)
    return Word(
        text("cloud.result.waiting", n=len(found.attested), all=len(found.attested) + len(found.missing)),
        WAIT,
    )
