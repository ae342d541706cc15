"""What a clinical system's own server offers: resources of the patient who was asked about, and keys of its tokens.

Only from addresses that settings name, so that nobody who asks can send the agent anywhere. No redirects are followed,
answers are bounded, and no message holds an address beyond its base: it names a patient.
"""

from __future__ import annotations

import ssl
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import httpx

from shared.errors import TemporaryError
from shared.wire.exact_json import RepeatedNameError, read_exact

FETCH_SECONDS: Final = 2.0
"""For a connection, and for each part of an answer."""
WHOLE_SECONDS: Final = 5.0
"""For an answer whose parts drip."""
MAX_FETCHED_BYTES: Final = 4 * 2**20


@dataclass(frozen=True, slots=True)
class ClinicalServers:
    """The servers that may be asked. `bases`: FHIR base URLs without a slash at the end."""

    bases: frozenset[str]
    ca_bundle: Path | None = None
    _clients: list[httpx.Client] = field(default_factory=list, repr=False)

    def allows(self, base: str) -> bool:
        """Whether resources may be fetched there."""
        return base.rstrip("/") in self.bases

    def resources(self, base: str, query: str, token: str) -> Any:
        """One answer of a FHIR server, as JSON. Raises: TemporaryError: none, or no JSON."""
        headers = {"Accept": "application/fhir+json"} | (
            {"Authorization": f"Bearer {token}"} if token else {}
        )
        return self._json(f"{base.rstrip('/')}/{query}", headers, base)

    def keys(self, address: str) -> Mapping[str, Any]:
        """A set of public keys (JWKS). Raises: TemporaryError: none there."""
        found = self._json(address, {"Accept": "application/json"}, address)
        if not isinstance(found, Mapping):
            raise TemporaryError(f"{address}: no set of keys")
        return found

    def _json(self, url: str, headers: Mapping[str, str], told: str) -> Any:
        try:
            with self._client().stream("GET", url, headers=headers) as answer:
                content = _bounded(answer.iter_bytes(), told)
                if answer.status_code != httpx.codes.OK:
                    raise TemporaryError(f"{told}: answered {answer.status_code}")
            return read_exact(content)
        except httpx.HTTPError as error:
            raise TemporaryError(f"{told}: {type(error).__name__}") from None
        except RepeatedNameError as error:
            raise TemporaryError(f"{told}: {error}") from None
        except (ValueError, RecursionError):
            raise TemporaryError(f"{told}: no JSON") from None

    def _client(self) -> httpx.Client:
        if not self._clients:
            verify: ssl.SSLContext | bool = True
            if self.ca_bundle is not None:
                verify = ssl.create_default_context(cafile=self.ca_bundle)
            self._clients.append(httpx.Client(verify=verify, timeout=FETCH_SECONDS, follow_redirects=False))
        return self._clients[0]


Fetch = Callable[[str], Any]
"""A relative FHIR query to its answer as JSON. Raises: TemporaryError."""


def _bounded(parts: Any, told: str) -> bytes:
    content, ends = bytearray(), time.monotonic() + WHOLE_SECONDS
    for part in parts:
        content += part
        if len(content) > MAX_FETCHED_BYTES:
            raise TemporaryError(f"{told}: more than {MAX_FETCHED_BYTES} bytes")
        if time.monotonic() > ends:
            raise TemporaryError(f"{told}: the answer took longer than {WHOLE_SECONDS:.0f} s")
    return bytes(content)
