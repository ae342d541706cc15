"""The error tree: one root, then whose fault it is.

`InternalError` is ours (a bug), `PeerError` is the other side's (refuse, do not retry),
`TemporaryError` is nobody's (try later), `InputError` is the user's (fix the file or setting named).
No class here knows an HTTP status; `cloud_service.api.problems` maps codes to problem documents.
The text of an error names ids, rounds, files, lines and columns, never a count, row, share or key.
An error that keeps a program from starting has a number, such as `C012`, under which `privet explain` has a page.
"""

from __future__ import annotations

import errno
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum


class ErrorCode(StrEnum):
    """Codes of a refused request (protocol section 13)."""

    MALFORMED = "malformed"
    BAD_SIGNATURE = "bad_signature"
    UNKNOWN_AGENT = "unknown_agent"
    POLICY_PROFILE = "policy_profile"
    POLICY_MIN_HOSPITALS = "policy_min_hospitals"
    POLICY_DIFFERENCE = "policy_difference"
    REPLAY_CONFLICT = "replay_conflict"
    LATE = "late"
    WRONG_ROUND = "wrong_round"
    ROSTER_MISMATCH = "roster_mismatch"
    TOO_LARGE = "too_large"
    CONTRIBUTION_REJECTED = "contribution_rejected"
    RATE_LIMITED = "rate_limited"
    AUDIT_UNAVAILABLE = "audit_unavailable"


class JobCode(StrEnum):
    """Codes with which a job ends without a tree (protocol section 13)."""

    TAG_MISMATCH = "tag_mismatch"
    ROSTER_DIGITS = "roster_digits"
    RANGE_VIOLATION = "range_violation"
    INCONSISTENT_COUNTS = "inconsistent_counts"
    DIVERGED = "diverged"
    MEMBER_LOST = "member_lost"
    DEADLINE = "deadline"
    BUDGET_EXHAUSTED = "budget_exhausted"
    TOO_FEW_RECORDS = "too_few_records"
    SHARE_INCONSISTENT = "share_inconsistent"
    COMPUTE_PARTY_MISSING = "compute_party_missing"
    HISTORY_LOST = "history_lost"
    CANCELLED = "cancelled"


class PrivetError(Exception):
    """Root of every error Privet raises on purpose. `number`: of its help page, where it has one."""

    number: str = ""


class InternalError(PrivetError):
    """A broken invariant of ours: report it, do not retry."""


class PeerError(PrivetError):
    """What the other side sent is refused; sending the same again will be refused again."""

    def __init__(self, code: ErrorCode, message: str) -> None:
        super().__init__(message)
        self.code = code


class JobFailure(PrivetError):  # noqa: N818 - the field's word: a job fails, it does not err
    """The job cannot go on: the aggregate or the peers' statements failed a check."""

    def __init__(self, code: JobCode, message: str) -> None:
        super().__init__(message)
        self.code = code


class TemporaryError(PrivetError):
    """Nobody's fault: the same request may succeed later."""

    def __init__(self, message: str, *, retry_after_seconds: float | None = None, number: str = "") -> None:
        super().__init__(message)
        self.retry_after_seconds = retry_after_seconds
        self.number = number


class InputError(PrivetError):
    """A file, setting or argument of the user is wrong; the text names it, and the remedy.

    Args: message: what was expected and what came (no values of records).
        where: file, line, column or setting. remedy: the next step, as a sentence. number: of its help page.
    """

    def __init__(self, message: str, *, where: str = "", remedy: str = "", number: str = "") -> None:
        sentence = f"{message.rstrip('.')}. {remedy}" if remedy else message
        super().__init__(f"{where}: {sentence}" if where else sentence)
        self.where = where
        self.remedy = remedy
        self.number = number


@contextmanager
def numbered(number: str) -> Iterator[None]:
    """Give this number to an error of ours that leaves the context without one."""
    try:
        yield
    except PrivetError as error:
        error.number = error.number or number
        raise


@contextmanager
def starting(*, full: str, closed: str, other: str) -> Iterator[None]:
    """Let nothing of ours and nothing of the system's stop a start without a number.

    Args: numbers for a full disk, for a file or folder that may not be read or written, and for the rest.
    Raises: InputError: in place of the system's error, with the file it names.
    """
    try:
        yield
    except PrivetError as error:
        error.number = error.number or other
        raise
    except OSError as error:
        where, reason = str(error.filename or ""), error.strerror or type(error).__name__
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise InputError(reason, where=where, remedy="Make room on the disk.", number=full) from None
        raise InputError(
            reason,
            where=where,
            remedy="See that the file is there, and that the user who runs this may read and write it.",
            number=closed,
        ) from None


def kind_and_place(error: Exception) -> str:
    """Class, file and line of an exception that nobody raised on purpose; its text may quote data and is left out."""
    frames = traceback.extract_tb(error.__traceback__)
    if not frames:
        return type(error).__name__
    file = frames[-1].filename.replace("\\", "/").rpartition("/")[2]
    return f"{type(error).__name__} at {file}, line {frames[-1].lineno}"
