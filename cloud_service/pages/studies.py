"""Studies: what is asked, under which rules, and what each hospital has answered."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Final, Literal

from fastapi import Depends, Query, Response

from cloud_service.api.disclosures import PAGE_HEADERS
from cloud_service.pages.faults import page_router
from cloud_service.pages.frame import Form, Page, form_may, page_may
from cloud_service.pages.wording import GOOD, OVER, Word, answer_word, job_line
from cloud_service.service.governance import Standing
from cloud_service.service.permissions import Permission
from cloud_service.service.refusals import UnknownThingError
from cloud_service.service.studies import StudyView
from cloud_service.service.study_lists import StudySummary
from cloud_service.store.jobs import StoredJob
from cloud_service.store.study_lists import Kind
from machine.browsers import file_of, json_file
from shared.protocol.contract_words import contract_words
from shared.protocol.disclosure_page import dossier_page
from shared.protocol.plain_words import words_of
from shared.texts import text
from shared.web.paragraphs import paragraph_of

router = page_router()
_JOBS: Final = 20
_SHOWN: Final = 100
_LONGEST_SEARCH: Final = 200
_MOST_PAGES: Final = 10_000
Reader = Annotated[Page, Depends(page_may(Permission.STUDIES_READ))]
LedgerReader = Annotated[Page, Depends(page_may(Permission.LEDGER_READ))]


@dataclass(frozen=True, slots=True)
class StudyLine:
    """A study in a list."""

    view: StudySummary
    state: Word


@dataclass(frozen=True, slots=True)
class Answer:
    """What a hospital has said."""

    standing: Standing
    state: Word


def lines_of(
    page: Page, kind: Kind, *, limit: int, words: Sequence[str] = (), offset: int = 0
) -> list[StudyLine]:
    """Studies of a kind that who looks may see, those that are open first."""
    found = page.services.study_lists.page(
        kind, hospital=page.caller.hospital, limit=limit, words=words, offset=offset
    )
    now = page.services.history.clock()
    return [StudyLine(view, state_of(view.closed, view.expires, now)) for view in found]


def state_of(closed: int | None, expires: int | None, now: int) -> Word:
    """Whether a study takes jobs."""
    if closed is not None:
        return Word(text("cloud.studies.closed"), OVER)
    if expires is not None and now > expires:
        return Word(text("cloud.studies.over"), OVER)
    return Word(text("cloud.studies.open"), GOOD)


@router.get("/studies")
def studies(
    page: Reader,
    search: Annotated[str, Query(max_length=_LONGEST_SEARCH)] = "",
    shown: Annotated[Literal["all", "open", "ending", "unanswered"], Query()] = "all",
    number: Annotated[int, Query(alias="page", ge=1, le=_MOST_PAGES)] = 1,
) -> Response:
    """A page of the list, or of what of it has the searched words."""
    words = search.split()
    found = page.services.study_lists.count(shown, hospital=page.caller.hospital, words=words)
    lines = lines_of(page, shown, limit=_SHOWN, words=words, offset=(number - 1) * _SHOWN)
    return page.show(
        "studies.html",
        active="studies",
        lines=lines,
        found=found,
        number=number,
        pages=max(1, -(-found // _SHOWN)),
        kinds=("all", "open", "ending", "unanswered"),
        search=search,
        shown=shown,
    )


@router.get("/studies/{study_id}")
def study(page: Reader, study_id: str) -> Response:
    """One study: question, answers, rules in words, jobs, files."""
    view, services = page.services.studies.get(study_id), page.services
    document = view.document
    expires = None if document is None else document.expires
    state = state_of(view.closed, expires, services.history.clock())
    found = services.jobs.page(
        study=study_id, state=None, before=None, limit=_JOBS, hospital=page.caller.hospital
    )
    contract = None if document is None else document.contract
    told = contract_words(contract)
    return page.show(
        "study.html",
        active="studies",
        view=view,
        state=state,
        takes_jobs=state.kind == GOOD,
        answers=_answers(page, view, found),
        rules=[]
        if document is None
        else [paragraph_of(one) for one in words_of(document) if one not in told],
        contract=contract,
        contract_words=told,
        jobs=[job_line(stored) for stored in found],
        has_more=len(found) == _JOBS,
    )


@router.get("/studies/{study_id}/close")
def ask_to_close(
    page: Annotated[Page, Depends(page_may(Permission.STUDIES_WRITE))], study_id: str
) -> Response:
    """What closing means, before it is done."""
    return page.show("study_close.html", active="studies", view=page.services.studies.get(study_id))


@router.post("/studies/{study_id}/close")
def close(form: Annotated[Form, Depends(form_may(Permission.STUDIES_WRITE))], study_id: str) -> Response:
    """Close it for good."""
    form.services.studies.close(study_id, actor=form.caller.name)
    return form.go(f"/studies/{study_id}", done="study_closed")


@router.get("/studies/{study_id}/document")
def document(page: Reader, study_id: str) -> Response:
    """What hospitals approve, to the byte."""
    found = page.services.studies.get(study_id).document
    if found is None:
        raise UnknownThingError("this study is of before documents")
    return file_of(found.canonical(), f"{study_id}.study.json", "application/json")


@router.get("/studies/{study_id}/contract")
def contract(page: Reader, study_id: str) -> Response:
    """The data contract alone, for `privet data check`."""
    found = page.services.studies.get(study_id).document
    if found is None or found.contract is None:
        raise UnknownThingError("this study has no data contract")
    return json_file(
        found.contract.model_dump(mode="json", by_alias=True, exclude_unset=True), f"{study_id}.contract.json"
    )


@router.get("/studies/{study_id}/dossier")
def dossier(page: LedgerReader, study_id: str) -> Response:
    """Everything about the study for an ethics board, as a page of one file that can be printed and kept."""
    found = page.services.dossiers.of_study(study_id, hospital=page.caller.hospital)
    return Response(dossier_page(found), media_type="text/html", headers=PAGE_HEADERS)


@router.get("/studies/{study_id}/dossier.json")
def dossier_file(page: LedgerReader, study_id: str) -> Response:
    """The same for programs."""
    found = page.services.dossiers.of_study(study_id, hospital=page.caller.hospital)
    return json_file(found, f"{study_id}.dossier.json")


def _answers(page: Page, view: StudyView, jobs: Sequence[StoredJob]) -> list[Answer]:
    """What each hospital has said; one that has said nothing and took part in a job let its rules decide."""
    if view.document is None:
        return []
    taking_part = {name for stored in jobs for name in stored.job.roster}
    return [
        Answer(
            one,
            answer_word("by_rules" if one.state == "pending" and one.hospital in taking_part else one.state),
        )
        for one in page.services.governance.standings(view.document)
    ]
