"""Signing in by an identity provider: OpenID Connect's authorization code flow with PKCE, state and nonce.

- The browser that began a sign-in has a cookie; only it may end that sign-in, once, within ten minutes. The database
  keeps hashes of state and cookie, so any replica can end what another began.
- Nonce and code verifier follow from the state and a key of the cloud, so they need no keeping.
- The ID token must be signed by a key of the provider with an algorithm of public keys, name this issuer, this client
  and this nonce, and be in time. Claims give roles; who has none is not let in.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from authlib.common.urls import add_params_to_uri
from authlib.oauth2.rfc7636 import create_s256_code_challenge
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import KeySet

from cloud_service.oidc_settings import OidcSettings
from cloud_service.service import people_log
from cloud_service.service.attempts import Attempts
from cloud_service.service.permissions import check_scopes
from cloud_service.service.provider import Provider
from cloud_service.service.refusals import ForbiddenError, NotSignedInError
from cloud_service.service.sessions import Sessions, SignedIn
from cloud_service.service.tokens import digest
from cloud_service.store import people
from cloud_service.store.database import Database
from shared.crypto.identity import IdentityKey
from shared.errors import InputError
from shared.rng import random_token
from shared.wire.base import encode_base64url

GOOD_SECONDS: Final = 600
"""How long a sign-in may take at the provider."""
ALGORITHMS: Final = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
"""Of public keys only: with `none` or HMAC whoever knows the public key could sign."""
PREFIX: Final = "oidc:"
"""Before the names of people of the provider, which so never meet those of local accounts."""
_LEEWAY_SECONDS: Final = 60
_MAX_NAME: Final = 200
_INFO: Final = b"privet people oidc v1"
_REFUSAL: Final = "the sign-in by the identity provider did not verify; begin again at /v1/sign-in/oidc"


@dataclass(frozen=True, slots=True)
class Departure:
    """Where the browser goes, and the cookie by which it will be known."""

    url: str
    browser: str


class OidcSignIn:
    """Begin and finish."""

    def __init__(
        self,
        settings: OidcSettings,
        identity: IdentityKey,
        database: Database,
        attempts: Attempts,
        sessions: Sessions,
        clock: Callable[[], int],
    ) -> None:
        self.settings = settings
        self._key = HKDF(algorithm=SHA256(), length=32, salt=None, info=_INFO).derive(identity.to_raw())
        self._database, self._attempts, self._sessions, self._clock = database, attempts, sessions, clock
        self._provider = Provider(settings)

    def begin(self, address: str) -> Departure:
        """Send a browser to the provider. Raises: RateLimitedError. ProviderError."""
        self._attempts.begin(None, address)
        state, browser, now = random_token(), random_token(), self._clock()
        parameters = [
            ("response_type", "code"),
            ("client_id", self.settings.client_id),
            ("redirect_uri", self.settings.callback),
            ("scope", self.settings.scope),
            ("state", state),
            ("nonce", self._derived("nonce", state)),
            ("code_challenge", create_s256_code_challenge(self._derived("verifier", state))),
            ("code_challenge_method", "S256"),
        ]
        url = add_params_to_uri(self._provider.endpoint("authorization_endpoint"), parameters)
        with self._database.write() as connection:
            people.add_state(connection, digest(state), digest(browser), now, oldest=now - GOOD_SECONDS)
        return Departure(str(url), browser)

    def finish(self, state: str, code: str, issuer: str | None, browser: str, address: str) -> SignedIn:
        """A session for whom the provider has let in.

        Args: issuer: as the provider may name itself in the answer (RFC 9207). browser: the cookie.
        Raises: NotSignedInError: anything that does not verify. ForbiddenError: no role here. ProviderError.
        """
        oldest = self._clock() - GOOD_SECONDS
        with self._database.write() as connection:
            is_known = people.take_state(connection, digest(state), digest(browser), oldest=oldest)
        if not is_known:  # nobody's sign-in, and anybody can ask so without end: no record
            raise NotSignedInError(_REFUSAL)
        if not code or issuer not in (None, self.settings.issuer):
            raise self._refused()
        token = self._provider.redeem(code, self._derived("verifier", state))
        if token is None:
            raise self._refused()
        claims = self._verified(token, self._derived("nonce", state))
        name, scopes, hospital = self._meaning(claims)
        with self._database.write() as connection:
            self._attempts.forgive(connection, None, address)
            signed_in = self._sessions.open(connection, name, scopes, hospital)
            people_log.record(connection, name, "signed_in", name, self._clock(), scopes=scopes)
        return signed_in

    def _verified(self, token: str, nonce: str) -> Mapping[str, Any]:
        """The claims of an ID token. Raises: NotSignedInError."""
        rules = jwt.JWTClaimsRegistry(
            self._clock,
            _LEEWAY_SECONDS,
            iss={"essential": True, "value": self.settings.issuer},
            aud={"essential": True, "value": self.settings.client_id},
            sub={"essential": True},
            exp={"essential": True},
            iat={"essential": True},
            nonce={"essential": True, "value": nonce},
        )
        try:
            claims = self._signed(token).claims
            rules.validate(claims)
        except (JoseError, ValueError, TypeError):
            raise self._refused() from None
        if claims.get("azp", self.settings.client_id) != self.settings.client_id:
            raise self._refused()
        return claims

    def _signed(self, token: str) -> jwt.Token:
        """Raises: JoseError, ValueError: not signed by a key of the provider."""
        try:
            return _decode(token, self._provider.keys())
        except (JoseError, ValueError):
            return _decode(token, self._provider.keys(fresh=True))

    def _meaning(self, claims: Mapping[str, Any]) -> tuple[str, str, str | None]:
        """Name, roles and hospital. Raises: ForbiddenError."""
        name, listed = claims.get(self.settings.name_claim), claims.get(self.settings.roles_claim, [])
        values = [listed] if isinstance(listed, str) else listed if isinstance(listed, list) else []
        roles = {role for value in values for role in self.settings.roles.get(str(value), [])}
        hospital = claims.get(self.settings.hospital_claim) if "steward" in roles else None
        if not isinstance(name, str) or not 0 < len(name) <= _MAX_NAME or not roles:
            raise self._barred("the identity provider gives you no role here; ask the operator of this cloud")
        try:
            check_scopes(roles, hospital if isinstance(hospital, str) else None)
        except InputError as error:
            raise self._barred(
                f"the roles that the identity provider gives you do not fit here: {error}"
            ) from None
        return PREFIX + name, " ".join(sorted(roles)), hospital

    def _refused(self) -> NotSignedInError:
        self._note("sign_in_refused")
        return NotSignedInError(_REFUSAL)

    def _barred(self, why: str) -> ForbiddenError:
        self._note("sign_in_barred")
        return ForbiddenError(why)

    def _note(self, act: str) -> None:
        with self._database.write() as connection:
            people_log.record(connection, people_log.UNKNOWN, act, "by the identity provider", self._clock())

    def _derived(self, what: str, state: str) -> str:
        return encode_base64url(
            hmac.digest(self._key, f"{what} {state}".encode("utf-8", "replace"), "sha256")
        )


def _decode(token: str, keys: KeySet) -> jwt.Token:
    return jwt.decode(token, keys, algorithms=list(ALGORITHMS))
