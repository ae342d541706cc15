"""A compute party's view of mode G says nothing of the records: a two-sample test, and a broken variant fails it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from shared.mpc import permutation
from shared.mpc.program import Round
from shared.mpc.prss import Stream
from shared.mpc.sharing import PARTIES
from shared.tree.gain_ratio_growing import GainRatioRules
from tests.support.numeric_samples import NumericSample
from tests.support.secret_gain_ratio import train

Bins = dict[int, NDArray[np.int64]]
"""By round, how often each of the 16 values of four bits came."""

RULES = GainRatioRules(height=2, min_node=3, min_child=2, grid=(2, 0))
WIDTHS = (4, 3)
RUNS = 25

SPLITTING = NumericSample(
    np.array([range(12), [0, 1, 2, 3, 4, 5, 5, 4, 3, 2, 1, 0]], np.uint32), np.array([0, 1] * 3 + [1] * 6), 2
)
FLAT = NumericSample(np.full((2, 12), 7, np.uint32), np.zeros(12, np.int64), 2)


def test_views_do_not_tell_two_inputs_apart() -> None:
    for one, other in zip(views(SPLITTING, 0), views(FLAT, 10**6), strict=True):
        assert abs(distance(one, other)) < 5


def test_the_same_test_tells_them_apart_without_masks(monkeypatch: pytest.MonkeyPatch) -> None:
    """With streams of zeros and shuffles that move nothing, the very same messages carry numbers and positions."""
    monkeypatch.setattr(Stream, "words", lambda self, shape, dtype: np.zeros(shape, dtype))
    monkeypatch.setattr(permutation, "draw_permutation", lambda stream, size: np.arange(size))
    for one, other in zip(views(SPLITTING, 0), views(FLAT, 10**6), strict=True):
        assert distance(one, other) > 50


def distance(one: Bins, other: Bins) -> float:
    """How many standard deviations the two-sample chi-square statistic lies over its mean."""
    statistic, free = 0.0, 0
    for number, first in one.items():
        second = other[number]
        both = first + second
        if both.min() >= 10:
            statistic += float(np.sum((first - second) ** 2 / both))
            free += both.size - 1
    return float((statistic - free) / np.sqrt(2 * free))


def views(sample: NumericSample, base: int) -> list[Bins]:
    """For each party the words that it receives in runs of different seeds."""
    found: list[Bins] = [{} for _ in range(PARTIES)]

    def tap(number: int, sender: int, sent: Round) -> Round:
        for arrays, receiver in ((sent.to_previous, sender - 1), (sent.to_next, sender + 1)):
            for words in arrays:
                bins = found[receiver % PARTIES].setdefault(number, np.zeros(16, np.int64))
                bins += nibbles(words)
        return sent

    for run in range(RUNS):
        train(sample, RULES, widths=WIDTHS, seed=base + 3 * run, tap=tap)
    return found


def nibbles(words: Any) -> NDArray[np.int64]:
    octets = np.ascontiguousarray(words).view(np.uint8).reshape(-1)
    return np.bincount(octets & 15, minlength=16) + np.bincount(octets >> 4, minlength=16)
