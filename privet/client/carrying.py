"""What both clients have in common around one request: the connection, what is sent, what an answer means."""

from __future__ import annotations

import json
import ssl
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Self, TypedDict, TypeVar

import httpx

from privet.client.access import Access
from privet.client.calls import Call
from privet.client.errors import (
    BusyError,
    OutcomeUnknownError,
    UnexpectedAnswerError,
    UnreachableError,
    refusal,
)
from shared.errors import InputError, PrivetError
from shared.hosts import is_loopback

T = TypeVar("T")
MAX_ANSWER_BYTES: Final = 2**28
_BUSY: Final = frozenset({429, 502, 503, 504})
_MAX_DETAIL: Final = 1000
_LEAST_SECONDS: Final = 0.001
"""The library takes 0 for a mistake."""
_UNSENT: Final = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)


@dataclass(frozen=True, slots=True)
class Patience:
    """Seconds: how long a request is repeated while the cloud is away or busy, at most how long between two tries, and
    how long one answer may take.
    """

    total_seconds: float = 120.0
    most_seconds: float = 15.0
    answer_seconds: float = 30.0


class Connection(TypedDict):
    """What either kind of httpx client is made with."""

    base_url: str
    verify: ssl.SSLContext
    headers: dict[str, str]
    follow_redirects: bool
    trust_env: bool


class Carrier:
    """What a client holds, whether its calls wait or are awaited: where the cloud is, who asks, and how patiently."""

    def __init__(self, access: Access, patience: Patience | None = None) -> None:
        self.access = access
        self._patience = patience or Patience()

    @classmethod
    def from_token(
        cls,
        url: str,
        token: str,
        *,
        ca_file: str | Path | None = None,
        patience: Patience | None = None,
    ) -> Self:
        """A client for the cloud at `url`. Args: ca_file: PEM, for a private certificate authority."""
        return cls(Access(url, token, None if ca_file is None else Path(ca_file)), patience)

    @classmethod
    def from_environment(cls, patience: Patience | None = None) -> Self:
        """By PRIVET_CLOUD_URL, PRIVET_TOKEN or PRIVET_TOKEN_FILE, and PRIVET_CA_FILE where one is needed."""
        return cls(Access.from_environment(), patience)

    def __repr__(self) -> str:
        """Without the token."""
        return f"<{type(self).__name__} of {self.access.url}>"

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """A connection has no copies: `sklearn.base.clone` of an estimator with a client keeps the client."""
        return self


def connection(access: Access) -> Connection:
    """TLS 1.3 by the surroundings' certificates or the private authority's; no proxy leads to this machine itself.

    Raises: InputError: no certificates can be read from `ca_file`.
    """
    try:
        context = ssl.create_default_context(cafile=None if access.ca_file is None else str(access.ca_file))
    except (OSError, ssl.SSLError) as error:
        raise InputError(
            f"no certificates can be read ({getattr(error, 'reason', None) or error.strerror})",
            where=str(access.ca_file or "SSL_CERT_FILE"),
            remedy="Give a PEM file with the certificate authority of the cloud's address.",
        ) from None
    signed_in = {} if access.token is None else {"authorization": f"Bearer {access.token}"}
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    return Connection(
        base_url=access.url,
        verify=context,
        headers={"user-agent": "privet-client"} | signed_in,
        follow_redirects=False,
        trust_env=not is_loopback(httpx.URL(access.url).host),
    )


def request_of(http: httpx.Client | httpx.AsyncClient, call: Call[Any], patience: Patience) -> httpx.Request:
    """The call as a request."""
    headers = {"accept": call.accept}
    if call.body is not None:
        headers["content-type"] = "application/json"
    whole = call.wait_seconds + patience.answer_seconds
    return http.build_request(
        call.method,
        call.path,
        params=dict(call.query),
        content=call.body,
        headers=headers,
        timeout=httpx.Timeout(whole, connect=patience.answer_seconds / 3),
    )


class Retries(TypedDict):
    """What `stamina.retry_context` is made with."""

    on: Callable[[Exception], float | bool]
    attempts: None
    timeout: float
    wait_initial: float
    wait_max: float
    wait_jitter: float


