"""Passwords of people: what is a good one, and argon2id over it.

Parameters: RFC 9106's second recommendation, 64 MiB, 3 passes, 4 lanes, with 16 bytes of salt and 32 of hash; that is
some 0.1 s of work. A stored hash names its own, so stronger ones take over at the next sign-in.
"""

from __future__ import annotations

import unicodedata
from functools import lru_cache
from typing import Final

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError
from argon2.profiles import RFC_9106_LOW_MEMORY

from shared.errors import InputError
from shared.rng import random_token

MIN_CHARACTERS: Final = 12
MAX_CHARACTERS: Final = 256
"""More is more work for us than for whoever sends it."""
_MIN_DIFFERENT: Final = 5
_HASHER: Final = PasswordHasher.from_parameters(RFC_9106_LOW_MEMORY)
_COMMONEST: Final = (
    "password",
    "passw0rd",
    "p@ssword",
    "p@ssw0rd",
    "123456789",
    "987654321",
    "1q2w3e4r5t",
    "qwertyuiop",
    "qwertzuiop",
    "asdfghjkl",
    "iloveyou",
    "letmein",
    "changeme",
    "welcome",
    "administrator",
    "football",
    "sunshine",
    "princess",
    "abcdefgh",
    "hospital",
    "trustno1",
    "privet",
)
"""What the commonest passwords are made of; one of these with a few characters around it is guessed at once."""
_MIN_AROUND: Final = 6


def check_password(password: str, name: str) -> None:
    """Whether it may be somebody's password.

    Raises: InputError: too short, too long, of few different characters, the person's name, or among the commonest.
    """
    text = _normal(password)
    folded = text.casefold()
    if not MIN_CHARACTERS <= len(text) <= MAX_CHARACTERS:
        fault = f"a password has {MIN_CHARACTERS} to {MAX_CHARACTERS} characters"
    elif len(set(folded)) < _MIN_DIFFERENT:
        fault = f"a password has at least {_MIN_DIFFERENT} different characters"
    elif _little_but(name, folded):
        fault = "a password is not the person's name"
    elif any(_little_but(common, folded) for common in _COMMONEST):
        fault = "this is one of the commonest passwords"
    else:
        return
    raise InputError(fault, where="password", remedy="Choose another: four words in a row make a good one.")


def _little_but(word: str, text: str) -> bool:
    return word in text and len("".join(text.replace(word, "").split())) < _MIN_AROUND


def hash_password(password: str) -> str:
    """What is kept of it."""
    return _HASHER.hash(_normal(password))


def is_password(kept: str | None, password: str) -> bool:
    """Whether it is the password of which `kept` is kept; without one the same work is done in vain."""
    try:
        _HASHER.verify(kept or _nobodys(), _normal(password))
    except (VerificationError, InvalidHashError):
        return False
    return kept is not None


def is_outdated(kept: str) -> bool:
    """Whether a hash was made with parameters of before."""
    return _HASHER.check_needs_rehash(kept)


@lru_cache(maxsize=1)
def _nobodys() -> str:
    return _HASHER.hash(random_token())


def _normal(password: str) -> str:
    """One form of characters that keyboards write in several."""
    return unicodedata.normalize("NFKC", password)
