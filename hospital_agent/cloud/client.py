"""The agent's side of the cloud's message door (protocol section 7): post, poll, register, fetch the federation.

Every request may be repeated: messages are idempotent at the cloud, and the other three change nothing.
"""

from __future__ import annotations

import gzip
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self

import httpx

from hospital_agent.cloud.answers import BUSY_STATUSES, busy_error, inbox_items, refusal_of
from hospital_agent.cloud.connecting import (
    ANSWER_SECONDS,
    ClientFiles,
    clock_offset,
    open_http,
    read_capped,
    reason_of,
    timeouts,
)
from hospital_agent.cloud.exchanges import Exchange, Observer
from hospital_agent.cloud.retries import BusyError, Patience, retrying
from hospital_agent.cloud.traffic import Traffic
from hospital_agent.telemetry import TRACES
from shared.errors import ErrorCode, PeerError, TemporaryError
from shared.protocol.audit_log import JOURNAL_HEADER, SignedClaim
from shared.protocol.envelopes import Signer
from shared.protocol.history import (
    FORGOTTEN_HEADER,
    MAX_JOBS,
    SEEN_HEADER,
    JobSeen,
    Seen,
    sign_seen,
)
from shared.protocol.polling import (
    POLL_HEADER,
    STUDIES_HEADER,
    Poll,
    Registration,
    StudiesCall,
    sign_poll,
    sign_registration,
    sign_studies_call,
)
from shared.protocol.tracing import REQUEST_HEADER
from shared.rng import random_bytes
from shared.wire.asking import Asked, SignedAsk
from shared.wire.base import WireModel
from shared.wire.consent import SignedConsent
from shared.wire.enrolment import MAX_FEDERATION_BYTES, SignedFederation
from shared.wire.secret import SignedProgress
from shared.wire.study import MAX_STUDY_BYTES, SignedAnswer, SignedStudy, StudyLines

if TYPE_CHECKING:
    from hospital_agent.settings import AgentSettings

MAX_RECEIPT_BYTES: Final = 2**16
MAX_INBOX_BYTES: Final = 2**27
"""The largest answer of the inbox that is read: a paper aggregate of the greatest round, with room to spare."""
LONG_WAIT_SECONDS: Final = 25
SHORT_WAIT_SECONDS: Final = 5
_MESSAGES: Final = "/v1/messages"
_STUDIES: Final = "/v1/agent/studies"
_MAX_DIGITS: Final = 16
_GZIP_FROM_BYTES: Final = 512


@dataclass(frozen=True, slots=True)
class InboxMessage:
    """One waiting message: its place in the inbox, and the exact bytes of the signed envelope."""

    id: int
    raw: bytes = field(repr=False)


@dataclass(slots=True)
class _Answered:
    """The status of an answer, once its head is there."""

    status: int | None = None


