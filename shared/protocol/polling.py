"""What an agent signs to read its inbox, to use the relay, and to register: requests that are not envelopes of a job.

A poll is bound to the agent, the position in its inbox and a time, so that a captured header opens nothing
but the same agent's own messages, and for `MAX_SKEW_SECONDS` only. A call of the relay is bound to agent, job and
time: who captures one can take or add sealed frames, which only their owners can open or make. An agent whose clock
is off corrects it by the `Date` header of the answer; the order of messages never depends on clocks.
"""

from __future__ import annotations

from typing import Annotated, Final, TypeVar

from pydantic import Field, StringConstraints

from shared.crypto import identity
from shared.errors import ErrorCode, PeerError
from shared.protocol.envelopes import Signer
from shared.wire.base import Base64Url, Count, Hex16, Hex64, Id, WireModel, is_absent
from shared.wire.relay import RELAY_HEADER
from shared.wire.secret import Progress, SignedProgress

MAX_SKEW_SECONDS: Final = 300
POLL_HEADER: Final = "privet-poll"
_POLL_CONTEXT: Final = b"ppsdt/1/poll\n"
_RELAY_CONTEXT: Final = b"ppsdt/1/relay\n"
_REGISTER_CONTEXT: Final = b"ppsdt/1/register\n"
_PROGRESS_CONTEXT: Final = b"ppsdt/1/progress\n"
_STUDIES_CONTEXT: Final = b"ppsdt/1/studies\n"
STUDIES_HEADER: Final = "privet-studies"
"""Of a request: the signed call. Of an answer of the inbox: the number of the last change of studies."""


class Poll(WireModel):
    """The claim in the `privet-poll` header; canonical JSON, then a dot, then the signature in hex."""

    agent: Id
    after: Count
    time: Count


class RelayCall(WireModel):
    """The claim in the `privet-relay` header, in the same form."""

    agent: Id
    job: Hex16
    time: Count


class StudiesCall(WireModel):
    """The claim in the `privet-studies` header, in the same form. `study`: the one asked for; absent for the list."""

    agent: Id
    study: Annotated[Id | None, Field(exclude_if=is_absent)] = None
    time: Count


Claim = TypeVar("Claim", bound=WireModel)


class Registration(WireModel):
    """What an agent tells the cloud when it joins or starts."""

    certificate: Base64Url
    version: Annotated[str, StringConstraints(pattern=r"^[0-9A-Za-z.+-]{1,32}$")]
    time: Count


class SignedRegistration(WireModel):
    """Body of `POST /v1/hospitals`."""

    registration: Registration
    signature: Hex64


def sign_poll(poll: Poll, signer: Signer) -> str:
    """The header's value."""
    return _sign(poll, _POLL_CONTEXT, signer)


def read_poll(header: str) -> tuple[Poll, bytes]:
    """The claim and its signature, not yet verified. Raises: PeerError: `malformed`."""
    return _read(Poll, header, POLL_HEADER)


def verify_poll(poll: Poll, signature: bytes, public_key: bytes, now: int) -> None:
    """Raises: PeerError: `bad_signature`: another key, or a time that is off by more than the skew."""
    identity.verify(public_key, signature, _POLL_CONTEXT + poll.canonical(), what=POLL_HEADER)
    _check_time(poll.time, now)


def sign_call(call: RelayCall, signer: Signer) -> str:
    """The value of `privet-relay`."""
    return _sign(call, _RELAY_CONTEXT, signer)


def read_call(header: str) -> tuple[RelayCall, bytes]:
    """The claim and its signature, not yet verified. Raises: PeerError: `malformed`."""
    return _read(RelayCall, header, RELAY_HEADER)


def verify_call(call: RelayCall, signature: bytes, public_key: bytes, now: int) -> None:
    """Raises: PeerError: `bad_signature`: another key, or a time that is off by more than the skew."""
    identity.verify(public_key, signature, _RELAY_CONTEXT + call.canonical(), what=RELAY_HEADER)
    _check_time(call.time, now)


def sign_studies_call(call: StudiesCall, signer: Signer) -> str:
    """The value of `privet-studies`."""
    return _sign(call, _STUDIES_CONTEXT, signer)


def read_studies_call(header: str) -> tuple[StudiesCall, bytes]:
    """The claim and its signature, not yet verified. Raises: PeerError: `malformed`."""
    return _read(StudiesCall, header, STUDIES_HEADER)


def verify_studies_call(call: StudiesCall, signature: bytes, public_key: bytes, now: int) -> None:
    """Raises: PeerError: `bad_signature`: another key, or a time that is off by more than the skew."""
    identity.verify(public_key, signature, _STUDIES_CONTEXT + call.canonical(), what=STUDIES_HEADER)
    _check_time(call.time, now)


def sign_registration(registration: Registration, signer: Signer) -> SignedRegistration:
    """Prove possession of the certificate's key."""
    signature = signer.sign(_REGISTER_CONTEXT + registration.canonical()).hex()
    return SignedRegistration(registration=registration, signature=signature)


def verify_registration(signed: SignedRegistration, public_key: bytes, now: int) -> None:
    """Raises: PeerError: `bad_signature`."""
    message = _REGISTER_CONTEXT + signed.registration.canonical()
    identity.verify(public_key, bytes.fromhex(signed.signature), message, what="registration")
    _check_time(signed.registration.time, now)


def sign_progress(progress: Progress, signer: Signer) -> SignedProgress:
    """Sign a report of where a secret job stands."""
    signature = signer.sign(_PROGRESS_CONTEXT + progress.canonical()).hex()
    return SignedProgress(progress=progress, signature=signature)


def verify_progress(signed: SignedProgress, public_key: bytes, now: int) -> None:
    """Raises: PeerError: `bad_signature`: another key, or a time that is off by more than the skew."""
    message = _PROGRESS_CONTEXT + signed.progress.canonical()
    identity.verify(public_key, bytes.fromhex(signed.signature), message, what="progress")
    _check_time(signed.progress.time, now)


def _sign(claim: WireModel, context: bytes, signer: Signer) -> str:
    canonical = claim.canonical()
    return f"{canonical.decode()}.{signer.sign(context + canonical).hex()}"


def _read(model: type[Claim], header: str, name: str) -> tuple[Claim, bytes]:
    claim, dot, signature = header.rpartition(".")
    if not dot or len(signature) != 128 or len(claim) > 256:
        raise PeerError(ErrorCode.MALFORMED, f"{name}: expected claim, dot, signature")
    try:
        raw = bytes.fromhex(signature)
    except ValueError:
        raise PeerError(ErrorCode.MALFORMED, f"{name}: the signature is not hex") from None
    return model.parse(claim.encode(), what=name, max_bytes=256), raw


def _check_time(time: int, now: int) -> None:
    if abs(time - now) > MAX_SKEW_SECONDS:
        raise PeerError(
            ErrorCode.BAD_SIGNATURE,
            f"signed at {time}, it is {now} here, more than {MAX_SKEW_SECONDS} s apart; "
            "set the clock by the Date header",
        )
