"""A published tree for people: picture, rules, which attributes it asks, files for other programs, and comparison.

Only what `/v1/jobs/{job}/tree` gives: names, no counts, which only the hospitals have.
"""

from __future__ import annotations

from datetime import UTC, datetime
from importlib.metadata import version
from typing import Annotated, Final

from fastapi import Depends, Path, Query, Response

from cloud_service.api.quality import figures_out
from cloud_service.pages.faults import page_router
from cloud_service.pages.finished_frame import show
from cloud_service.pages.frame import Page, page_may
from cloud_service.pages.quality_view import QualityView, importance_view, quality_view
from cloud_service.pages.wording import JobLine, job_line
from cloud_service.service.permissions import Permission
from cloud_service.service.refusals import UnknownThingError
from cloud_service.store.jobs import StoredJob
from machine.browsers import file_of
from shared.export.files import FILES, form_named
from shared.export.subject import Origin, Subject
from shared.ids import HEX_16_PATTERN
from shared.protocol.states import CloudState
from shared.web.tree_compare import compare
from shared.web.tree_shape import Asked, asked_attributes
from shared.web.tree_view import TreeView, places_to
from shared.wire.base import MAX_INTEGER

router = page_router()
Reader = Annotated[Page, Depends(page_may(Permission.TREES_READ))]
ResultsReader = Annotated[Page, Depends(page_may(Permission.RESULTS_READ))]
RULES_SHOWN: Final = 500
_COMPARED: Final = 30
PARTINGS_SHOWN: Final = 200


@router.get("/jobs/{job_id}/tree")
def tree(
    page: Reader, job_id: str, light: Annotated[int | None, Query(ge=0, le=MAX_INTEGER)] = None
) -> Response:
    """The picture, the way to one place lit up where one was chosen."""
    stored = page.services.jobs.get(job_id)
    subject = _subject(page, stored)
    lit = () if light is None else places_to(subject, light)
    return show(
        page,
        "finished_tree.html",
        stored,
        "tree",
        view=TreeView(subject),
        lit=lit,
        judged=_judged(page, stored),
    )


def _judged(page: Page, stored: StoredJob) -> QualityView | None:
    """The newest evaluation of the tree whose figures are published."""
    if not page.may(Permission.RESULTS_READ):
        return None
    found = page.services.quality.published_of(stored, page.caller.hospital)
    return quality_view(figures_out(found[0], stored.job.manifest)) if found else None


@router.get("/jobs/{job_id}/rules")
def rules(page: Reader, job_id: str) -> Response:
    """A rule for each leaf."""
    stored = page.services.jobs.get(job_id)
    view = TreeView(_subject(page, stored))
    found = view.rules(RULES_SHOWN)
    leaves = sum(place.is_leaf for place in view.subject.places)
    return show(page, "finished_rules.html", stored, "rules", view=view, rules=found, leaves=leaves)


@router.get("/jobs/{job_id}/importance")
def importance(page: ResultsReader, job_id: str) -> Response:
    """How much each attribute told, where the study publishes it; and where a published tree asks which.

    Figures are results; the form of a tree is for who may read trees.
    """
    stored = page.services.results.finished(job_id)
    found = figures_out(page.services.quality.of_job(stored), stored.job.manifest)
    view = importance_view(found) if found.kind == "importance" else None
    with_tree = stored.job.manifest.publish_tree and page.may(Permission.TREES_READ)
    asked: tuple[Asked, ...] = ()
    left = 0
    if view is None or with_tree:
        page.caller.require(Permission.TREES_READ)
        subject = _subject(page, stored)
        asked = asked_attributes(subject)
        left = len(subject.schema.attributes) - len(asked)
    return show(
        page,
        "finished_importance.html",
        stored,
        "importance",
        view=view,
        has_form=view is None or with_tree,
        asked=asked,
        left=left,
    )


@router.get("/jobs/{job_id}/downloads")
def downloads(page: Reader, job_id: str) -> Response:
    """The forms, and what each is for."""
    from shared.export.formats import reading_of

    stored = page.services.jobs.get(job_id)
    subject = _subject(page, stored)
    forms = [(name, reading_of(subject, name) or "") for name in FILES]
    return show(page, "finished_downloads.html", stored, "downloads", forms=forms)


@router.get("/jobs/{job_id}/downloads/{form}")
def download(page: Reader, job_id: str, form: Annotated[str, Path(pattern="^[a-z]{1,20}$")]) -> Response:
    """The tree as a file."""
    from shared.export.formats import render

    chosen = form_named(form)
    if chosen is None:
        raise UnknownThingError("there is no such form of a tree")
    subject = _subject(page, page.services.jobs.get(job_id))
    ending, media_type = FILES[chosen]
    return file_of(render(subject, chosen), f"tree-{subject.tree_sha256[:12]}.{ending}", media_type)


@router.get("/jobs/{job_id}/compare")
def compared(
    page: Reader, job_id: str, other: Annotated[str, Query(pattern=f"^$|{HEX_16_PATTERN}")] = ""
) -> Response:
    """Two trees of one study: the same, or where they part."""
    stored = page.services.jobs.get(job_id)
    subject = _subject(page, stored)
    found = None
    if other:
        page.services.sight.job(page.caller, other)
        second = page.services.jobs.get(other)
        if second.study != stored.study:
            raise UnknownThingError("no such job in this study")
        found = compare(subject, _subject(page, second), PARTINGS_SHOWN)
    choices = _others(page, stored)
    return show(page, "finished_compare.html", stored, "compare", other=other, found=found, choices=choices)


def _subject(page: Page, stored: StoredJob) -> Subject:
    """The published tree, ready to be shown. Raises: NotPublishedError, UnknownThingError."""
    manifest = stored.job.manifest
    found, schema = page.services.results.tree(manifest.job)
    document = page.services.studies.get(stored.study).document if page.may(Permission.STUDIES_READ) else None
    finished = datetime.fromtimestamp(stored.finished or stored.created, UTC)
    origin = Origin(
        study=manifest.study,
        question=manifest.question,
        job=manifest.job,
        date=finished.date().isoformat(),
        hospitals=tuple(map(str, stored.job.roster)),
        version=version("privet"),
    )
    is_agreed = document is not None and manifest.study_sha256 == document.sha256
    contract = document.contract if document is not None and is_agreed else None
    return Subject.prepare(found, schema, "class", origin, contract)


def _others(page: Page, stored: StoredJob) -> list[JobLine]:
    """The newest other jobs of the study whose trees can be read."""
    done = page.services.jobs.page(
        study=stored.study,
        state=CloudState.DONE,
        before=None,
        limit=_COMPARED,
        hospital=page.caller.hospital,
    )
    return [
        job_line(each)
        for each in done
        if each.job.manifest.job != stored.job.manifest.job and page.services.results.has_tree(each)
    ]