@dataclass(slots=True)
class CloudClient:
    """One agent's connection. Not for use by several threads at once.

    `wait_seconds`: the present length of a long poll, halved when something on the way cuts it.
    `clock_offset`: seconds that this machine's clock is behind the cloud's, by its Date header.
    `studies_change`: the number of the last change of studies, as the newest poll's answer tells it; None before.
    `observers`: told of every request that was answered, or was not.
    `forgotten`: jobs of which the newest poll's answer said that the cloud has them no more as they were told to it.
    """

    agent: str
    signer: Signer
    http: httpx.Client
    patience: Patience = field(default_factory=Patience)
    traffic: Traffic = field(default_factory=Traffic)
    wait_seconds: int = LONG_WAIT_SECONDS
    clock_offset: float = 0.0
    studies_change: int | None = None
    forgotten: tuple[str, ...] = ()
    answer_seconds: float = ANSWER_SECONDS
    observers: list[Observer] = field(default_factory=list)
    _body_bytes: int = 0
    _told_jobs: int = 0

    @classmethod
    def connect(
        cls,
        base_url: str,
        agent: str,
        signer: Signer,
        *,
        ca_bundle: Path | None = None,
        client_files: ClientFiles | None = None,
        patience: Patience | None = None,
        answer_seconds: float = ANSWER_SECONDS,
    ) -> Self:
        """A client for the cloud at `base_url`; nothing is sent yet.

        Args: ca_bundle: PEM, for a private CA. client_files: certificate and key for mutual TLS. answer_seconds: how
            long the cloud may take to answer; the other waits follow from it.
        """
        http = open_http(base_url, ca_bundle, client_files, answer_seconds)
        return cls(agent, signer, http, patience or Patience(), answer_seconds=answer_seconds)

    @classmethod
    def of(
        cls,
        settings: AgentSettings,
        signer: Signer,
        *,
        patience: Patience | None = None,
        answer_seconds: float | None = None,
    ) -> Self:
        """A client for the cloud that the settings name, with their files and waits.

        Args: patience, answer_seconds: as of `connect`; the latter in place of the settings'.
        """
        return cls.connect(
            str(settings.cloud),
            settings.id,
            signer,
            ca_bundle=settings.ca_bundle,
            client_files=settings.client_files,
            patience=patience,
            answer_seconds=settings.answer_seconds if answer_seconds is None else answer_seconds,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.http.close()

    def post_message(self, raw: bytes, kind: str, claim: SignedClaim | None = None) -> bytes:
        """Send one signed envelope, again and again until it is answered; the answer is the raw receipt.

        Past a round's deadline it is still worth sending: the cloud waits for a silent member (rule C4).
        Args: kind: message type, for the books. claim: where the own log stands.
        Raises: PeerError: refused. TemporaryError: not answered within the patience.
        """
        headers = {"content-type": "application/json"}
        if claim is not None:
            headers[JOURNAL_HEADER] = claim.canonical().decode()
        body = gzip.compress(raw, 6, mtime=0) if len(raw) >= _GZIP_FROM_BYTES else raw
        if len(body) < len(raw):
            headers["content-encoding"] = "gzip"
        else:
            body = raw
        for attempt in retrying(self.patience):
            with attempt:
                return self._send("POST", _MESSAGES, kind, MAX_RECEIPT_BYTES, content=body, headers=headers)
        raise TemporaryError("the message was not answered in time")

    def poll(
        self, after: int, *, wait_seconds: int | None = None, seen: Sequence[JobSeen] = ()
    ) -> list[InboxMessage]:
        """Messages after that place; waits for one up to `wait_seconds`. Empty when none came.

        Args: seen: what was seen of the jobs that run, so that a cloud that has forgotten of it notices.
        Raises: PeerError: refused. TemporaryError: the cloud cannot be reached now.
        """
        wait = self.wait_seconds if wait_seconds is None else min(wait_seconds, self.wait_seconds)
        try:
            raw = self._poll_once(after, wait, seen)
        except PeerError as error:
            # A clock that is off shows as a bad signature; the answer has brought the right time.
            if error.code is not ErrorCode.BAD_SIGNATURE:
                raise
            raw = self._poll_once(after, wait, seen)
        items = inbox_items(raw)
        self.traffic.share_out(self._body_bytes, _sizes(items))
        return [InboxMessage(number, message) for number, message, _ in items]

    def register(self, certificate: str, version: str) -> None:
        """Tell the cloud that this agent is there. Args: certificate: base64url of its DER.

        Raises: PeerError: not a member. TemporaryError.
        """
        claim = Registration(certificate=certificate, version=version, time=self._now())
        body = sign_registration(claim, self.signer).canonical()
        headers = {"content-type": "application/json"}
        self._send("POST", "/v1/hospitals", "registration", MAX_RECEIPT_BYTES, content=body, headers=headers)

    def tell_progress(self, signed: SignedProgress) -> None:
        """Where a secret job stands here. Raises: PeerError: the job does not compute (any more). TemporaryError."""
        path = f"/v1/jobs/{signed.progress.job}/progress"
        headers = {"content-type": "application/json"}
        body = signed.canonical()
        self._send("POST", path, "progress", MAX_RECEIPT_BYTES, content=body, headers=headers)

    def fetch_studies(self) -> StudyLines:
        """The studies that invite this agent. Raises: PeerError: refused. TemporaryError."""
        raw = self._study_call(None)
        return StudyLines.parse(raw, what="list of studies", max_bytes=MAX_STUDY_BYTES)

    def fetch_study(self, study: str) -> SignedStudy:
        """A study's document as the cloud shows it, not yet verified. Raises: PeerError: refused. TemporaryError."""
        return SignedStudy.parse(self._study_call(study), what="study document", max_bytes=MAX_STUDY_BYTES)

    def answer_study(self, study: str, signed: SignedAnswer) -> None:
        """Bring a hospital's answer to a document. Raises: PeerError: refused for good. TemporaryError."""
        self._post_word(f"{_STUDIES}/{study}/answer", signed)

    def consent(self, study: str, signed: SignedConsent) -> None:
        """Bring a hospital's consent to a difference. Raises: PeerError: refused for good. TemporaryError."""
        self._post_word(f"{_STUDIES}/{study}/consent", signed)

    def ask_shared(self, study: str, signed: SignedAsk) -> str:
        """Have a job started by which this hospital asks a shared tree; its id. Raises: PeerError: refused.
        TemporaryError."""
        headers = {"content-type": "application/json"}
        path = f"{_STUDIES}/{study}/ask"
        raw = self._send(
            "POST", path, "study", MAX_RECEIPT_BYTES, content=signed.canonical(), headers=headers
        )
        return Asked.parse(raw, what="answer to ask", max_bytes=MAX_RECEIPT_BYTES).job

    def _post_word(self, path: str, word: WireModel) -> None:
        headers = {"content-type": "application/json"}
        self._send("POST", path, "study", MAX_RECEIPT_BYTES, content=word.canonical(), headers=headers)

    def _study_call(self, study: str | None) -> bytes:
        call = StudiesCall(agent=self.agent, study=study, time=self._now())
        headers = {STUDIES_HEADER: sign_studies_call(call, self.signer)}
        path = _STUDIES if study is None else f"{_STUDIES}/{study}"
        return self._send("GET", path, "study", MAX_STUDY_BYTES, headers=headers)

    def fetch_federation(self) -> SignedFederation:
        """The federation document as the cloud serves it, not yet verified. Also sets the clock offset."""
        raw = self._send("GET", "/v1/federation", "federation", MAX_FEDERATION_BYTES)
        return SignedFederation.parse(raw, what="federation document", max_bytes=MAX_FEDERATION_BYTES)

    def _poll_once(self, after: int, wait: int, jobs: Sequence[JobSeen]) -> bytes:
        headers = {POLL_HEADER: sign_poll(Poll(agent=self.agent, after=after, time=self._now()), self.signer)}
        if jobs:
            seen = Seen(agent=self.agent, time=self._now(), jobs=self._in_turn(jobs))
            headers[SEEN_HEADER] = sign_seen(seen, self.signer)
        try:
            return self._send(
                "GET",
                "/v1/inbox",
                "poll",
                MAX_INBOX_BYTES,
                params={"after": after, "wait": wait},
                headers=headers,
                timeout=timeouts(self.answer_seconds, wait_seconds=max(wait, 0.001)),
            )
        except BusyError as busy:
            if busy.cut:
                self.wait_seconds = max(SHORT_WAIT_SECONDS, wait // 2)
            raise

    def _in_turn(self, jobs: Sequence[JobSeen]) -> list[JobSeen]:
        """As many as one claim takes; of more, each poll tells of those after the last one's."""
        first = self._told_jobs % len(jobs)
        taken = [*jobs[first:], *jobs[:first]][:MAX_JOBS]
        self._told_jobs = first + len(taken)
        return taken

    def _now(self) -> int:
        return max(0, int(time.time() + self.clock_offset))

    def _send(self, method: str, path: str, kind: str, max_bytes: int, **options: Any) -> bytes:
        """One request and its whole answer, by a name that the cloud's log has too.

        Raises: BusyError (a TemporaryError): transport errors and answers worth a retry. PeerError: refused.
        """
        request, began, found = random_bytes(8).hex(), time.perf_counter(), _Answered()
        attributes: dict[str, Any] = {"privet.type": kind}
        try:
            with TRACES.span("agent request", attributes):
                named = {REQUEST_HEADER: request} | TRACES.headers()
                options["headers"] = {**options.get("headers", {}), **named}
                return self._exchange(method, path, kind, max_bytes, found, options)
        finally:
            exchange = Exchange(kind, request, found.status, time.perf_counter() - began)
            for observer in self.observers:
                observer(exchange)

    def _exchange(
        self,
        method: str,
        path: str,
        kind: str,
        max_bytes: int,
        found: _Answered,
        options: dict[str, Any],
    ) -> bytes:
        try:
            with self.http.stream(method, path, **options) as response:
                found.status = response.status_code
                offset = clock_offset(response.headers)
                self.clock_offset = self.clock_offset if offset is None else offset
                if kind == "poll":
                    self.forgotten = tuple(response.headers.get(FORGOTTEN_HEADER, "").split())
                change = response.headers.get(STUDIES_HEADER, "")
                if change.isascii() and change.isdecimal() and len(change) <= _MAX_DIGITS:
                    self.studies_change = int(change)
                body = read_capped(response, max_bytes)
        except httpx.TransportError as error:
            cut = not isinstance(error, httpx.ConnectError | httpx.ConnectTimeout)
            raise BusyError(f"the cloud cannot be reached: {reason_of(error)}", cut=cut) from None
        except httpx.DecodingError:
            raise PeerError(ErrorCode.MALFORMED, "the cloud's answer is not in its stated encoding") from None
        self.traffic.add_request(kind, response.request)
        self.traffic.add_response("receipt" if path == _MESSAGES else kind, response)
        self._body_bytes = response.num_bytes_downloaded
        if response.status_code in BUSY_STATUSES:
            raise busy_error(response.status_code, response.headers)
        if not response.is_success:
            raise refusal_of(response.status_code, body)
        return body


def _sizes(items: list[tuple[int, bytes, str]]) -> Mapping[str, int]:
    sizes: dict[str, int] = {}
    for _, raw, kind in items:
        sizes[kind] = sizes.get(kind, 0) + len(raw)
    return sizes
