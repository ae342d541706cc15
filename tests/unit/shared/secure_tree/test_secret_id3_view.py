"""What a compute party sees in mode I: sizes that follow from the tree, and words that say nothing of the records."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest

from shared.mpc.program import Round
from shared.mpc.prss import Stream
from shared.mpc.sharing import PARTIES
from shared.tree.growth_rules import GrowthRules
from tests.support.tree_strategies import make_schema
from tests.unit.shared.secure_tree.test_secret_id3 import PLAIN, in_secret

Rows = list[tuple[int, ...]]
Bins = Counter[tuple[int, int]]

SCHEMA = make_schema((2, 3), 2)
CLEAR: Rows = [(0, 0, 0)] * 2 + [(0, 1, 0), (0, 2, 0)] + [(1, 0, 1)] * 2 + [(1, 1, 1), (1, 2, 1)] * 3
ROUGH: Rows = [(0, 2, 0)] * 8 + [(1, 2, 1)] * 3 + [(1, 0, 1)]
ONE_LEAF = GrowthRules(min_node=100, min_child=1, max_depth=2)


def test_two_inputs_of_one_tree_send_the_same_sizes_in_the_same_order() -> None:
    assert len(CLEAR) == len(ROUGH)
    for rules in (PLAIN, GrowthRules(min_node=2, min_child=2, max_depth=3)):
        runs = [in_secret(SCHEMA, rows, rules, open_empty=True) for rows in (CLEAR, ROUGH)]
        assert runs[0].results[0].canonical() == runs[1].results[0].canonical()
        assert runs[0].sent_bytes == runs[1].sent_bytes
        assert runs[0].meters[0].by_phase == runs[1].meters[0].by_phase
        assert runs[0].meters[0].opened == runs[1].meters[0].opened


def test_until_the_root_is_decided_sizes_do_not_depend_on_the_records() -> None:
    inputs = (CLEAR, ROUGH, [(0, 0, 0)] * len(CLEAR))
    runs = [in_secret(SCHEMA, rows, PLAIN) for rows in inputs]
    until_opened = min(run.rounds for run in runs) - 1
    assert runs[0].sent_bytes[:until_opened] == runs[1].sent_bytes[:until_opened]
    assert runs[0].sent_bytes[:until_opened] == runs[2].sent_bytes[:until_opened]


def test_a_view_does_not_tell_two_inputs_apart() -> None:
    """Chi-square of the words each party receives, over rounds, for inputs that could hardly differ more."""
    for party in range(PARTIES):
        assert distance(party, ROUGH, [(0, 0, 0)] * 8 + [(0, 0, 1)] * 4) < 5


def test_the_same_test_tells_them_apart_without_masks(monkeypatch: pytest.MonkeyPatch) -> None:
    """With streams of zeros the very same messages carry the numbers themselves."""
    monkeypatch.setattr(Stream, "words", lambda self, shape, dtype: np.zeros(shape, dtype))
    for party in (1, 2):
        assert distance(party, ROUGH, [(0, 0, 0)] * 8 + [(0, 0, 1)] * 4) > 10


def distance(party: int, first: Rows, second: Rows, runs: int = 25) -> float:
    """How many standard deviations the two-sample chi-square statistic lies over its mean."""
    one, other = view(party, first, runs), view(party, second, runs)
    statistic, cells = 0.0, 0
    for cell in one.keys() | other.keys():
        both = one[cell] + other[cell]
        if both >= 10:
            statistic += (one[cell] - other[cell]) ** 2 / both
            cells += 1
    free = max(1, cells - len({place for place, _ in one}))
    return float((statistic - free) / np.sqrt(2 * free))


def view(party: int, rows: Rows, runs: int) -> Bins:
    """Words that a party receives, by round and by four of their bits.

    The tree is one leaf of class 0 for both inputs, so even what is opened is the same. Hashes are left out: without
    masks they are of equal words.
    """
    found: Bins = Counter()
    for run in range(runs):

        def tap(number: int, sender: int, sent: Round) -> Round:
            for arrays, receiver in ((sent.to_previous, sender - 1), (sent.to_next, sender + 1)):
                if receiver % PARTIES == party:
                    for words in arrays:
                        found.update((number, value) for value in nibbles(words))
            return sent

        assert in_secret(SCHEMA, rows, ONE_LEAF, seed=run, tap=tap).results[0].canonical() == b'{"leaf":0}'
    return found


def nibbles(words: Any) -> list[int]:
    if words.dtype == np.uint8 and words.size == 32:
        return []
    octets = np.ascontiguousarray(words).view(np.uint8).reshape(-1)
    return np.concatenate([octets & 15, octets >> 4]).tolist()
