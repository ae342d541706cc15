"""T7 on shares: numerators, denominators, valid positions and chosen tests of the patent's corrected example."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from shared.mpc.bits import unpack
from shared.mpc.permutation import lay_route
from shared.mpc.program import Party, Program
from shared.mpc.ring import U32, signed
from shared.mpc.sharing import BinaryShare, Share, public_share
from shared.secure_tree.gain_ratio.candidates import best_columns
from shared.secure_tree.gain_ratio.group_maximum import best_of_slots
from shared.secure_tree.gain_ratio.numerators import class_flags, column_scores
from shared.secure_tree.gain_ratio.orders import Order
from shared.secure_tree.gain_ratio.plan import GainRatioPlan, class_words
from shared.secure_tree.gain_ratio.tables import layer_tables, step_tables
from shared.tree.gain_ratio_growing import GainRatioRules
from tests.support.mpc import OpenedRun, arithmetic, binary, run_and_open
from tests.vectors import generate_gain_ratio

VECTORS = Path(generate_gain_ratio.__file__).parent
CLASSES = 3
WIDTH = 3
RECORDS = 10


def one_layer(
    party: Party, keys: BinaryShare, words: BinaryShare, counts: Share, scale: int, few_cells: int
) -> Program[tuple[Any, ...]]:
    """The trainer's steps on a layer whose groups are given by their class counts."""
    plan = GainRatioPlan(RECORDS, (WIDTH,), CLASSES, GainRatioRules(height=1))
    tables = yield from layer_tables(party, plan, step_tables(RECORDS, scale), counts, few_cells)
    route, _ = yield from lay_route(party, public_share(party.index, np.arange(RECORDS, dtype=U32)))
    order = Order(keys, words, route)
    flags = yield from class_flags(party, words, CLASSES)
    scores = yield from column_scores(party, order, flags, WIDTH, tables)
    candidates = yield from best_columns(party, plan, [keys], [scores], tables.split)
    best = yield from best_of_slots(party, candidates, tables.flags, plan.lowest_numerator)
    return (
        flags,
        scores.numerators,
        tables.split,
        scores.valid,
        best.numerators,
        best.denominators,
        best.words[0],
    )


@pytest.fixture(scope="module")
def vector() -> dict[str, Any]:
    document: dict[str, Any] = json.loads((VECTORS / "gain_ratio_layer.json").read_text(encoding="utf-8"))
    return document


def run_layer(vector: dict[str, Any], few_cells: int) -> OpenedRun:
    labels = np.array(vector["labels"]) - 1
    groups = np.cumsum(vector["ends"]) - vector["ends"]
    counts = np.zeros((groups.max() + 1, CLASSES), np.uint32)
    np.add.at(counts, (groups, labels), 1)
    return run_and_open(
        one_layer,
        binary(np.array(vector["values"], np.uint8)),
        binary(class_words(labels, CLASSES)),
        arithmetic(counts),
        scale=vector["scale"],
        few_cells=few_cells,
    )


@pytest.mark.parametrize("few_cells", [1, 32])
def test_the_worked_example(vector: dict[str, Any], few_cells: int) -> None:
    flags, numerators, split, valid, gain, whole_split, threshold = run_layer(vector, few_cells).value
    assert flags.tolist() == vector["is_label"]
    expected = vector["fractions"]
    assert unpack(valid, RECORDS).tolist() == [int(fraction is not None) for fraction in expected]
    found = list(zip(signed(numerators).tolist(), signed(split).tolist(), strict=True))
    assert [
        list(pair) if fraction is not None else None for pair, fraction in zip(found, expected, strict=True)
    ] == expected
    for slot, chosen in enumerate(vector["chosen"]):
        if chosen is None:
            assert signed(gain)[slot] <= 0
        else:
            assert (signed(gain)[slot], signed(whole_split)[slot]) == (chosen["gain"], chosen["split"])
            assert threshold[slot] == chosen["threshold"]
