"""Jobs: how far each is, what it asked for, what left this house for it, who learns what; answer an offer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal

from fastapi import FastAPI, Query, Request
from starlette.responses import RedirectResponse, Response

from hospital_agent.daemon.casework import manifest_of
from hospital_agent.journal import Answer, JobEntry, JobStatus, Journal
from hospital_agent.journal import studies as kept
from hospital_agent.journal.reading import asked_by_round
from hospital_agent.keyring import Keyring
from hospital_agent.pages.guarding import Fields
from hospital_agent.pages.house import House, changed_part, page, state_of
from hospital_agent.pages.job_words import JobRow, job_row
from hospital_agent.pages.leaving import steps_of, volumes_of
from hospital_agent.pages.problems import PageProblem
from hospital_agent.pages.stewarding import WrongStewardError, speaking_of, why_not
from hospital_agent.people.answering import REASON_CHARACTERS
from hospital_agent.people.ledgers import figures_of, ledgers_from
from hospital_agent.people.log_file import signed_log
from hospital_agent.people.offers import offer_document
from hospital_agent.people.standings import job_document
from machine.browsers import file_of, json_file
from shared.errors import InputError
from shared.protocol.disclosure import Ledger
from shared.protocol.disclosure_page import ledger_page
from shared.tree.schema_checks import is_plain_line
from shared.wire.base import MAX_INTEGER

Said = Literal["approve", "decline"]
SHOWN_JOBS: Final = 50
"""Of the list, at once."""
SHOWN_STEPS: Final = 200
"""Of a job's log, the newest; the page of all messages goes through the others."""


def add(pages: FastAPI, house: House) -> None:
    """`/house/jobs` and what is below."""
    speaking = speaking_of(pages, house.folder)

    @pages.get("/house/jobs")
    def listed(
        request: Request, start: Annotated[int, Query(alias="from", ge=0, le=MAX_INTEGER)] = 0
    ) -> Response:
        """The jobs, the newest first."""
        with house.journal() as journal:
            entries, unsent = journal.jobs_page(start, SHOWN_JOBS + 1), journal.waiting_types()
        jobs = [job_row(job_document(entry, unsent)) for entry in entries[:SHOWN_JOBS]]
        return page(
            request,
            "jobs.html",
            active="jobs",
            jobs=jobs,
            newer=max(0, start - SHOWN_JOBS) if start else None,
            older=start + SHOWN_JOBS if len(entries) > SHOWN_JOBS else None,
        )

    @pages.get("/house/jobs/{job}")
    def one(request: Request, job: str) -> Response:
        """One job."""
        values = _about(house, job)
        return page(request, "job.html", active="jobs", **values, state_seen=_seen(values))

    @pages.get("/house/jobs/{job}/now")
    def now(request: Request, job: str, seen: str = "") -> Response:
        """The part of the page that changes by itself."""
        with house.journal() as journal:
            row = _row(journal, _entry(journal, job))
        return changed_part(request, "job_now.html", seen, {"row": row, "job": job})

    @pages.get("/house/jobs/{job}/files/{name}")
    def file(job: str, name: str) -> Response:
        """The ledger, as a page that stands by itself or as JSON; or the signed log of the job."""
        return _file(house, job, name)

    @pages.get("/house/jobs/{job}/{said}")
    def confirm(request: Request, job: str, said: Said) -> Response:
        """What the word means."""
        return _confirm(request, house, job, said)

    @pages.post("/house/jobs/{job}/{said}")
    def say(request: Request, job: str, said: Said, fields: Fields) -> Response:
        """Journal the word; the daemon acts on it."""
        try:
            person = speaking.prove(fields)
        except WrongStewardError:
            return _confirm(request, house, job, said, fields)
        with house.journal() as journal:
            answer_offer(journal, job, said, fields, person)
        return RedirectResponse(f"/house/jobs/{job}", 303)


def _confirm(
    request: Request, house: House, job: str, said: Said, given: Mapping[str, str] | None = None
) -> Response:
    """Args: given: what was typed, where name and password were wrong; it is shown again, but for the password."""
    with house.journal() as journal:
        entry = _entry(journal, job)
    _check_waits(entry)
    return page(
        request,
        "job_answer.html",
        active="jobs",
        status_code=200 if given is None else 403,
        entry=entry,
        said=said,
        most=REASON_CHARACTERS,
        why_not=why_not(house),
        folder=house.folder,
        given=given or {},
        is_wrong=given is not None,
    )


