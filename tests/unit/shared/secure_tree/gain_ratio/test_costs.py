"""The stages of a layer cost what their docstrings say, and no more for other records."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from shared.mpc.bits import pack
from shared.mpc.program import Party, Program
from shared.mpc.ring import U8, U16, U32
from shared.mpc.sharing import BinaryShare, Share, public_binary_share
from shared.secure_tree.gain_ratio.candidates import Candidates
from shared.secure_tree.gain_ratio.deciding import decide, indicators
from shared.secure_tree.gain_ratio.members import answers, handed_out, moved_on
from shared.secure_tree.gain_ratio.numerators import class_flags, column_scores
from shared.secure_tree.gain_ratio.orders import Order, SplitFrame, fetch, partition, sorted_order
from shared.secure_tree.gain_ratio.plan import GainRatioPlan
from shared.secure_tree.gain_ratio.sums import any_of, spread, totals
from shared.secure_tree.gain_ratio.tables import layer_tables, step_tables
from shared.tree.gain_ratio_growing import GainRatioRules
from tests.support.mpc import arithmetic, assert_cost, binary, run_and_open

RECORDS = 192
CLASSES = 3
SLOTS = 2
WIDTH = 16
PLAN = GainRatioPlan(RECORDS, (WIDTH,) * 5, CLASSES, GainRatioRules(height=2))

KEYS = np.arange(RECORDS)[::-1] * 300 % 2**WIDTH
WORDS = np.arange(RECORDS) % 4 % CLASSES
FLAGS = np.repeat(np.eye(SLOTS, dtype=U32), RECORDS // SLOTS, axis=1)
COUNTS = np.array([[int(np.sum(WORDS[:96] == c)), int(np.sum(WORDS[96:] == c))] for c in (1, 2, 0)]).T


def zeros(*shape: int) -> np.ndarray:
    return np.zeros(shape, np.int64)


def test_sums_between_slots_and_positions() -> None:
    run = run_and_open(spread, arithmetic(FLAGS), arithmetic([[3, 4], [2**32 - 1, 0]]))
    np.testing.assert_array_equal(run.value, np.repeat([[3, 4], [2**32 - 1, 0]], RECORDS // SLOTS, axis=1))
    assert_cost(run, rounds=1, elements=2 * RECORDS, words_per_element=3)
    column = np.arange(RECORDS)
    run = run_and_open(totals, arithmetic(FLAGS), arithmetic([column, column * 0 + 1]))
    assert run.value.tolist() == [[96 * 95 // 2, 96 * 95 // 2 + 96 * 96], [96, 96]]
    assert_cost(run, rounds=1, elements=4, words_per_element=3)
    run = run_and_open(any_of, binary([[1, 0], [0, 2]]), binary([[1, 1], [3, 3]]))
    assert run.value.tolist() == [1, 2]
    assert_cost(run, rounds=1, elements=2, bytes_per_element=3)


def test_class_flags() -> None:
    run = run_and_open(class_flags, binary(WORDS, U8), CLASSES)
    np.testing.assert_array_equal(run.value, [WORDS == 1, WORDS == 2, WORDS == 0])
    assert_cost(run, rounds=2, elements=RECORDS * (CLASSES - 1), bytes_per_element=12)


def order_of(party: Party, keys: BinaryShare, words: BinaryShare) -> Program[Order]:
    with party.meter.phase("before"):
        return (yield from sorted_order(party, keys, WIDTH, words))


def measured(party: Party, keys: BinaryShare, words: BinaryShare, stage: Any) -> Program[Any]:
    """Sort, then the stage under test in a phase of its own."""
    order = yield from order_of(party, keys, words)
    with party.meter.phase("stage"):
        return (yield from stage(party, order))


def stage_cost(stage: Any) -> tuple[Any, int, float]:
    """What the stage gives, its rounds, and the bytes of all parties a record."""
    run = run_and_open(measured, binary(KEYS, U16), binary(WORDS, U8), stage)
    costs = [meter.by_phase["stage"] for meter in run.run.meters]
    return run.value, costs[0].rounds, sum(cost.sent_bytes for cost in costs) / RECORDS


def test_sorting_and_fetching() -> None:
    run = run_and_open(
        lambda party, keys, words: (yield from returned(order_of(party, keys, words))),
        binary(KEYS, U16),
        binary(WORDS, U8),
    )
    keys, classes = run.value
    order = np.argsort(KEYS, kind="stable")
    np.testing.assert_array_equal(keys, KEYS[order])
    np.testing.assert_array_equal(classes, WORDS[order])
    assert_cost(run, rounds=8 * 6 + 4, elements=RECORDS, bytes_per_element=8 * (64 + 8 + 16) + 16 + 4)
    column = np.arange(RECORDS) % 251

    def fetched(party: Party, order: Order) -> Program[BinaryShare]:
        return (yield from fetch(party, order, public_binary_share(party.index, column.astype(U8))))

    found, rounds, sent = stage_cost(fetched)
    np.testing.assert_array_equal(found, column[order])
    assert (rounds, sent) == (2, 4)


def returned(program: Program[Order]) -> Program[tuple[BinaryShare, BinaryShare]]:
    order = yield from program
    return order.keys, order.classes


def test_partition() -> None:
    right = (np.arange(RECORDS) % 3 == 0).astype(U32)
    counts = right.reshape(SLOTS, -1).sum(axis=1)
    before = np.repeat([0, counts[0]], RECORDS // SLOTS)
    start = np.repeat(RECORDS // SLOTS * np.arange(1, SLOTS + 1) - counts, RECORDS // SLOTS)
    given = [arithmetic(x) for x in (right, before, start)]

    def split(party: Party, order: Order) -> Program[tuple[BinaryShare, BinaryShare]]:
        bits, ones_before, ones_start = (shares[party.index] for shares in given)
        return (yield from returned(partition(party, order, bits, SplitFrame(ones_before, ones_start))))

    (keys, classes), rounds, sent = stage_cost(split)
    order = np.argsort(KEYS, kind="stable")
    slot = np.repeat(np.arange(SLOTS), RECORDS // SLOTS)
    expected = order[np.lexsort((right, slot))]
    np.testing.assert_array_equal(keys, KEYS[expected])
    np.testing.assert_array_equal(classes, WORDS[expected])
    assert (rounds, sent) == (4, 28 + 8 + 4)


def test_tables_and_scores() -> None:
    public = step_tables(RECORDS, PLAN.scale)
    run = run_and_open(
        lambda party, counts: (yield from split_only(party, counts, public)), arithmetic(COUNTS)
    )
    bounds = SLOTS * CLASSES - 1
    sizes = 256 + 512 + 4 * RECORDS
    fixed = 12 * RECORDS * (2 + CLASSES) + 3 * 8 * 3
    assert_cost(run, rounds=4, elements=bounds, words_per_element=sizes, fixed_bytes=fixed)

    def scored(party: Party, order: Order) -> Program[Share]:
        with party.meter.phase("before"):
            tables = yield from layer_tables(party, PLAN, public, given[party.index])
            flags = yield from class_flags(party, order.classes, CLASSES)
        scores = yield from column_scores(party, order, flags, WIDTH, tables)
        return scores.numerators

    given = arithmetic(COUNTS)
    _, rounds, sent = stage_cost(scored)
    assert (rounds, sent) == (5, 44 + 5.625 + 3 / 8)


def split_only(party: Party, counts: Share, public: Any) -> Program[Share]:
    return (yield from layer_tables(party, PLAN, public, counts)).split


def test_members() -> None:
    members = pack(FLAGS.astype(U8))
    run = run_and_open(handed_out, binary(members), binary([7, 9], U16), RECORDS)
    np.testing.assert_array_equal(run.value, np.repeat([7, 9], RECORDS // SLOTS))
    assert_cost(run, rounds=1, elements=RECORDS, bytes_per_element=6)
    right = np.arange(RECORDS) % 2
    run = run_and_open(moved_on, binary(members), binary(pack(right.astype(U8))))
    expected = [FLAGS[slot].astype(bool) & (right == side) for slot in range(SLOTS) for side in (0, 1)]
    np.testing.assert_array_equal(run.value, pack(np.array(expected)))
    assert_cost(run, rounds=1, elements=RECORDS * SLOTS, bytes_per_element=3 / 8)


@pytest.mark.parametrize("values", [300, 0])
def test_answers(values: int) -> None:
    keys = [np.arange(RECORDS) * factor % 2**WIDTH * bool(values) for factor in (1, 300, 700, 5, 9)]
    chosen = np.zeros((5, SLOTS), U8)
    chosen[1, 0] = 1
    run = run_and_open(
        lambda party, columns, *given: answers(party, PLAN, columns, *given),
        [binary(key, U16) for key in keys],
        binary(pack(FLAGS.astype(U8))),
        binary([9000, 0], U16),
        binary(chosen),
    )
    expected = np.where(FLAGS[0] == 1, keys[1] > 9000, False)
    np.testing.assert_array_equal(run.value, pack(expected))
    assert_cost(run, rounds=2 + 5, elements=RECORDS, bytes_per_element=12 + 3 + 15.75)


@pytest.mark.parametrize(("columns", "bits"), [(1, 1), (2, 1), (5, 3), (130, 8)])
def test_indicators(columns: int, bits: int) -> None:
    plan = GainRatioPlan(RECORDS, (WIDTH,) * columns, CLASSES, GainRatioRules(height=2))
    chosen = np.array([0, columns - 1, columns // 2])
    run = run_and_open(
        lambda party, *given: indicators(party, plan, *given), binary(chosen, U8), binary([1, 1, 0])
    )
    expected = (chosen == np.arange(columns)[:, None]) & np.array([True, True, False])
    np.testing.assert_array_equal(run.value, expected)
    assert run.rounds == 1 + max(1, int(np.ceil(np.log2(bits))))


@pytest.mark.parametrize("min_node", [1, 4])
def test_decisions(min_node: int) -> None:
    plan = GainRatioPlan(RECORDS, (WIDTH,) * 5, CLASSES, GainRatioRules(height=2, min_node=min_node))

    def program(party: Party, gains: Share, sizes: Share, *words: BinaryShare) -> Program[Any]:
        made = yield from decide(party, plan, Candidates(gains, gains, list(words)), sizes)
        return made.splits, made.columns, made.thresholds, made.chosen

    run = run_and_open(
        program,
        arithmetic(np.array([5, 0, -1, 7, 9]), np.uint64),
        arithmetic([10, 10, 10, 3, 4]),
        binary([11, 12, 13, 14, 15], U16),
        binary([4, 3, 2, 1, 0], U8),
    )
    splits = np.array([1, 0, 0, int(min_node == 1), 1])
    opened = [part.tolist() for part in run.value]
    assert opened[0] == splits.tolist()
    assert opened[1] == (splits * [4, 3, 2, 1, 0]).tolist()
    assert opened[2] == (splits * [11, 12, 13, 14, 15]).tolist()
    assert (
        np.argmax(opened[3], axis=0)[splits == 1].tolist() == np.array([4, 3, 2, 1, 0])[splits == 1].tolist()
    )
    assert np.sum(opened[3], axis=0).tolist() == splits.tolist()
    assert run.rounds == 6 + int(min_node > 1) + 1 + 2 + 1
