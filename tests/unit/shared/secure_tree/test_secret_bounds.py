"""What comments of the secret modes say fits in 31, 32, 62 and 64 bits does so at the limits, and is exact there."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from shared.mpc.bits import pack
from shared.mpc.conversion import widen
from shared.mpc.first_maximum import first_maximum, ready
from shared.mpc.matrices import MOST_BITS, lifted
from shared.mpc.program import Party, Program
from shared.mpc.ring import U32, U64, signed
from shared.mpc.sharing import BinaryShare, Share
from shared.secure_tree.gain_ratio.matches import by_fraction, by_numerator
from shared.secure_tree.gain_ratio.plan import GainRatioPlan
from shared.secure_tree.secret_id3_layout import MOST_RECORDS, Layout
from shared.tree.criteria import SCALE_BITS, f_entry
from shared.tree.gain_ratio_growing import GainRatioRules
from shared.tree.schema import MAX_CLASSES
from shared.wire.secret import MAX_RECORDS
from tests.support.mpc import arithmetic, as_words, binary, run_and_open
from tests.support.tree_strategies import make_schema

LOWEST_NUMERATOR = GainRatioPlan(1, (1,), MAX_CLASSES, GainRatioRules(height=1)).lowest_numerator
HIGHEST_NUMERATOR = 2**31 + LOWEST_NUMERATOR - 1
NEAR_POWERS = sorted(
    {
        (1 << bits) + offset
        for bits in range(25)
        for offset in (-300, -257, -256, -3, -2, -1, 0, 1, 2)
        if 1 <= (1 << bits) + offset <= MAX_RECORDS
    }
)


def plan_of(records: int, classes: int) -> GainRatioPlan:
    return GainRatioPlan(records, (1,), classes, GainRatioRules(height=1))


# Mode G


@pytest.mark.parametrize("classes", [1, 2, 3, 4, 5, MAX_CLASSES])
def test_every_size_that_a_job_may_have_fits(classes: int) -> None:
    """Gain+ and SplitInfo+ are at most N 2^s, and rounding moves them by at most (3 L + 3) / 2 and 3 / 2."""
    rounding = (3 * classes + 3) // 2
    for records in NEAR_POWERS:
        plan = plan_of(records, classes)
        most, lowest = records << plan.scale, plan.lowest_numerator
        assert lowest < -rounding
        assert most + rounding < 2**31 + lowest
        assert (most + rounding) * (most + 2) < 2**62


def test_extreme_numerators_are_told_apart() -> None:
    values = [LOWEST_NUMERATOR, -1, 0, 1, HIGHEST_NUMERATOR - 1, HIGHEST_NUMERATOR]
    left, right = (
        np.array(side, np.int64) for side in zip(*((x, y) for x in values for y in values), strict=True)
    )
    missing = -len(left) % 64
    left, right = (np.append(side, np.zeros(missing, np.int64)) for side in (left, right))
    valid = pack(np.ones((1, left.size), np.uint8))

    def program(party: Party, x: Share, y: Share, x_valid: BinaryShare, y_valid: BinaryShare) -> Program[Any]:
        winners, bits = yield from by_numerator(
            party, [x.reshape(1, -1), x_valid], [y.reshape(1, -1), y_valid]
        )
        return winners[0], bits.masked(1)

    best, wins = run_and_open(
        program, arithmetic(left), arithmetic(right), binary(valid, seed=3), binary(valid, seed=4)
    ).value
    assert np.array_equal(signed(best)[0], np.maximum(left, right))
    assert np.array_equal(wins[0].astype(bool), right > left)


def test_extreme_fractions_are_told_apart() -> None:
    """The largest table values of a plan, and numerators below zero, against each other."""
    top = (plan_of(MAX_RECORDS, 2).records << 7) + 1
    numbers = [
        (-1, 1),
        (LOWEST_NUMERATOR, top),
        (LOWEST_NUMERATOR, 1),
        (0, top),
        (1, top),
        (top, top),
        (top - 1, top),
    ]
    numbers += [(top, top - 1), (top, 1), (1, 1)]
    pairs = [(x, y) for x in numbers for y in numbers]
    fields = [[pair[side][place] for pair in pairs] for side in (0, 1) for place in (0, 1)]

    def program(party: Party, b: Share, e: Share, a: Share, d: Share) -> Program[Any]:
        left, right = ([x.reshape(1, -1) for x in side] for side in ((b, e), (a, d)))
        _, bits = yield from by_fraction(party, left, right)
        return bits.masked(1)

    shares = [arithmetic(as_words(field, U64), seed=turn) for turn, field in enumerate(fields)]
    found = run_and_open(program, *shares).value[0].astype(bool)
    assert found.tolist() == [a * e > b * d for (b, e), (a, d) in pairs]


def test_numerators_are_widened_from_end_to_end() -> None:
    values = [LOWEST_NUMERATOR, LOWEST_NUMERATOR + 1, -1, 0, HIGHEST_NUMERATOR - 1, HIGHEST_NUMERATOR]
    for seed in range(8):
        run = run_and_open(widen, arithmetic(as_words(values, U32), seed=seed), LOWEST_NUMERATOR)
        assert signed(run.value).tolist() == values


# Mode I


def test_a_job_has_no_more_records_than_mode_i_takes() -> None:
    assert MAX_RECORDS == MOST_RECORDS


@pytest.mark.parametrize("records", [1, 2, 3, 6, 7, 8, 2**16 - 2, 2**16 - 1, 2**24 - 3, MOST_RECORDS])
def test_counts_products_and_scores_fit(records: int) -> None:
    for classes in (2, 3, 64):
        layout = Layout.of(make_schema((2, 256, 3), classes), records)
        assert records + 1 < 2 ** (layout.count_bits - 1)
        assert layout.count_bits <= MOST_BITS
        assert records**2 < 2 ** (2 * layout.count_bits - 2)
        assert 2 * layout.count_bits - 2 <= 8 * layout.product_dtype.itemsize - 1
        # The lowest score is that of equal classes, one value: sum_c F(N / c) - F(N) = -N log2(classes) 2^32.
        entropy = -(-records * (f_entry(classes, SCALE_BITS) + 1) // classes)
        rounding = layout.table_rows * (classes + 1)
        assert entropy + rounding < 2 ** (layout.score_bits - 1)
        assert layout.score_bits <= 62


@pytest.mark.parametrize("bits", [3, 24, 25, 26])
def test_lifting_at_both_ends(bits: int) -> None:
    values = np.array([0, 1, 2 ** (bits - 1) - 2, 2 ** (bits - 1) - 1] * 16, U32)
    for ring in (U32, U64):
        assert np.array_equal(run_and_open(lifted, arithmetic(values), bits, ring).value, values)


def test_the_furthest_scores_are_told_apart() -> None:
    layout = Layout.of(make_schema((2, 2), 64), MOST_RECORDS)
    low = -((MOST_RECORDS * 6) << SCALE_BITS)
    columns = [[low, 0], [0, low], [low, low + 1], [low + 1, low], [-1, 0], [0, 0]]
    values = as_words(np.array(columns, object).T, U64)

    def program(party: Party, x: Share) -> Program[BinaryShare]:
        return first_maximum(party, (2, 6), ready(x), layout.score_bits)

    found = run_and_open(program, arithmetic(values)).value
    assert found.argmax(axis=0).tolist() == [1, 0, 1, 0, 1, 0]
    assert (found.sum(axis=0) == 1).all()
