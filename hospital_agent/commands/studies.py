"""`privet agent studies`: read the documents that invite this hospital, approve, decline, withdraw; and `consent`.

A command signs with this hospital's own key and journals; the running agent brings the word to the cloud.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from hospital_agent.commands.arguments import Folder
from shared.errors import InputError
from shared.reports import Report

if TYPE_CHECKING:
    from hospital_agent.journal.studies import StudyEntry
    from hospital_agent.people.answering import StudyAnswers

studies = typer.Typer(
    help="Study documents: what hospitals approve before any job.", no_args_is_help=True, add_completion=False
)
StudyName = Annotated[
    str, typer.Argument(metavar="STUDY", help="A study's id, or the beginning of its id or of its hash.")
]
Reason = Annotated[str, typer.Option(help="Why, in at most 200 characters; the coordinator reads it.")]
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask: the document was read already.")]
_SHORT: Final = 12


class CodeName(StrEnum):
    """Why a hospital says no."""

    QUESTION = "question"
    LEGAL = "legal"
    ETHICS = "ethics"
    FLOORS = "floors"
    PARTIES = "parties"
    DATA = "data"
    RESOURCES = "resources"
    OTHER = "other"


Code = Annotated[CodeName, typer.Option(help="The kind of reason.")]


@studies.command("list")
def list_studies(folder: Folder) -> Report:
    """The studies that invite this hospital, with what it has said to each."""
    from hospital_agent.journal import studies as kept

    with _desk(folder) as desk:
        documents = [_document_of(entry) for entry in kept.studies(desk.journal)]
    lines = [_line(document) for document in documents]
    text = "\n".join(lines) or "No study has been shown yet; the agent fetches them while it runs."
    if any(document["answer"] == "pending" and not document["closed"] for document in documents):
        text += f"\nNext: privet agent studies show {folder} STUDY"
    return Report({"studies": documents}, text)


@studies.command("show")
def show(folder: Folder, study: StudyName) -> Report:
    """A study in plain words: who takes part, what leaves this hospital, who learns what at most, and for how long."""
    from hospital_agent.journal import studies as kept
    from shared.protocol.plain_words import words_of

    with _desk(folder) as desk:
        entry = kept.find(desk.journal, study)
        said = kept.words_said(desk.journal, entry.study)
        asked = kept.questions_in(desk.journal, entry.study)
    words = [*words_of(entry.document, desk.own), *_narrower(folder, entry, desk.own)]
    document = _document_of(entry) | {
        "in_words": words,
        "document": entry.document.model_dump(mode="json", by_alias=True),
        "said": said,
        "asked": [asdict(one) for one in asked],
    }
    text = "\n\n".join([f"Study {entry.study}, document {entry.sha256}", *words, _standing(entry)])
    for one in asked:
        text += f"\n{one.hospital} asked shared trees: {one.questions} questions, {one.records} records"
    if entry.answer == "pending":
        text += f"\nNext: privet agent studies approve {folder} {entry.study}, or decline"
    return Report(document, text)


@studies.command("approve")
def approve(folder: Folder, study: StudyName, yes: Yes = False) -> Report:
    """Say yes to a document: its jobs go on without further questions, within it and within the policy."""
    from hospital_agent.journal import studies as kept
    from hospital_agent.people.answering import check_open
    from shared.protocol.plain_words import words_of

    with _desk(folder) as desk:
        entry = kept.find(desk.journal, study)
        document = entry.document
        check_open(entry, time.time())
        if entry.answer == "approved":
            return _said(folder, entry)
        if not yes:
            question = f"Approve study {entry.study}, document {entry.sha256[:_SHORT]}...?"
            _confirm([*words_of(document, desk.own), *_narrower(folder, entry, desk.own), question])
        told = "\n".join(_narrower(folder, entry, desk.own)) if yes else ""
        return _said(folder, desk.answer(entry, "approve", None, ""), told)


@studies.command("decline")
def decline(folder: Folder, study: StudyName, code: Code = CodeName.OTHER, reason: Reason = "") -> Report:
    """Say no to a document, with a reason that the coordinator reads."""
    from hospital_agent.journal import studies as kept

    with _desk(folder) as desk:
        entry = kept.find(desk.journal, study)
        if entry.answer != "pending":
            raise InputError(
                f"the study is {entry.answer.value} here",
                where=f"study {entry.study}",
                remedy=f"To end what was approved: privet agent studies withdraw {folder} {entry.study}.",
            )
        return _said(folder, desk.answer(entry, "decline", code.value, reason))


@studies.command("withdraw")
def withdraw(
    folder: Folder, study: StudyName, code: Code = CodeName.OTHER, reason: Reason = "", yes: Yes = False
) -> Report:
    """End this hospital's part in a study: running jobs end, later ones are declined. Approve it again to undo."""
    from hospital_agent.journal import studies as kept
    from shared.texts import text

    with _desk(folder) as desk:
        entry = kept.find(desk.journal, study)
        if entry.answer != "approved":
            raise InputError(
                f"the study is {entry.answer.value} here, so there is nothing to withdraw from",
                where=f"study {entry.study}",
                remedy=f"Before an approval: privet agent studies decline {folder} {entry.study}.",
            )
        if not yes:
            _confirm([text("answering.stays"), f"Withdraw from study {entry.study}?"])
        return _said(folder, desk.answer(entry, "withdraw", code.value, reason), text("answering.stays"))


