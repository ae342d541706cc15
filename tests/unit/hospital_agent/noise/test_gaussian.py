"""The noise on a sum has the distribution that the accounting assumes, and a wrong one is noticed."""

from __future__ import annotations

import math
import sys
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2

from hospital_agent.noise import add_noise, is_installed, least_scale
from hospital_agent.noise.gaussian import _sampler
from shared.errors import InputError
from shared.secure_tree.privacy import own_variance
from shared.wire.noise import NoiseSpec

DRAWS = 40_000
FAILURE = 1e-9
"""Chance that a right sampler fails one test here."""
MEMBERS = 4


def expected(variance: float) -> np.ndarray:
    """The probabilities of a sum of discrete Gaussians of `MEMBERS` hospitals, by convolution, for |x| <= 200."""
    points = np.arange(-200, 201)
    one = np.exp(-(points**2) / (2 * variance))
    one /= one.sum()
    total = one
    for _ in range(MEMBERS - 1):
        total = np.convolve(total, one, mode="same")
    return total


def distance(draws: list[int], probabilities: np.ndarray) -> tuple[float, int]:
    """Pearson's statistic and its degrees of freedom; cells with few expected draws are put together."""
    seen = Counter(draws)
    cells = [
        (seen[x], DRAWS * p) for x, p in zip(range(-200, 201), probabilities, strict=True) if DRAWS * p >= 20
    ]
    rest = (DRAWS - sum(count for count, _ in cells), DRAWS - sum(mean for _, mean in cells))
    return sum((count - mean) ** 2 / mean for count, mean in [*cells, rest]), len(cells)


def sums(variance: Fraction) -> list[int]:
    drawn = [add_noise([0] * DRAWS, variance) for _ in range(MEMBERS)]
    return [sum(parts) for parts in zip(*drawn, strict=True)]


def test_the_sum_of_all_hospitals_has_the_promised_noise() -> None:
    """Positive control: the same draws do not pass for a deviation that is five per cent off."""
    variance = own_variance(NoiseSpec(sigma_squared=100), MEMBERS)
    drawn = sums(variance)
    value, freedom = distance(drawn, expected(float(variance)))
    bound = chi2.isf(FAILURE, freedom)
    assert value < bound
    for wrong in (0.95, 1.05):
        assert distance(drawn, expected(float(variance) * wrong**2))[0] > bound


def test_the_trusted_hospitals_alone_add_at_least_the_variance_that_is_charged() -> None:
    """Without the parts of `untrusted` hospitals the variance is what the cost is made of, whatever was rounded."""
    for members, untrusted in ((3, 1), (7, 2), (1000, 1)):
        noise = NoiseSpec(sigma_squared=4001, untrusted=untrusted)
        scale = least_scale(own_variance(noise, members))
        assert Fraction(scale) ** 2 * (members - untrusted) >= noise.sigma_squared


@given(st.fractions(min_value=4, max_value=2**50, max_denominator=1023))
def test_rounding_never_takes_noise_away(variance: Fraction) -> None:
    scale = least_scale(variance)
    assert Fraction(scale) ** 2 >= variance > Fraction(math.nextafter(scale, 0)) ** 2


def test_noise_is_added_to_each_count_by_itself() -> None:
    counts = [2**36 - n for n in range(2000)]
    noisy = add_noise(counts, Fraction(25))
    noise = [a - b for a, b in zip(noisy, counts, strict=True)]
    assert all(type(value) is int for value in noisy)
    assert len(set(noise)) > 10
    assert max(map(abs, noise)) < 100
    assert add_noise([], Fraction(25)) == []


def test_the_library_says_what_one_cell_costs_as_the_accounting_does() -> None:
    assert _sampler(10.0).map(1) == pytest.approx(1 / 200)  # type: ignore[attr-defined]


def test_without_the_library_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    assert is_installed()
    for name in {"opendp", *(name for name in sys.modules if name.partition(".")[0] == "opendp")}:
        monkeypatch.setitem(sys.modules, name, None)
    assert not is_installed()
    with pytest.raises(InputError, match=r"privet\[dp\]"):
        add_noise([1], Fraction(777))
