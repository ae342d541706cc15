"""Exact discrete Gaussian noise on counts, drawn by OpenDP (CKS20 in docs/sources.md).

OpenDP is an extra (`privet[dp]`) and is imported when the first noise is drawn. On integers it samples the discrete
Gaussian without floating point, with bytes of OpenSSL's generator, which the operating system seeds; the deviation is
the only float there is.
"""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Final

from shared.errors import InputError

_LIBRARY: Final = "opendp"


def is_installed() -> bool:
    """Whether this agent can add noise at all."""
    return importlib.util.find_spec(_LIBRARY) is not None


def add_noise(counts: Sequence[int], variance: Fraction) -> list[int]:
    """Each count plus noise of its own, of at least this variance. Args: variance: above 0.

    Raises: InputError: the library is not installed.
    """
    return list(_sampler(least_scale(variance))(list(counts)))


def least_scale(variance: Fraction) -> float:
    """The least double whose exact square is not below `variance`: rounding must not take noise away."""
    scale = math.sqrt(variance)
    while Fraction(scale) ** 2 < variance:
        scale = math.nextafter(scale, math.inf)
    return scale


@lru_cache(maxsize=8)
def _sampler(scale: float) -> Callable[[list[int]], list[int]]:
    try:
        from opendp.domains import atom_domain, vector_domain
        from opendp.measurements import make_gaussian
        from opendp.metrics import l2_distance
        from opendp.mod import enable_features
    except ImportError:
        raise InputError(
            "this agent cannot add noise",
            where="the library opendp",
            remedy="Install the extra dp: pip install 'privet[dp]'.",
        ) from None
    enable_features("contrib")
    measurement: Callable[[list[int]], list[int]] = make_gaussian(
        vector_domain(atom_domain(T="i64")), l2_distance(T="i64"), scale=scale
    )
    return measurement
