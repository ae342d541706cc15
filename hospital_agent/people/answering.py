"""A hospital's answers to study documents and its consents: checked, signed, journalled."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from hospital_agent.journal import Journal
from hospital_agent.journal import studies as kept
from hospital_agent.journal.studies import StudyEntry
from hospital_agent.keyring import Keyring
from hospital_agent.settings import load_settings
from shared.errors import InputError
from shared.protocol.consenting import sign_consent
from shared.protocol.expiry import day_of
from shared.protocol.governing import sign_answer
from shared.tree.schema_checks import is_plain_line
from shared.wire.consent import Consent
from shared.wire.study import AnswerWord, ReasonCode, StudyAnswer

REASON_CHARACTERS: Final = 200
_STATES: Final = {"approve": "approved", "decline": "declined", "withdraw": "withdrawn"}


@dataclass(frozen=True, slots=True)
class StudyAnswers:
    """One person at work. `own`: this hospital's id."""

    journal: Journal
    keyring: Keyring
    own: str

    def answer(
        self, entry: StudyEntry, word: AnswerWord, code: ReasonCode | None, reason: str, *, person: str = ""
    ) -> StudyEntry:
        """Sign and journal an answer; the entry after it.

        Args: code: the kind of reason of a no. person: who says it, for this hospital's own log.
        Raises: InputError: the reason is not one short line, or somebody has answered since `entry` was read.
        """
        if len(reason) > REASON_CHARACTERS or not is_plain_line(reason):
            raise InputError(
                f"a reason is one line of at most {REASON_CHARACTERS} characters",
                where="--reason",
                remedy="Shorten it; the code says the kind of reason.",
            )
        moment = max(int(time.time()), entry.answered + 1)
        signed = StudyAnswer(
            hospital=self.own,
            study=entry.study,
            study_sha256=entry.sha256,
            answer=word,
            code=code,
            reason=reason,
            time=moment,
        )
        changed = replace(
            entry,
            answer=kept.StudyState(_STATES[word]),
            code=signed.code,
            reason=reason,
            answered=moment,
        )
        raw = sign_answer(signed, self.keyring.identity).canonical()
        kept.answer(self.journal, entry, changed, raw, person=person)
        return changed

    def consent(self, entry: StudyEntry, without_sha256: str, *, person: str = "") -> None:
        """Sign and journal a consent. Args: person: for the own log. Raises: InputError: this agent has not joined."""
        certificate = self.keyring.certificate
        if certificate is None:
            raise InputError("this agent has no certificate yet", remedy="Join first: privet agent join DIR.")
        given = Consent(
            hospital=self.own,
            with_sha256=entry.sha256,
            without_sha256=without_sha256,
            time=int(time.time()),
        )
        signed = sign_consent(given, self.keyring.identity, certificate.der)
        kept.consent(self.journal, entry, without_sha256, signed.canonical(), person=person)


def read_hash(text: str) -> str:
    """The hash of a study's document, however it is spaced. Raises: InputError: no 64 hexadecimal digits."""
    digits = "".join(text.split()).lower()
    if len(digits) != 64 or set(digits) - set("0123456789abcdef"):
        raise InputError(
            "a document's hash has 64 hexadecimal digits",
            where="--other",
            remedy="The coordinator sees it by `privet cloud study show`.",
        )
    return digits


@contextmanager
def study_answers(folder: Path) -> Iterator[StudyAnswers]:
    """For the agent in a folder. Raises: InputError: there is none, or the folder's key is not at hand."""
    settings = load_settings(folder)
    with Journal.open(folder) as journal:
        yield StudyAnswers(journal, Keyring.open(folder), settings.id)


def takes_jobs(entry: StudyEntry, now: float) -> bool:
    """Whether the study is neither closed nor over."""
    return not entry.closed and entry.document.expires >= now


def check_open(entry: StudyEntry, now: float) -> None:
    """Raises: InputError: the study takes no more jobs, so there is nothing to approve."""
    if not takes_jobs(entry, now):
        ended = day_of(entry.closed or entry.document.expires)
        raise InputError(f"the study ended on {ended}, and takes no more jobs", where=f"study {entry.study}")
