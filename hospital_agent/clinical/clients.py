"""Whose question it is: the signed token of a CDS Hooks client, checked.

Source: CDS Hooks 2.0, section "Trusting CDS Clients". Signatures by public keys only (never `none`, never a shared
secret); `aud` is exactly the address that was called; `iss` is a client of ours, and a `jku` the one it declared; a
token is taken once, also over a restart.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from joserfc import jws, jwt
from joserfc.errors import JoseError
from joserfc.jwk import KeySet

from hospital_agent.clinical.ledger import Ledger
from hospital_agent.clinical.outcomes import ClinicalError
from hospital_agent.clinical.services import Client
from machine.files import read_file
from shared.errors import InputError, TemporaryError

ALGORITHMS: Final = (
    "ES384",
    "RS384",
    "ES256",
    "RS256",
    "ES512",
    "RS512",
    "PS256",
    "PS384",
    "PS512",
    "Ed25519",
    "EdDSA",
)
LEEWAY_SECONDS: Final = 60
MAX_LIFE_SECONDS: Final = 3600
_MAX_TOKEN_BYTES: Final = 2**14
_MAX_KEYS_BYTES: Final = 2**18
_MAX_JTI: Final = 256
_FRESH_SECONDS: Final = 600
_AGAIN_SECONDS: Final = 30
_RETRY_SECONDS: Final = 5
"""After which a server that gave no keys is asked again."""


@dataclass(slots=True)
class _Keys:
    keys: KeySet
    fetched: int


@dataclass(slots=True)
class Clients:
    """The clients whose tokens are taken. `fetch`: a set of keys from an address. `now`: Unix seconds."""

    clients: Mapping[str, Client]
    ledger: Ledger = field(repr=False)
    fetch: Callable[[str], Mapping[str, Any]] = field(repr=False)
    now: Callable[[], int] = field(repr=False)
    _known: dict[str, _Keys] = field(default_factory=dict, repr=False)
    _failed: dict[str, int] = field(default_factory=dict, repr=False)
    _locks: dict[str, threading.Lock] = field(default_factory=dict, repr=False)

    def check_files(self) -> None:
        """Raises: InputError: a file of keys that cannot be used."""
        for client in self.clients.values():
            if client.jwks is not None:
                self._known[client.iss] = _Keys(_from_file(client), 0)

    def caller_of(self, token: str, audience: str) -> str:
        """The issuer of a good token. Args: audience: the address that was called. Raises: ClinicalError: 401."""
        try:
            return self._checked(token, audience)
        except (JoseError, ValueError, KeyError, TypeError, RecursionError) as error:
            raise refused(f"{type(error).__name__}") from None
        except TemporaryError:
            raise ClinicalError(503, "The client's keys cannot be fetched now.") from None

    def _checked(self, token: str, audience: str) -> str:
        if len(token) > _MAX_TOKEN_BYTES:
            raise refused("it is too long")
        unverified = jws.extract_compact(token.encode())
        header, claims = unverified.headers(), json.loads(unverified.payload)
        client = self.clients.get(claims["iss"]) if isinstance(claims["iss"], str) else None
        if client is None:
            raise refused("iss is no client of this hospital")
        if header.get("alg") not in ALGORITHMS:
            raise refused("alg is none that is taken")
        if "jku" in header and header["jku"] != client.jku:
            raise refused("jku is not the one that the client declared")
        keys = self._keys(client, header.get("kid"))
        verified = jwt.decode(
            token, lambda _: keys.get_by_kid(header.get("kid")), algorithms=list(ALGORITHMS)
        )
        self._check_claims(verified.claims, audience)
        return client.iss

    def _check_claims(self, claims: Mapping[str, Any], audience: str) -> None:
        now, issued, expires, jti = self.now(), claims["iat"], claims["exp"], claims["jti"]
        if claims["aud"] != audience:
            raise refused(f"aud must be exactly {audience}")
        if not all(isinstance(one, int) and not isinstance(one, bool) for one in (issued, expires)):
            raise refused("iat and exp must be whole seconds")
        if expires <= now - LEEWAY_SECONDS:
            raise refused("it has expired")
        if issued > now + LEEWAY_SECONDS or ("nbf" in claims and claims["nbf"] > now + LEEWAY_SECONDS):
            raise refused("it lies in the future")
        if expires - issued > MAX_LIFE_SECONDS or expires > now + MAX_LIFE_SECONDS + LEEWAY_SECONDS:
            raise refused("it lives longer than an hour")
        if not isinstance(jti, str) or not 0 < len(jti) <= _MAX_JTI:
            raise refused("jti must be a text")
        if not self.ledger.use_token(claims["iss"], jti, expires=expires + LEEWAY_SECONDS, now=now):
            raise refused("it was used before (jti)")

    def _keys(self, client: Client, kid: object) -> KeySet:
        if client.jwks is not None:
            known = self._known.get(client.iss)
            return (known or self._known.setdefault(client.iss, _Keys(_from_file(client), 0))).keys
        # A lock of its own: who waits for one client's server must not hold up the others.
        with self._locks.setdefault(client.iss, threading.Lock()):
            known, now = self._known.get(client.iss), self.now()
            if known is not None and now - known.fetched <= (
                _FRESH_SECONDS if _has(known.keys, kid) else _AGAIN_SECONDS
            ):
                return known.keys
            if now - self._failed.get(client.iss, 0) < _RETRY_SECONDS:
                raise TemporaryError("the server of keys gave none a moment ago")
            self._failed[client.iss] = now
            found = _Keys(_public({"keys": list(self.fetch(client.jku or "")["keys"])}), now)
            self._known[client.iss] = found
            del self._failed[client.iss]
            return found.keys


def _has(keys: KeySet, kid: object) -> bool:
    return any(key.kid == kid for key in keys.keys)


def _from_file(client: Client) -> KeySet:
    path = client.jwks
    if path is None:
        raise InputError("no file of keys", where=f"client {client.iss}")
    raw = read_file(path, max_bytes=_MAX_KEYS_BYTES, remedy="Correct jwks of the client.")
    try:
        return _public({"keys": json.loads(raw)["keys"]})
    except (JoseError, ValueError, KeyError, TypeError):
        raise InputError(
            "no set of public keys (JWKS), or a secret key among them",
            where=str(path),
            remedy="Use the set as the client publishes it.",
        ) from None


def _public(document: Any) -> KeySet:
    """A set of keys. Raises: ValueError: one of them is no public one. JoseError: they are no keys."""
    keys = KeySet.import_key_set(document)
    if any(key.is_private or key.key_type == "oct" for key in keys.keys):
        raise ValueError("a secret key")
    return keys


def refused(reason: str) -> ClinicalError:
    """A token that is not taken."""
    return ClinicalError(401, f"The token is not taken: {reason}.")
