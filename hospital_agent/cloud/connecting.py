"""How this agent opens HTTPS to the cloud, and reads what comes: certificates, proxies, limits, the right time.

Proxy and certificate settings of the surroundings are honoured (HTTPS_PROXY, NO_PROXY, SSL_CERT_FILE).
"""

from __future__ import annotations

import ssl
from contextlib import suppress
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Final

import httpx

from shared.errors import ErrorCode, InputError, PeerError
from shared.hosts import is_loopback

_SKEW_WORTH_CORRECTING_SECONDS: Final = 2
ANSWER_SECONDS: Final = 30.0
"""Default of the setting `answer_seconds`."""


ClientFiles = tuple[Path, Path]
"""A client certificate for mutual TLS, and its private key: two PEM files."""


def timeouts(answer_seconds: float, wait_seconds: float = 0.0) -> httpx.Timeout:
    """All waits of one request, from the one setting. `wait_seconds`: of a long poll, with half an answer's on top."""
    whole = wait_seconds + answer_seconds / 2 if wait_seconds else answer_seconds
    return httpx.Timeout(whole, connect=answer_seconds / 3)


def open_http(
    base_url: str,
    ca_bundle: Path | None = None,
    client_files: ClientFiles | None = None,
    answer_seconds: float = ANSWER_SECONDS,
) -> httpx.Client:
    """A client for the cloud at `base_url`; nothing is sent yet. `ca_bundle`: PEM, for a private CA.

    Args: answer_seconds: how long to wait for the cloud's answer; for a connection a third of it.
    Raises: InputError: no certificates can be read from `ca_bundle` or `client_files`.
    """
    context = _context(ca_bundle)
    if client_files is not None:
        _show(context, *client_files)
    context.minimum_version = ssl.TLSVersion.TLSv1_3  # protocol section 2
    return httpx.Client(
        base_url=base_url,
        verify=context,
        timeout=timeouts(answer_seconds),
        limits=httpx.Limits(max_connections=2, max_keepalive_connections=1, keepalive_expiry=120),
        headers={"user-agent": "privet", "accept": "*/*", "accept-encoding": "gzip"},
        follow_redirects=False,
        trust_env=not is_loopback(httpx.URL(base_url).host),  # no proxy leads to this machine itself
    )


def _context(ca_bundle: Path | None) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=None if ca_bundle is None else str(ca_bundle))
    except (OSError, ssl.SSLError) as error:
        raise InputError(
            f"no certificates can be read ({getattr(error, 'reason', None) or error.strerror})",
            where=str(ca_bundle or "SSL_CERT_FILE"),
            remedy="Give a PEM file with the certificate authority of the way to the cloud.",
            number="A011",
        ) from None


def _show(context: ssl.SSLContext, certificate: Path, key: Path) -> None:
    """Have the context show a client certificate. It is a second lock; who signed a message stays what counts."""
    try:
        context.load_cert_chain(certificate, key, password=lambda: "")
    except (OSError, ssl.SSLError) as error:
        raise InputError(
            f"no client certificate with its key can be read "
            f"({getattr(error, 'reason', None) or error.strerror or 'unreadable'})",
            where=f"{certificate}, {key}",
            remedy="Give client_certificate and client_key as PEM files that belong together, without a passphrase.",
            number="A011",
        ) from None


def clock_offset(headers: httpx.Headers) -> float | None:
    """Seconds that this machine's clock is behind the cloud's, by its Date header; 0 for next to nothing."""
    with suppress(KeyError, ValueError, TypeError):
        there = parsedate_to_datetime(headers["date"])
        offset = (there - datetime.now(UTC)).total_seconds()
        return offset if abs(offset) > _SKEW_WORTH_CORRECTING_SECONDS else 0.0
    return None


def reason_of(error: httpx.TransportError) -> str:
    """The system's words below a transport error, such as `Connection refused`; else its class. No foreign text."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ssl.SSLCertVerificationError):
            return "its TLS certificate is not trusted here (ca_bundle in agent.toml names another authority)"
        if isinstance(cause, ssl.SSLError) and "CERTIFICATE_REQUIRED" in (cause.reason or ""):
            return "it wants a client certificate (client_certificate and client_key in agent.toml)"
        if isinstance(cause, OSError) and cause.strerror:
            return cause.strerror
        cause = cause.__cause__ or cause.__context__
    return type(error).__name__


def read_capped(response: httpx.Response, max_bytes: int) -> bytes:
    """The decoded body. Raises: PeerError: `too_large`, before more than the cap is kept; `malformed`: its encoding."""
    if response.headers.get("content-encoding", "identity").strip().lower() not in ("identity", "gzip"):
        # Each further layer multiplies what one piece may unpack to by a thousand.
        raise PeerError(ErrorCode.MALFORMED, "the cloud's answer is packed in another way than was asked for")
    pieces, size = [], 0
    for piece in response.iter_bytes():
        size += len(piece)
        if size > max_bytes:
            raise PeerError(ErrorCode.TOO_LARGE, f"the cloud's answer is longer than {max_bytes} bytes")
        pieces.append(piece)
    return b"".join(pieces)