def retries(call: Call[Any], patience: Patience) -> Retries:
    """Attempts until one succeeds, is refused, or the patience ends; waits double, with jitter, as the cloud asks."""

    def wait_before_retry(error: Exception) -> float | bool:
        if isinstance(error, BusyError):
            if not call.may_repeat and not error.code:
                return False  # a proxy's word; the cloud may have done it
            asked = error.retry_after_seconds
            return True if asked is None else min(asked, patience.most_seconds)
        if not isinstance(error, UnreachableError):
            return False
        return error.may_pass and (call.may_repeat or not error.was_sent)

    total = patience.total_seconds
    return Retries(
        on=wait_before_retry,
        attempts=None,
        timeout=max(
            _LEAST_SECONDS, total if call.within_seconds is None else min(total, call.within_seconds)
        ),
        wait_initial=min(0.2, patience.most_seconds),
        wait_max=patience.most_seconds,
        wait_jitter=min(1.0, patience.most_seconds),
    )


def unanswered(access: Access, error: httpx.HTTPError) -> PrivetError:
    """What it means that no answer came."""
    if isinstance(error, httpx.DecodingError):
        return UnexpectedAnswerError(
            "the answer cannot be unpacked; is the address that of a cloud of Privet?"
        )
    causes = tuple(_causes(error))
    if any(isinstance(cause, ssl.SSLCertVerificationError) for cause in causes):
        reason = "its TLS certificate is not trusted here; ca_file (PRIVET_CA_FILE) names another authority"
        return UnreachableError(access.url, reason, was_sent=False, may_pass=False)
    told = (cause.strerror for cause in causes if isinstance(cause, OSError) and cause.strerror)
    cut = "no answer in time" if isinstance(error, httpx.TimeoutException) else "the connection was cut"
    reason = next(told, cut)
    return UnreachableError(access.url, reason, was_sent=not isinstance(error, _UNSENT))


def given_up(call: Call[Any], error: BusyError | UnreachableError) -> PrivetError:
    """The error for the caller, once there is no more patience."""
    was_sent = error.was_sent if isinstance(error, UnreachableError) else not error.code
    if call.may_repeat or not was_sent:
        return error
    return OutcomeUnknownError(f"{call.method} {call.path}", str(error))


def check_length(size: int) -> None:
    """Raises: UnexpectedAnswerError: longer than any answer."""
    if size > MAX_ANSWER_BYTES:
        raise UnexpectedAnswerError(f"the answer is longer than {MAX_ANSWER_BYTES} bytes")


def answer_of(call: Call[T], status: int, headers: Mapping[str, str], body: bytes) -> T:
    """What came of a call.

    Raises: BusyError: try later. ApiError: refused. UnexpectedAnswerError: no cloud's answer.
    """
    if 200 <= status < 300:
        return call.read(body)
    problem = _problem(body)
    code, title, detail = (_printable(problem.get(name)) for name in ("code", "title", "detail"))
    if status in _BUSY:
        raise BusyError(status, code, detail, _retry_after(headers))
    if not code:
        raise UnexpectedAnswerError(
            f"HTTP {status} without a problem document. Is the address that of a cloud of Privet?"
        )
    raise refusal(status, code, title, detail)


def _problem(body: bytes) -> Mapping[str, Any]:
    with suppress(ValueError, RecursionError):
        found = json.loads(body)
        if isinstance(found, dict):
            return found
    return {}


def _printable(text: Any) -> str:
    """Without what a terminal would obey, and not endless."""
    if not isinstance(text, str):
        return ""
    return "".join(character if character.isprintable() else " " for character in text[:_MAX_DETAIL])


def _retry_after(headers: Mapping[str, str]) -> float | None:
    with suppress(KeyError, ValueError):
        return max(0.0, float(headers["retry-after"]))
    return None


def _causes(error: BaseException) -> Iterator[BaseException]:
    """An error and what lies below it."""
    cause: BaseException | None = error
    while cause is not None:
        yield cause
        cause = cause.__cause__ or cause.__context__
