"""The cost of noise against rational arithmetic, and epsilon against a logarithm of a hundred digits."""

from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.secure_tree.privacy import (
    PrivacyLimit,
    changed_cells,
    cost,
    epsilon_of,
    level_cost,
    own_variance,
    worst_case,
)
from shared.tree.frontier import NodeQuery
from shared.wire.noise import NoiseSpec

NOISE = NoiseSpec(sigma_squared=400)
DELTA = Decimal("0.000001")


def exact_epsilon(rho: Fraction, delta: Decimal) -> Decimal:
    """rho + 2 sqrt(rho ln(1/delta)) with a hundred digits."""
    with localcontext(prec=100):
        number = Decimal(rho.numerator) / Decimal(rho.denominator)
        return number + 2 * (number * -delta.ln()).sqrt()


def test_a_level_costs_what_its_widest_node_costs() -> None:
    """A record is in one node of a level: costs of nodes are not added up."""
    queries = [NodeQuery((), (0, 1, 2), (0, 1)), NodeQuery(((3, 0),), (0, 1), (0, 1))]
    assert changed_cells(queries) == 3
    assert level_cost(NOISE, queries) == Fraction(3, 800)
    assert level_cost(NOISE, []) == 0


def test_the_whole_job_costs_the_sum_of_its_levels() -> None:
    assert worst_case(NOISE, 5, 3, 0) == Fraction(5 + 4 + 3, 800)
    assert worst_case(NOISE, 5, None, 0) == Fraction(15, 800)
    assert worst_case(NOISE, 5, 9, 2) == Fraction(15 + 2 * 5, 800)


def test_who_is_trusted_adds_all_of_the_noise() -> None:
    assert own_variance(NOISE, 5) == 100
    assert own_variance(NoiseSpec(sigma_squared=400, untrusted=0), 3) == Fraction(400, 3)
    assert (5 - 2) * own_variance(NoiseSpec(sigma_squared=100, untrusted=2), 5) == 100


def test_a_known_figure() -> None:
    """rho 0.5 and delta 1e-6: 0.5 + 2 sqrt(0.5 * 13.8155...) = 5.7565..."""
    assert epsilon_of(Fraction(1, 2), DELTA) == Decimal("5.757")
    assert epsilon_of(Fraction(0), DELTA) == 0
    assert cost(1, 1) == Fraction(1, 2)


@given(
    st.fractions(min_value=0, max_value=100, max_denominator=10**12),
    st.decimals(min_value="1e-15", max_value="0.01", places=17),
)
def test_epsilon_is_never_told_too_small(rho: Fraction, delta: Decimal) -> None:
    exact, told = exact_epsilon(rho, delta), epsilon_of(rho, delta)
    assert exact <= told < exact + Decimal("0.0011")


@given(st.fractions(min_value=0, max_value=50, max_denominator=10**9), st.integers(-1, 1))
def test_the_limit_is_where_the_formula_puts_it(rho: Fraction, side: int) -> None:
    """Just above the exact epsilon it allows, just below it refuses; neither takes a root."""
    exact = exact_epsilon(rho, DELTA)
    with localcontext(prec=100):
        limit = PrivacyLimit(exact + side * Decimal("1e-40"), DELTA)
    if side > 0:
        assert limit.allows(rho)
    if side < 0 and rho > 0:
        assert not limit.allows(rho)


def test_costs_are_exact_where_floats_are_not() -> None:
    """Ten rounds of one cell at variance 5 are exactly one; the same sum of doubles is not."""
    assert sum((cost(5, 1) for _ in range(10)), Fraction(0)) == 1
    assert sum(0.1 for _ in range(10)) != 1


@pytest.mark.parametrize(("rho", "percent"), [("0", 0), ("0.001", 1), ("0.5", 55)])
def test_the_used_part_of_a_budget(rho: str, percent: int) -> None:
    assert PrivacyLimit(Decimal(8), DELTA).used_percent(Fraction(rho)) == percent


def test_a_budget_of_nothing_allows_nothing() -> None:
    nothing = PrivacyLimit(Decimal(0), DELTA)
    assert nothing.allows(Fraction(0))
    assert not nothing.allows(Fraction(1, 10**30))
    assert nothing.used_percent(Fraction(1, 8)) == 100
