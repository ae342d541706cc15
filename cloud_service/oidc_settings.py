"""The section `[oidc]`: sign-in by an identity provider of the consortium (OpenID Connect)."""

from __future__ import annotations

from typing import Annotated, Final, Literal
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, SecretStr, field_validator

from shared.hosts import is_loopback

RoleName = Literal["operator", "coordinator", "steward", "analyst", "auditor"]
CALLBACK_PATH: Final = "/v1/sign-in/oidc/callback"


class OidcSettings(BaseModel):
    """An identity provider, and what its claims mean here. It is trusted to ask for a second factor."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    issuer: str
    """The provider's issuer, exactly as in its tokens: https, or http on this machine only."""
    client_id: Annotated[str, Field(min_length=1, max_length=200)]
    """As the provider has registered this cloud."""
    client_secret: SecretStr
    """The same; better in a secret file or the environment."""
    public_url: str
    """Under which browsers reach this cloud; the provider must allow its `/v1/sign-in/oidc/callback`."""
    scope: Annotated[str, Field(pattern=r"^openid( [!#-\[\]-~]+)*$")] = "openid profile"
    """What is asked of the provider; begins with openid."""
    name_claim: Annotated[str, Field(min_length=1)] = "sub"
    """Whose value names the person in logs; must be unique and lasting at the provider."""
    roles_claim: Annotated[str, Field(min_length=1)] = "groups"
    """A list, or one word, from which roles follow."""
    roles: Annotated[dict[str, list[RoleName]], Field(min_length=1)]
    """For each value of that claim the roles it stands for; nobody without one is let in."""
    hospital_claim: Annotated[str, Field(min_length=1)] = "hospital"
    """The id of the hospital that a steward speaks for."""

    @field_validator("issuer", "public_url")
    @classmethod
    def _safe_url(cls, url: str) -> str:
        parts = urlsplit(url)
        is_near = parts.scheme == "http" and is_loopback(parts.hostname or "")
        if (
            parts.hostname is None
            or not (parts.scheme == "https" or is_near)
            or parts.query
            or parts.fragment
        ):
            raise ValueError("expected https://HOST (http:// on this machine only), without a query")
        return url

    @property
    def callback(self) -> str:
        """Where the provider sends browsers back to."""
        return self.public_url.rstrip("/") + CALLBACK_PATH
