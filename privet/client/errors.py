"""What can go wrong between a person's program and a cloud.

Every class is a `PrivetError`; those that a cloud answers with carry its problem document (RFC 9457): `status`, `code`,
`title`, `detail`; and `remedy`, the next step.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from shared.errors import PrivetError, TemporaryError

if TYPE_CHECKING:
    from privet.client.answers import Job


class ApiError(PrivetError):
    """The cloud refused; the same again will be refused again.

    `status`: of HTTP. `code`: for programs, such as `not_found`. `title`, `detail`: in the cloud's words. `remedy`: the
    next step, a sentence.
    """

    remedy: str = "Change the request as the detail says."

    def __init__(self, status: int, code: str, title: str, detail: str) -> None:
        said = title if detail in ("", title) else f"{title}: {detail}"
        super().__init__(f"{said.rstrip('.')}. {self.remedy}")
        self.status = status
        self.code = code
        self.title = title
        self.detail = detail


class NotSignedInError(ApiError):
    """The token is not known to this cloud, has expired or was revoked; or name, password or code are wrong."""

    remedy = (
        "Sign in again, or ask for a token (`privet cloud token create`) "
        "and set PRIVET_TOKEN or PRIVET_TOKEN_FILE."
    )


class SecondFactorError(PrivetError):
    """The account needs a second factor first. `address`: an otpauth:// address for an authenticator app; a secret."""

    def __init__(self, address: str) -> None:
        super().__init__(
            "this account needs a second factor, and there is no session yet. Put the error's `address` into an "
            "authenticator app as a QR code, then sign in again with a code of it."
        )
        self.address = address


class ForbiddenError(ApiError):
    """The token's roles do not permit this."""

    remedy = "Ask for a token with one of these roles."


class NotPublishedError(ApiError):
    """The tree is at the hospitals only, or not all of them have attested it yet."""

    remedy = (
        "Ask a hospital for `privet agent export`, "
        "or have the hospitals approve a study that is created with publish_tree=True."
    )


class NotFoundError(ApiError):
    """There is no such thing, or this token does not see it."""

    remedy = "Look at what there is: `studies()`, `jobs()`."


class ConflictError(ApiError):
    """It contradicts what is there: a study that is closed, a hospital that has declined."""

    remedy = "Look at the study or the job before you ask again."


class InvalidInputError(ApiError):
    """A rule, a name or a number that the cloud does not take."""

    remedy = "What may be said stands at the cloud's address under /docs."


class BusyError(TemporaryError):
    """The cloud, or something on the way, asks for patience. `status`: of HTTP. `code`: empty where no problem document
    came.
    """

    def __init__(self, status: int, code: str, detail: str, retry_after_seconds: float | None) -> None:
        told = detail or f"HTTP {status}"
        super().__init__(f"the cloud is busy: {told}", retry_after_seconds=retry_after_seconds)
        self.status = status
        self.code = code


class UnreachableError(TemporaryError):
    """No answer came.

    `was_sent`: whether the request may have reached the cloud. `may_pass`: whether waiting can help.
    """

    def __init__(self, url: str, reason: str, *, was_sent: bool, may_pass: bool = True) -> None:
        super().__init__(f"the cloud at {url} cannot be reached: {reason}")
        self.was_sent = was_sent
        self.may_pass = may_pass


class OutcomeUnknownError(TemporaryError):
    """The connection broke after something that must not be done twice was sent; it may have been done."""

    def __init__(self, what: str, reason: str) -> None:
        super().__init__(
            f"{what}: {reason}, and it is not known whether it was done. Look at `jobs()` before you ask again."
        )


class UnexpectedAnswerError(PrivetError):
    """Something answered that is no cloud of Privet, or one of another version."""


class JobFailedError(PrivetError):
    """A job ended without a tree. `job`: as it is now; `job.failure`: the code."""

    def __init__(self, job: Job) -> None:
        declined = [
            f"{member.id} declined ({member.answer})" for member in job.members if member.has_declined
        ]
        why = f": {', '.join(declined)}" if declined else ""
        super().__init__(
            f"job {job.id} ended without a tree ({job.failure or job.state.lower()}){why}. "
            "Its events say what happened: `events(job)`."
        )
        self.job = job


class JobTimeoutError(PrivetError, TimeoutError):
    """A job is not over in the time that was given to wait; it goes on. `job`: as it was seen last."""

    def __init__(self, job: Job, seconds: float) -> None:
        waiting = job.waiting
        whom = "" if waiting is None else f"; it waits for {', '.join(waiting.who)}: {waiting.what}"
        super().__init__(
            f"job {job.id} was not over after {seconds:g} seconds (it is {job.state}){whom}. "
            "It goes on: wait again, or cancel it."
        )
        self.job = job


_BY_CODE: Final[dict[str, type[ApiError]]] = {
    "not_signed_in": NotSignedInError,
    "forbidden": ForbiddenError,
    "not_published": NotPublishedError,
    "not_found": NotFoundError,
    "conflict": ConflictError,
    "invalid_input": InvalidInputError,
    "malformed": InvalidInputError,
    "too_large": InvalidInputError,
}


def refusal(status: int, code: str, title: str, detail: str) -> ApiError:
    """The error that a problem document stands for."""
    return _BY_CODE.get(code, ApiError)(status, code, title, detail)
