"""Shares put together as arrays are; all of it local."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import numpy as np

from shared.mpc.ring import Words
from shared.mpc.sharing import BinaryShare, Share

S = TypeVar("S", Share, BinaryShare)


def joined(parts: Sequence[S], axis: int = 0) -> S:
    """One after the other along an axis."""
    own = np.concatenate([part.own for part in parts], axis=axis)
    return type(parts[0])(own, np.concatenate([part.next for part in parts], axis=axis))


def stacked(parts: Sequence[S]) -> S:
    """Equal shapes along a new first axis."""
    return type(parts[0])(np.stack([part.own for part in parts]), np.stack([part.next for part in parts]))


def filled_rows(parts: Sequence[S], size: int) -> S:
    """One array a row, zeros at the end. Args: parts: of one dtype, shape (at most size,)."""
    own = _filled_rows([part.own for part in parts], size)
    return type(parts[0])(own, _filled_rows([part.next for part in parts], size))


def interleaved(even: S, odd: S) -> S:
    """Row k of each at rows 2k and 2k + 1. Args: shape (k, n)."""
    return type(even)(_interleaved(even.own, odd.own), _interleaved(even.next, odd.next))


def transposed(x: S) -> S:
    """Rows as columns, in memory too."""
    return x.map(lambda part: np.ascontiguousarray(part.T))


def _filled_rows(parts: Sequence[Words], size: int) -> Words:
    rows = np.zeros((len(parts), size), parts[0].dtype)
    for row, part in zip(rows, parts, strict=True):
        row[: part.size] = part
    return rows


def _interleaved(even: Words, odd: Words) -> Words:
    return np.stack([even, odd], axis=1).reshape(-1, even.shape[1])
