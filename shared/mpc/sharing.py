"""Replicated shares of arrays: what a party holds, what can be done without a message, and splitting.

x = x_0 + x_1 + x_2 (arithmetic) or x_0 ^ x_1 ^ x_2 (binary); party i holds parts i and i+1 (protocol section 9).
A share's text shows shape and ring only. Putting parts together again is `shared.mpc.opening`'s business, and
`shared.secure_tree.sealed_result`'s for those who are given all three on purpose: result parties.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Self

import numpy as np
from numpy.typing import DTypeLike

from shared.mpc.ring import ARITHMETIC_DTYPES, BINARY_DTYPES, U32, U64, Words
from shared.rng import RandomBytes

PARTIES: Final = 3


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class _Parts:
    """Parts i and i+1 of an array, of one shape and dtype."""

    own: Words
    next: Words

    def __post_init__(self) -> None:
        if self.own.shape != self.next.shape or self.own.dtype != self.next.dtype:
            raise ValueError("both parts of a share have one shape and one dtype")

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the shared array."""
        return self.own.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """Word type of the shared array."""
        return self.own.dtype

    def __len__(self) -> int:
        return len(self.own)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(shape={self.shape}, dtype={self.dtype})"

    def map(self, local: Callable[[Words], Words]) -> Self:
        """The share of `local(x)` for a function that is linear in the sharing's sense (sums, gathers, views)."""
        return type(self)(local(self.own), local(self.next))

    def __getitem__(self, index: Any) -> Self:
        return type(self)(np.asarray(self.own[index]), np.asarray(self.next[index]))

    def reshape(self, *shape: int) -> Self:
        """The same elements in another shape."""
        return type(self)(self.own.reshape(shape), self.next.reshape(shape))


class Share(_Parts):
    """Additive replicated share of an array over Z_2^32 (uint32) or Z_2^64 (uint64)."""

    __slots__ = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.own.dtype not in ARITHMETIC_DTYPES:
            raise ValueError(f"an arithmetic share has uint32 or uint64 words, not {self.own.dtype}")

    def __add__(self, other: Share) -> Share:
        return Share(self.own + other.own, self.next + other.next)

    def __sub__(self, other: Share) -> Share:
        return Share(self.own - other.own, self.next - other.next)

    def __neg__(self) -> Share:
        return Share(np.negative(self.own), np.negative(self.next))

    def times(self, factor: Words | int) -> Share:
        """The share of x * factor for a public factor (an int is taken modulo the ring)."""
        if isinstance(factor, int):
            factor = np.array(factor % 2 ** (8 * self.dtype.itemsize), self.dtype)
        return Share(self.own * factor, self.next * factor)

    def sum(self, axis: int | None = None) -> Share:
        """Sum over an axis (all elements by default), in the ring."""
        return Share(
            np.asarray(self.own.sum(axis=axis, dtype=self.dtype)),
            np.asarray(self.next.sum(axis=axis, dtype=self.dtype)),
        )

    def cumsum(self, axis: int = 0) -> Share:
        """Running sum along an axis, in the ring; entry i includes element i."""
        return self.map(lambda part: np.cumsum(part, axis=axis, dtype=part.dtype))

    def to_ring32(self) -> Share:
        """The same value modulo 2^32: reducing a ring is local."""
        return self if self.dtype == U32 else self.map(lambda part: part.astype(U32))


class BinaryShare(_Parts):
    """XOR replicated share of an array of unsigned words (8, 16, 32 or 64 bits each)."""

    __slots__ = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.own.dtype not in BINARY_DTYPES:
            raise ValueError(f"a binary share has unsigned words, not {self.own.dtype}")

    def __xor__(self, other: BinaryShare) -> BinaryShare:
        return BinaryShare(self.own ^ other.own, self.next ^ other.next)

    def masked(self, public: Words | int) -> BinaryShare:
        """The share of x AND a public word."""
        return self.map(
            lambda part: part & part.dtype.type(public) if isinstance(public, int) else part & public
        )

    def bit(self, position: int) -> BinaryShare:
        """Bit `position` of every word, as words 0 or 1 of the same type; 0 is the lowest."""
        return self.map(lambda part: (part >> part.dtype.type(position)) & part.dtype.type(1))


def parts_of(values: Words, random_bytes: RandomBytes) -> tuple[Words, Words, Words]:
    """Three additive parts of an array of uint32 or uint64; parts 0 and 1 are uniform, part 2 completes the sum."""
    first, second = (_uniform(values, random_bytes) for _ in range(2))
    return first, second, values - first - second


def binary_parts_of(values: Words, random_bytes: RandomBytes) -> tuple[Words, Words, Words]:
    """Three XOR parts of an array of unsigned words; parts 0 and 1 are uniform."""
    first, second = (_uniform(values, random_bytes) for _ in range(2))
    return first, second, values ^ first ^ second


def _uniform(like: Words, random_bytes: RandomBytes) -> Words:
    return np.frombuffer(random_bytes(like.nbytes), like.dtype).reshape(like.shape)


def split(values: Words, random_bytes: RandomBytes) -> tuple[Share, Share, Share]:
    """The three parties' shares of an array of uint32 or uint64, in order of the parties."""
    x0, x1, x2 = parts_of(values, random_bytes)
    return Share(x0, x1), Share(x1, x2), Share(x2, x0)


def split_binary(values: Words, random_bytes: RandomBytes) -> tuple[BinaryShare, BinaryShare, BinaryShare]:
    """The three parties' XOR shares of an array of unsigned words, in order of the parties."""
    x0, x1, x2 = binary_parts_of(values, random_bytes)
    return BinaryShare(x0, x1), BinaryShare(x1, x2), BinaryShare(x2, x0)


def public_share(
    index: int, values: Words | int, dtype: DTypeLike = U64, shape: tuple[int, ...] = ()
) -> Share:
    """A public array as a share that all parties can form: part 0 is the value, the others are zero.

    Args: index: this party, 0 to 2. values: words, or one integer taken modulo the ring and spread over `shape`.
    """
    if isinstance(values, int):
        values = np.full(shape, values % 2 ** (8 * np.dtype(dtype).itemsize), dtype)
    zeros = np.zeros_like(values)
    return Share(values if index == 0 else zeros, values if index == PARTIES - 1 else zeros)


def public_binary_share(index: int, values: Words) -> BinaryShare:
    """The same for XOR sharing."""
    zeros = np.zeros_like(values)
    return BinaryShare(values if index == 0 else zeros, values if index == PARTIES - 1 else zeros)


def concatenate(shares: list[Share]) -> Share:
    """Shares one after the other along the first axis."""
    return Share(np.concatenate([s.own for s in shares]), np.concatenate([s.next for s in shares]))


def concatenate_binary(shares: list[BinaryShare]) -> BinaryShare:
    """XOR shares one after the other along the first axis."""
    return BinaryShare(np.concatenate([s.own for s in shares]), np.concatenate([s.next for s in shares]))
