"""Cut points from histograms against numpy's quantiles and against an exhaustive definition."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.errors import InputError
from shared.tree.cut_points import MAX_EDGES, cut_points, every_number, grid

EDGES = tuple(Decimal(edge) for edge in range(10, 60, 10))


@given(st.lists(st.integers(1, 60), min_size=1, max_size=200), st.integers(2, 8))
def test_cuts_are_numpys_quantiles_of_numbers_rounded_up_to_the_edges(numbers: list[int], parts: int) -> None:
    rounded = [-(-number // 10) * 10 for number in numbers]
    counts = [rounded.count(edge) for edge in (10, 20, 30, 40, 50, 60)]
    quantiles = np.quantile(
        np.array(rounded), [float(Fraction(k, parts)) for k in range(1, parts)], method="inverted_cdf"
    )
    # numpy works k/parts out in floating point, which may fall on the wrong side where it meets a count exactly.
    exact = {
        next(edge for edge in sorted(rounded) if sum(r <= edge for r in rounded) * parts >= k * len(rounded))
        for k in range(1, parts)
    }
    if all(k * len(rounded) % parts for k in range(1, parts)):
        assert exact == {int(quantile) for quantile in quantiles}
    expected = sorted(edge for edge in exact if edge < 60 and edge < max(rounded))
    assert [int(cut) for cut in cut_points(EDGES, counts, parts)] == expected


@given(st.lists(st.integers(0, 30), min_size=6, max_size=6), st.integers(2, 6), st.integers(1, 20))
def test_every_interval_has_the_fewest_records_asked_for(counts: list[int], parts: int, least: int) -> None:
    cuts = cut_points(EDGES, counts, parts, least)
    assert len(cuts) < parts
    places = [0, *(EDGES.index(cut) + 1 for cut in cuts), len(counts)]
    sizes = [sum(counts[low:high]) for low, high in pairwise(places)]
    assert len(cuts) == 0 or min(sizes) >= least


def test_equal_numbers_are_never_parted() -> None:
    assert cut_points(EDGES, [0, 97, 1, 1, 1, 0], 4) == (Decimal(20),)
    assert cut_points(EDGES, [0, 0, 0, 0, 0, 9], 4) == ()
    assert cut_points(EDGES, [0] * 6, 4) == ()
    assert cut_points(EDGES, [25, 25, 25, 25, 0, 0], 4) == (Decimal(10), Decimal(20), Decimal(30))


@given(
    st.decimals("-1000000", "1000000", places=3),
    st.decimals("0.001", "100000", places=3),
    st.integers(1, MAX_EDGES),
)
def test_a_grid_is_even_round_and_inside(low: Decimal, width: Decimal, most: int) -> None:
    edges = grid(low, low + width, most)
    assert len(edges) <= most
    assert all(low < edge < low + width for edge in edges)
    if len(edges) > 1:
        (step,) = {b - a for a, b in pairwise(edges)}
        assert step.normalize().as_tuple().digits in ((1,), (2,), (5,))
        assert edges[0] - step <= low
        assert edges[-1] + step >= low + width
    if most >= 5:
        assert 3 * len(edges) >= most - 3


def test_grids_that_people_would_choose() -> None:
    assert [str(edge) for edge in grid(Decimal("35"), Decimal("42"), 15)] == [
        "35.5", "36.0", "36.5", "37.0", "37.5", "38.0", "38.5", "39.0", "39.5", "40.0", "40.5", "41.0", "41.5",
    ]  # fmt: skip
    assert grid(Decimal(0), Decimal(100), 9) == tuple(Decimal(10 * n) for n in range(1, 10))
    assert grid(Decimal(7), Decimal(7)) == ()


@pytest.mark.parametrize(
    ("edges", "counts", "parts"),
    [(EDGES, [1] * 5, 4), (EDGES, [1] * 6, 1), (EDGES[::-1], [1] * 6, 4), (EDGES, [1, 1, 1, 1, 1, -1], 4)],
)
def test_what_is_no_histogram_is_refused(edges: tuple[Decimal, ...], counts: list[int], parts: int) -> None:
    with pytest.raises(InputError):
        cut_points(edges, counts, parts)


def test_every_number_of_a_range_is_an_edge_where_they_are_few_enough() -> None:
    low, high = Decimal("36.5"), Decimal("37")
    found = every_number(low, high, 1)
    assert found == tuple(map(Decimal, ("36.5", "36.6", "36.7", "36.8", "36.9", "37.0")))
    assert every_number(low, high, 1, most=5) is None
    assert every_number(low, low, 1) is None
    assert every_number(Decimal(0), Decimal(253), 0) is not None
    assert every_number(Decimal(0), Decimal(254), 0) is None
    with pytest.raises(InputError, match="1 to 254"):
        every_number(low, high, 1, most=255)
