"""A compute party's view of mode G says nothing of the records: a two-sample test, and a broken variant fails it."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest

from shared.mpc import permutation
from shared.mpc.program import Round
from shared.mpc.prss import Stream
from shared.mpc.sharing import PARTIES
from shared.tree.gain_ratio_growing import GainRatioRules
from tests.support.numeric_samples import NumericSample
from tests.support.secret_gain_ratio import train

Bins = Counter[tuple[int, int]]

RULES = GainRatioRules(height=2, min_node=3, min_child=2, grid=(2, 0))
WIDTHS = (4, 3)
RUNS = 25

SPLITTING = NumericSample(
    np.array([range(12), [0, 1, 2, 3, 4, 5, 5, 4, 3, 2, 1, 0]], np.uint32), np.array([0, 1] * 3 + [1] * 6), 2
)
FLAT = NumericSample(np.full((2, 12), 7, np.uint32), np.zeros(12, np.int64), 2)


def test_views_do_not_tell_two_inputs_apart() -> None:
    for one, other in zip(views(SPLITTING), views(FLAT), strict=True):
        assert distance(one, other) < 5


def test_the_same_test_tells_them_apart_without_masks(monkeypatch: pytest.MonkeyPatch) -> None:
    """With streams of zeros and shuffles that move nothing, the very same messages carry numbers and positions."""
    monkeypatch.setattr(Stream, "words", lambda self, shape, dtype: np.zeros(shape, dtype))
    monkeypatch.setattr(permutation, "draw_permutation", lambda stream, size: np.arange(size))
    distances = [distance(one, other) for one, other in zip(views(SPLITTING), views(FLAT), strict=True)]
    assert min(distances) > 20


def distance(one: Bins, other: Bins) -> float:
    """How many standard deviations the two-sample chi-square statistic lies over its mean."""
    statistic, cells = 0.0, 0
    for cell in one.keys() | other.keys():
        both = one[cell] + other[cell]
        if both >= 10:
            statistic += (one[cell] - other[cell]) ** 2 / both
            cells += 1
    free = max(1, cells - len({place for place, _ in one}))
    return float((statistic - free) / np.sqrt(2 * free))


def views(sample: NumericSample) -> list[Bins]:
    """For each party the words that it receives, by round and by four of their bits."""
    found: list[Bins] = [Counter() for _ in range(PARTIES)]

    def tap(number: int, sender: int, sent: Round) -> Round:
        for arrays, receiver in ((sent.to_previous, sender - 1), (sent.to_next, sender + 1)):
            for words in arrays:
                found[receiver % PARTIES].update((number, value) for value in nibbles(words))
        return sent

    for run in range(RUNS):
        train(sample, RULES, widths=WIDTHS, seed=3 * run, tap=tap)
    return found


def nibbles(words: Any) -> list[int]:
    octets = np.ascontiguousarray(words).view(np.uint8).reshape(-1)
    return np.concatenate([octets & 15, octets >> 4]).tolist()  # type: ignore[no-any-return]
