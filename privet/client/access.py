"""Where a cloud is and by what token it is asked: given, or from the environment."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Self

import httpx

from shared.errors import InputError
from shared.hosts import is_loopback

URL: Final = "PRIVET_CLOUD_URL"
TOKEN: Final = "PRIVET_TOKEN"  # noqa: S105 - the name of a variable
TOKEN_FILE: Final = "PRIVET_TOKEN_FILE"  # noqa: S105
CA_FILE: Final = "PRIVET_CA_FILE"


@dataclass(frozen=True, slots=True)
class Access:
    """A checked address with a token.

    `token`: None for somebody who is to sign in. `ca_file`: PEM, for a private certificate authority.
    """

    url: str
    token: str | None = field(repr=False)
    ca_file: Path | None = None

    def __post_init__(self) -> None:
        """Refuse an address that would show the token on the way. Raises: InputError."""
        try:
            address = httpx.URL(self.url)
        except (httpx.InvalidURL, TypeError):
            raise _no_address(self.url) from None
        if address.scheme not in ("http", "https") or not address.host:
            raise _no_address(self.url)
        if address.userinfo or address.query or address.fragment:
            raise InputError(
                "expected no name, password, question or fragment in it",
                where="url",
                remedy="Give the address alone, and the token apart from it.",
            )
        if address.scheme == "http" and not is_loopback(address.host):
            raise InputError(
                "http would show the token to the network",
                where="url",
                remedy="Use https://; plain http is for this machine only.",
            )
        if self.token is not None and not _is_word(self.token):
            raise InputError(
                "expected a token, one word of printable ASCII",
                where="token",
                remedy=f"Set {TOKEN}, or {TOKEN_FILE} to a file with the token alone in it.",
            )

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] | None = None) -> Self:
        """By PRIVET_CLOUD_URL, PRIVET_TOKEN or PRIVET_TOKEN_FILE, and PRIVET_CA_FILE where one is needed.

        Raises: InputError: one is missing, or the file cannot be read.
        """
        given = os.environ if environment is None else environment
        if not given.get(URL):
            raise InputError(
                "it is not set", where=URL, remedy="Set it to the cloud's address, as https://cloud.example."
            )
        ca_file = given.get(CA_FILE)
        return cls(given[URL], _token(given), Path(ca_file) if ca_file else None)


def _is_word(text: str) -> bool:
    return text != "" and text.isascii() and text.isprintable() and " " not in text


def _token(given: Mapping[str, str]) -> str:
    if given.get(TOKEN):
        return given[TOKEN]
    path = given.get(TOKEN_FILE)
    if not path:
        raise InputError(
            f"neither it nor {TOKEN_FILE} is set",
            where=TOKEN,
            remedy="An operator makes a token with `privet cloud token create`.",
        )
    try:
        return Path(path).read_text(encoding="utf-8").strip()
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not text"
        raise InputError(
            reason or "cannot be read", where=f"{TOKEN_FILE} {path}", remedy="Name a file with a token in it."
        ) from None


def _no_address(url: object) -> InputError:
    return InputError(
        f"expected an address such as https://cloud.example, got {str(url)[:200]!r}", where="url", remedy=""
    )
