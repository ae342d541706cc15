"""The merger's key on disk: the public half for hospitals, the private half under a passphrase or as it is."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from machine.files import read_file
from machine.terminal import new_passphrase, passphrase
from shared.errors import InputError, PeerError

if TYPE_CHECKING:
    from shared.wire.contract_sealed import MergerKey, MergerSecret

VARIABLE: Final = "PRIVET_MERGER_PASSPHRASE"
_NAME: Final = "privet-merger-secret"
_PUBLIC: Final = "Name the file KEY.pub that privet data merger-key wrote."
_PRIVATE: Final = "Name the private key that privet data merger-key wrote."

Key = Annotated[
    Path | None,
    typer.Option("--key", metavar="KEY", help="With --sealed: the private key of privet data merger-key."),
]


def passphrase_for_new(*, asked_for: bool) -> str | None:
    """For a new key: from the environment or, where one is asked for, from the terminal; None without.

    Raises: InputError: too short, or nobody to ask.
    """
    return new_passphrase(VARIABLE, "Choose a passphrase for the merger's key", asked_for=asked_for)


def secret_file(secret: MergerSecret, passphrase: str | None) -> bytes:
    """What is written to disk."""
    from shared.crypto.passphrase import protect

    plain = secret.model_dump_json(indent=1).encode() + b"\n"
    return plain if passphrase is None else protect(plain, passphrase, name=_NAME)


def read_secret(path: Path) -> MergerSecret:
    """The private key of a file. Raises: InputError: it is none, or the passphrase is another."""
    from shared.crypto.passphrase import is_protected, unprotect
    from shared.wire.contract_sealed import MAX_KEY_BYTES, MergerSecret

    raw = read_file(path, max_bytes=MAX_KEY_BYTES, remedy=_PRIVATE)
    if is_protected(raw):
        raw = unprotect(raw, passphrase(VARIABLE, "Passphrase of the merger's key"), name=_NAME)
    try:
        return MergerSecret.parse(raw, what=path.name, max_bytes=MAX_KEY_BYTES)
    except PeerError as error:
        raise InputError(str(error), where=str(path), remedy=_PRIVATE) from None


def read_key(path: Path) -> MergerKey:
    """The public key of a file. Raises: InputError: it is none."""
    from shared.wire.contract_sealed import MAX_KEY_BYTES, MergerKey

    raw = read_file(path, max_bytes=MAX_KEY_BYTES, remedy=_PUBLIC)
    try:
        return MergerKey.parse(raw, what=path.name, max_bytes=MAX_KEY_BYTES)
    except PeerError as error:
        raise InputError(str(error), where=str(path), remedy=_PUBLIC) from None
