"""Studies: what hospitals are asked to agree to, in the words of the command; approve, decline, withdraw."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, Literal, get_args

from fastapi import FastAPI, Request
from starlette.responses import RedirectResponse, Response

from hospital_agent.journal import studies as kept
from hospital_agent.journal.studies import StudyEntry, StudyState
from hospital_agent.pages.background import Background
from hospital_agent.pages.consenting import may_consent
from hospital_agent.pages.guarding import Fields
from hospital_agent.pages.house import House, changed_part, page, state_of
from hospital_agent.pages.problems import PageProblem
from hospital_agent.pages.stewarding import WrongStewardError, speaking_of, why_not
from hospital_agent.people.answering import REASON_CHARACTERS, check_open, study_answers, takes_jobs
from hospital_agent.people.narrowing import narrower
from shared.errors import InputError
from shared.protocol.plain_words import words_of
from shared.texts import text
from shared.web.paragraphs import paragraph_of
from shared.wire.study import ReasonCode

Action = Literal["approve", "decline", "withdraw"]
_KINDS: Final[Mapping[str, str]] = {
    "pending": "wait",
    "by_rules": "good",
    "approved": "good",
    "declined": "bad",
    "withdrawn": "bad",
}
_POSSIBLE: Final[Mapping[StudyState, tuple[Action, ...]]] = {
    StudyState.PENDING: ("approve", "decline"),
    StudyState.APPROVED: ("withdraw",),
    StudyState.DECLINED: ("approve",),
    StudyState.WITHDRAWN: ("approve",),
}
_CODES: Final[tuple[ReasonCode, ...]] = get_args(ReasonCode)


@dataclass(frozen=True, slots=True)
class Line:
    """A study in the list. `kind`: good, wait or bad."""

    study: str
    question: str
    word: str
    kind: str
    members: tuple[str, ...]
    expires: int


def add(pages: FastAPI, house: House) -> None:
    """`/house/studies` and what is below."""
    speaking, checks = speaking_of(pages, house.folder), Background(house.folder)

    @pages.get("/house/studies")
    def listed(request: Request) -> Response:
        """All studies that were shown, the newest first."""
        with house.journal() as journal:
            lines = [_line(house, entry) for entry in kept.studies(journal)]
        return page(request, "studies.html", active="studies", studies=lines)

    @pages.get("/house/studies/{study}")
    def one(request: Request, study: str) -> Response:
        """One study in plain words, and what may be answered."""
        entry, said = _found(house, study)
        check = checks.of(entry.study)
        return page(
            request,
            "study.html",
            active="studies",
            entry=entry,
            document=entry.document,
            word=_word(house, entry),
            kind=_KINDS[_standing(house, entry)],
            paragraphs=[*map(paragraph_of, words_of(entry.document, house.own))],
            narrower=_narrower(house, entry),
            said=said,
            asked=_asked(house, entry.study),
            actions=_actions(entry, house.clock()),
            may_consent=may_consent(entry, house.clock()),
            why_not=why_not(house),
            folder=house.folder,
            check=check,
            state_seen=state_of({"check": check}),
        )

    @pages.post("/house/studies/{study}/check")
    def begin_check(request: Request, study: str) -> Response:
        """Look whether our records fit the study's data contract."""
        entry, _ = _found(house, study)
        if entry.document.contract is None:
            raise PageProblem(404, "no_contract")
        checks.begin(entry.study, ["data", "check", entry.sha256])  # the hash, for no file is called so
        return RedirectResponse(f"/house/studies/{entry.study}#check", 303)

    @pages.post("/house/studies/{study}/check/stop")
    def stop_check(study: str) -> Response:
        """Look no further."""
        checks.stop(_found(house, study)[0].study)
        return RedirectResponse(f"/house/studies/{study}#check", 303)

    @pages.get("/house/studies/{study}/check")
    def checking(request: Request, study: str, seen: str = "") -> Response:
        """The part of the page that tells of the look."""
        values = {"check": checks.of(study), "study": study}
        return changed_part(request, "study_check.html", seen, values)

    @pages.get("/house/studies/{study}/{action}")
    def confirm(request: Request, study: str, action: Action) -> Response:
        """What would be signed, and what it means."""
        return _confirm(request, house, checks, _found(house, study)[0], action)

    @pages.post("/house/studies/{study}/{action}")
    def say(request: Request, study: str, action: Action, fields: Fields) -> Response:
        """Sign it and let the agent bring it to the cloud."""
        try:
            person = speaking.prove(fields)
        except WrongStewardError:
            return _confirm(request, house, checks, _found(house, study)[0], action, fields)
        _say(house, person, study, action, fields)
        return RedirectResponse(f"/house/studies/{study}", 303)


