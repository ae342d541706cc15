"""A `CountCipher` of a key holder, with an optional pool of worker processes.

The caller owns the pool: it starts one with `prepare_worker` as initializer and `pool_secrets` as its
arguments, and passes its `map`. Processes and not threads, because the table loop of an encryption holds the
interpreter lock.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol, TypeVar

from shared.crypto.integers import from_bytes
from shared.crypto.obfuscators import Encryptor
from shared.crypto.paillier import PublicKey
from shared.crypto.paillier_private import PrivateKey
from shared.errors import InternalError
from shared.rng import RandomBelow, random_below

Item = TypeVar("Item")
Result = TypeVar("Result")

MIN_CHUNK: Final = 8
"""Fewer items than this for each worker are done here: sending them out costs more."""
USUAL_ENCRYPTIONS: Final = 100
"""A job of some ten rounds with ten ciphertexts each."""


class Map(Protocol):
    """`concurrent.futures.Executor.map`, or anything with its order and meaning."""

    def __call__(self, function: Callable[[Item], Result], items: Iterable[Item], /) -> Iterator[Result]:
        """Apply `function` to every item; results in the order of the items."""


@dataclass(slots=True)
class KeyHolder:
    """Encrypts and decrypts packed counts for one agent.

    map: a pool's map, or None to work in this process. workers: how many chunks a batch is cut into.
    """

    private: PrivateKey
    map: Map | None = field(default=None, repr=False)
    workers: int = 1
    below: RandomBelow = field(default=random_below, repr=False)
    _encryptor: Encryptor = field(init=False, repr=False)

    def __post_init__(self) -> None:
        # Tables for an ordinary job belong to loading the key; a large batch builds larger ones itself.
        self._encryptor = Encryptor(self.private, self.below)
        self._encryptor.prepare(USUAL_ENCRYPTIONS)

    @property
    def public(self) -> PublicKey:
        """The key under which it works."""
        return self.private.public

    def encrypt(self, plaintexts: Sequence[int]) -> list[bytes]:
        """Fresh ciphertexts, same order."""
        if self.map is None or len(plaintexts) < MIN_CHUNK * self.workers:
            return self._encryptor.encrypt_many(plaintexts)
        return _joined(self.map(encrypt_chunk, _chunks(plaintexts, self.workers)))

    def decrypt(self, ciphertexts: Sequence[bytes]) -> list[int]:
        """Plaintexts in [0, n), same order; the ciphertexts were validated before."""
        if self.map is None or len(ciphertexts) < MIN_CHUNK * self.workers:
            return self.private.decrypt_many(map(from_bytes, ciphertexts))
        return _joined(self.map(decrypt_chunk, _chunks(ciphertexts, self.workers)))

    def decrypt_small(self, ciphertexts: Sequence[bytes]) -> list[int]:
        """Signed plaintexts below 2^(bits/2 - 2), same order; meaningless for greater ones."""
        return self.private.decrypt_small(map(from_bytes, ciphertexts))

    def all_zero(self, ciphertexts: Sequence[int]) -> bool:
        """Whether all of these valid ciphertexts encrypt 0."""
        return self.private.all_zero(ciphertexts, self.below)


_worker: Encryptor | None = None


def pool_secrets(private: PrivateKey) -> tuple[int, int]:
    """Arguments of `prepare_worker`: the factors, for processes of one's own only."""
    return private.p, private.q


def prepare_worker(p: int, q: int) -> None:
    """Initializer of a worker process: holds the key, and tables once they pay."""
    global _worker  # one key for the life of a worker process
    _worker = Encryptor(PrivateKey(p, q))


def encrypt_chunk(plaintexts: Sequence[int]) -> list[bytes]:
    """In a worker: `Encryptor.encrypt_many`."""
    return _prepared().encrypt_many(plaintexts)


def decrypt_chunk(ciphertexts: Sequence[bytes]) -> list[int]:
    """In a worker: plaintexts of valid ciphertexts."""
    return _prepared().private.decrypt_many(map(from_bytes, ciphertexts))


def _prepared() -> Encryptor:
    if _worker is None:
        raise InternalError("a worker process without a key: start the pool with prepare_worker")
    return _worker


def _chunks(items: Sequence[Item], count: int) -> list[Sequence[Item]]:
    size = -(-len(items) // count)
    return [items[start : start + size] for start in range(0, len(items), size)]


def _joined(chunks: Iterable[list[Result]]) -> list[Result]:
    return [item for chunk in chunks for item in chunk]