def answer_offer(journal: Journal, job: str, said: Said, fields: Mapping[str, str], person: str) -> None:
    """Journal a steward's word. Raises: PageProblem: another offer than was shown, or somebody was quicker."""
    reason = fields.get("reason", "").strip() if said == "decline" else ""
    if len(reason) > REASON_CHARACTERS or not is_plain_line(reason):
        raise InputError(
            f"a reason is one line of at most {REASON_CHARACTERS} characters", remedy="Shorten it."
        )
    with journal.transaction():
        entry = _entry(journal, job)
        _check_waits(entry)
        if fields.get("mh") != entry.mh:
            raise PageProblem(409, "changed")
        if any(answer.job == entry.job for answer in journal.answers()):
            raise PageProblem(409, "answered")
        journal.answer(Answer(entry.job, said == "approve", reason))
        journal.record("offer_answered", job=entry.job, answer=said, person=person)


def _check_waits(entry: JobEntry) -> None:
    if entry.status is not JobStatus.AWAITING:
        raise PageProblem(409, "answered")


def _entry(journal: Journal, job: str) -> JobEntry:
    entry = journal.job(job)
    if entry is None:
        raise PageProblem(404, "no_job")
    return entry


def _row(journal: Journal, entry: JobEntry) -> JobRow:
    return job_row(job_document(entry, journal.waiting_types()))


def _seen(values: Mapping[str, Any]) -> str:
    return state_of({"row": values["row"], "job": values["job"]})


def _about(house: House, job: str) -> dict[str, Any]:
    with house.journal() as journal:
        entry = _entry(journal, job)
        row = _row(journal, entry)
        records = house.log.of_job(journal, job)
        figures = figures_of(journal, entry)
        ledgers = ledgers_from(records, entry, house.own, figures)
        evidence = len(journal.evidence(job))
        study = kept.study(journal, entry.study)
    return {
        "job": job,
        "entry": entry,
        "row": row,
        "offer": offer_document(entry, figures),
        "leaving": _leaving_words(manifest_of(entry).profile),
        "steps": steps_of(records[-SHOWN_STEPS:], manifest_of(entry), asked_by_round(records)),
        "left_out": max(0, len(records) - SHOWN_STEPS),
        "volumes": volumes_of(entry, records),
        "forecast": ledgers[0].to_json(),
        "fact": ledgers[1].to_json(),
        "evidence": evidence,
        "has_study": study is not None,
        "has_model": job in house.library.shelf.ids(),
        "has_figures": figures is not None and entry.status is JobStatus.COMPLETE,
    }


def _leaving_words(profile: str) -> str:
    """Which lead stands above the list of what left: of counts, of shares, or of the test profile."""
    kind = {"hardened": "", "paper": "_paper"}.get(profile, "_secret")
    return f"house.job.leaving_lead{kind}"


def _file(house: House, job: str, name: str) -> Response:
    with house.journal() as journal:
        entry = _entry(journal, job)
        if name == "log":
            written = signed_log(journal, Keyring.open(house.folder), job)
            return file_of(written.content, f"log-{house.own}-{job}.jsonl", "application/jsonl")
        records, figures = house.log.of_job(journal, job), figures_of(journal, entry)
        ledgers = ledgers_from(records, entry, house.own, figures)
    document = _ledger_document(entry, *ledgers)
    if name == "ledger.html":
        return file_of(ledger_page(document, keeper=house.own).encode(), f"ledger-{job}.html", "text/html")
    if name == "ledger.json":
        return json_file(document, f"ledger-{job}.json")
    raise PageProblem(404, "not_found")


def _ledger_document(entry: JobEntry, forecast: Ledger, fact: Ledger) -> dict[str, Any]:
    """As `privet agent ledger --json`."""
    return {
        "job": entry.job,
        "status": entry.status.value,
        "forecast": forecast.to_json(),
        "fact": fact.to_json(),
        "own": {"sent_bytes": dict(entry.tally.sent), "received_bytes": dict(entry.tally.received)},
    }