def consent(
    folder: Folder,
    study: StudyName,
    other: Annotated[
        str | None,
        typer.Option(
            metavar="HASH",
            help="The document of the study without this hospital, 64 hexadecimal digits; the same study by default.",
        ),
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask: the meaning is understood.")] = False,
) -> Report:
    """Allow results with and without this hospital over the same records, which together tell of its own records."""
    from hospital_agent.journal import studies as kept
    from hospital_agent.people.answering import read_hash
    from shared.texts import text

    with _desk(folder) as desk:
        entry = kept.find(desk.journal, study)
        without = entry.sha256 if other is None else read_hash(other)
        meaning = text("answering.consent")
        if not yes:
            _confirm([meaning, f"Consent, for study {entry.study} and document {without[:_SHORT]}...?"])
        desk.consent(entry, without)
    document = {"study": entry.study, "with_sha256": entry.sha256, "without_sha256": without}
    return Report(document, f"Consent for study {entry.study} is signed. {_when(folder)}\n{meaning}")


@contextmanager
def _desk(folder: Path) -> Iterator[StudyAnswers]:
    from hospital_agent.people.answering import study_answers

    with study_answers(folder) as desk:
        yield desk


def _narrower(folder: Path, entry: StudyEntry, own: str) -> list[str]:
    """What the policy declines though the document allows it, as a paragraph, if there is something."""
    from hospital_agent.people.narrowing import narrower
    from hospital_agent.policy import load_policy
    from hospital_agent.settings import load_settings

    declined = narrower(load_policy(load_settings(folder).policy), entry.document, own)
    return [f"The policy declines all the same: {'; '.join(declined)}."] if declined else []


def _confirm(paragraphs: list[str]) -> None:
    """Raises: InputError: nobody can be asked, or the answer is no."""
    *told, question = paragraphs
    if not sys.stdin.isatty():
        raise InputError(
            "a person must confirm this, and there is no terminal to ask at",
            remedy="Run the command in a terminal, or add --yes if the meaning is understood.",
        )
    for text in told:
        typer.echo(f"{text}\n", err=True)
    if not typer.confirm(question, err=True):
        raise InputError("not confirmed, so nothing was said", remedy="Run the command again.")


def _document_of(entry: StudyEntry) -> dict[str, Any]:
    document = entry.document
    return {
        "study": entry.study,
        "sha256": entry.sha256,
        "question": document.question,
        "members": list(document.members),
        "answer": entry.answer.value,
        "code": entry.code,
        "reason": entry.reason,
        "answered": entry.answered or None,
        "closed": entry.closed or None,
        "expires": document.expires,
        "jobs_begun": entry.begun,
        "max_jobs": document.max_jobs,
    }


def _line(document: dict[str, Any]) -> str:
    state = "closed" if document["closed"] else document["answer"]
    return f"{document['study']}  {document['sha256'][:_SHORT]}  {state}: {document['question']}"


def _standing(entry: StudyEntry) -> str:
    from shared.protocol.expiry import day_of

    since = f" since {day_of(entry.answered)}" if entry.answered else ""
    why = f" ({entry.code}{f': {entry.reason}' if entry.reason else ''})" if entry.code else ""
    closed = f" The study was closed on {day_of(entry.closed)}." if entry.closed else ""
    return f"This hospital's answer: {entry.answer.value}{since}{why}. Jobs that began here: {entry.begun}.{closed}"


def _said(folder: Path, entry: StudyEntry, remark: str = "") -> Report:
    text = f"Study {entry.study}, document {entry.sha256[:_SHORT]}...: {entry.answer.value}. {_when(folder)}"
    return Report(_document_of(entry), f"{text}\n{remark}" if remark else text)


def _when(folder: Path) -> str:
    from hospital_agent.daemon.lock import is_running

    if is_running(folder):
        return "The agent tells the cloud within a minute."
    return f"The cloud learns it once the agent runs: privet agent run {folder}"
