"""The block `noise` of a manifest: differential privacy of the sums of a hardened job (protocol section 6.6).

Numbers are integers and decimal text; no float is part of what hospitals sign.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Final, Self

from pydantic import Field, model_validator

from shared.wire.base import DecimalText, WireModel

MIN_OWN_VARIANCE: Final = 4
"""Least variance of one hospital's noise: from a deviation of 2 on, the sum is as good as a discrete Gaussian."""
MAX_VARIANCE: Final = 2**50
"""Of the sum: a deviation of 2^25 leaves its slot with a chance that is no chance, and is more than any count."""


class NoiseSpec(WireModel):
    """How noisy the sums of a job are.

    `sigma_squared`: variance of the noise of each summed cell. `untrusted`: hospitals (c) that are not trusted to add
    their part, so that the others add enough without them; 1 because whoever looks knows its own part. `delta`: the
    chance beside which epsilon is told, a decimal number above 0 and at most 0.01.
    """

    sigma_squared: Annotated[int, Field(ge=MIN_OWN_VARIANCE, le=MAX_VARIANCE)]
    untrusted: Annotated[int, Field(ge=0, le=1022)] = 1
    delta: DecimalText = "0.000001"

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if not 0 < Decimal(self.delta) <= Decimal("0.01"):
            raise ValueError("delta: expected a decimal number above 0 and at most 0.01")
        return self


def noise_fault(
    noise: NoiseSpec, *, hardened: bool, skip_known: bool, invited: int, min_hospitals: int
) -> str | None:
    """Why a manifest cannot have this noise, or None. Args: invited, min_hospitals: most and fewest hospitals."""
    least = MIN_OWN_VARIANCE * (invited - noise.untrusted)
    wrong = [
        (not hardened, "noise: only jobs of mode ppsdt with profile hardened add noise"),
        (skip_known, "noise: cells that follow from noisy sums do not follow; skip_known must be false"),
        (
            noise.untrusted >= min_hospitals,
            "noise: untrusted must be smaller than min_hospitals, since the others add the noise",
        ),
        (
            noise.sigma_squared < least,
            (
                f"noise: sigma_squared must be at least {least} for {invited} invited hospitals, "
                "so that each adds a deviation of at least 2"
            ),
        ),
    ]
    return next((text for broken, text in wrong if broken), None)