def _confirm(
    request: Request,
    house: House,
    checks: Background,
    entry: StudyEntry,
    action: Action,
    given: Mapping[str, str] | None = None,
) -> Response:
    """Args: given: what was typed, where name and password were wrong; it is shown again, but for the password."""
    _check_possible(entry, action, house.clock())
    return page(
        request,
        "study_answer.html",
        active="studies",
        status_code=200 if given is None else 403,
        given=given or {},
        is_wrong=given is not None,
        entry=entry,
        document=entry.document,
        action=action,
        fit=_fit(entry, checks) if action == "approve" else "",
        stays=text("answering.stays"),
        narrower=_narrower(house, entry) if action == "approve" else [],
        codes=_CODES,
        most=REASON_CHARACTERS,
        why_not=why_not(house),
        folder=house.folder,
    )


def _fit(entry: StudyEntry, checks: Background) -> str:
    """Whether the records fit the data contract: a key of `house.say.fit`; empty where the study has none."""
    if entry.document.contract is None:
        return ""
    check = checks.of(entry.study)
    if check is None or check.document is None:
        return "unknown"
    return "yes" if check.document.get("fits") else "no"


def _say(house: House, person: str, study: str, action: Action, fields: Mapping[str, str]) -> None:
    """Raises: PageProblem: another document than was shown, or it was answered meanwhile."""
    with study_answers(house.folder) as desk:
        entry = kept.find(desk.journal, study)
        if fields.get("sha256") != entry.sha256 or fields.get("answer") != entry.answer.value:
            raise PageProblem(409, "changed")
        _check_possible(entry, action, house.clock())
        code = None if action == "approve" else _code(fields)
        reason = "" if action == "approve" else fields.get("reason", "").strip()
        desk.answer(entry, action, code, reason, person=person)


def _code(fields: Mapping[str, str]) -> ReasonCode:
    return next((code for code in _CODES if code == fields.get("code")), "other")


def _check_possible(entry: StudyEntry, action: Action, now: float) -> None:
    if action not in _POSSIBLE[entry.answer]:
        raise PageProblem(409, "answered")
    if action == "approve":
        check_open(entry, now)


def _actions(entry: StudyEntry, now: float) -> tuple[Action, ...]:
    is_open = takes_jobs(entry, now)
    return tuple(action for action in _POSSIBLE[entry.answer] if is_open or action != "approve")


def _asked(house: House, study: str) -> list[kept.Asker]:
    """Who has asked shared trees of the study by itself."""
    with house.journal() as journal:
        return kept.questions_in(journal, study)


def _found(house: House, study: str) -> tuple[StudyEntry, list[dict[str, object]]]:
    with house.journal() as journal:
        entry = kept.study(journal, study)
        if entry is None:
            raise PageProblem(404, "no_study")
        return entry, kept.words_said(journal, entry.study)


def _narrower(house: House, entry: StudyEntry) -> list[str]:
    try:
        return narrower(house.policy(), entry.document, house.own)
    except InputError:
        return [text("house.study.policy_wrong")]


def _line(house: House, entry: StudyEntry) -> Line:
    document = entry.document
    return Line(
        entry.study,
        document.question,
        _word(house, entry),
        _KINDS[_standing(house, entry)],
        tuple(document.members),
        document.expires,
    )


def _word(house: House, entry: StudyEntry) -> str:
    word = text(f"house.answer.{_standing(house, entry)}")
    return word if takes_jobs(entry, house.clock()) else text("house.studies.over", answer=word)


def _standing(house: House, entry: StudyEntry) -> str:
    """What was answered; `by_rules` where nobody has, and nobody needs to."""
    if entry.answer.value != "pending":
        return entry.answer.value
    with suppress(InputError):  # a policy that cannot be read lets no job in; the first page says so
        if house.policy().approval == "automatic":
            return "by_rules"
    return "pending"
