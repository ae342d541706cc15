"""What a job with noise may cost a hospital: the forecast before it is accepted, and the words when it does not fit."""

from __future__ import annotations

from fractions import Fraction
from typing import Final

from shared.secure_tree.privacy import PrivacyLimit, epsilon_of, worst_case
from shared.wire.manifest import Manifest

REMEDY: Final = (
    "Raise max_epsilon in the policy if the hospital agrees to tell more, or have the job ask for more noise or a "
    "smaller max_depth; `privet agent budget` shows what was spent."
)


def forecast(manifest: Manifest) -> Fraction:
    """rho of the whole job at most; 0 where it has no noise to account for."""
    if manifest.noise is None:
        return Fraction(0)
    attributes = len(manifest.schema_.attributes)
    return worst_case(manifest.noise, attributes, manifest.max_depth, manifest.max_shrinks)


def over_budget(limit: PrivacyLimit, *, spent: Fraction, promised: Fraction, wanted: Fraction) -> str | None:
    """The sentence for the hospital when `wanted` does not fit beside what is spent and promised, or None.

    Args: all rho over the same records. promised: to jobs that run.
    """
    total = spent + promised + wanted
    if limit.allows(total):
        return None
    before = epsilon_of(spent + promised, limit.delta)
    return (
        f"The privacy budget of these records is epsilon {limit.epsilon} at delta {limit.delta}; "
        f"{before} is spent or promised, and with this it would be {epsilon_of(total, limit.delta)}. {REMEDY}"
    )
