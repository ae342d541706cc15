"""What noise means and costs, in sentences for whoever chooses it, approves it or reads of it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal, localcontext
from fractions import Fraction
from typing import Final

from shared.secure_tree.privacy import epsilon_of, own_variance, worst_case
from shared.wire.manifest import Manifest
from shared.wire.noise import NoiseSpec
from shared.wire.study import StudyDocument

_GREATEST_TOLD: Final = 12
"""Beyond this epsilon a factor of odds would be a number that means nothing."""


@dataclass(frozen=True, slots=True)
class NoiseWords:
    """`sigma`: deviation of a sum's noise. `epsilon`: of the whole job at most, beside the manifest's delta."""

    sigma: Decimal
    epsilon: Decimal
    sentences: tuple[str, ...]


def noise_words(manifest: Manifest | StudyDocument) -> NoiseWords | None:
    """The meaning of a manifest's noise, or of a study's least noise; None where there is none."""
    noise = manifest.noise
    if noise is None:
        return None
    attributes, classes = len(manifest.schema_.attributes), len(manifest.schema_.class_.labels)
    rho = worst_case(noise, attributes, manifest.max_depth, manifest.max_shrinks)
    epsilon = epsilon_of(rho, Decimal(noise.delta))
    variance = own_variance(noise, manifest.min_hospitals) * manifest.min_hospitals
    total = _rounded_root(4 * variance * classes)
    error = (
        f"Every summed count carries noise of standard deviation {_deviation(noise)}, and somewhat more while no "
        f"hospital leaves out its part: 95 of 100 counts are off by {_rounded_root(4 * variance)} at most, totals over "
        f"the {classes} classes by {total}."
    )
    promise = (
        f"All that the job tells of one record is at most epsilon {epsilon} at delta {noise.delta}{_odds(epsilon)}. "
        "Each agent charges what is really asked to the budget of its records, and declines what does not fit."
    )
    trust = (
        f"This holds against everybody while all hospitals but {noise.untrusted} add their part of the noise and keep "
        "it to themselves; a hospital that looks at the sums knows its own part and is one of them."
    )
    limits = (
        "Not covered: several records of one patient (with k records epsilon is more than k times as great), what is "
        "true of a whole group, that a hospital took part, and jobs without noise over the same records."
    )
    sentences = [error, promise, trust, limits]
    if min(manifest.min_node, manifest.min_child) < total:
        sentences.append(
            f"With min_node {manifest.min_node} and min_child {manifest.min_child} splits may rest on noise alone: "
            f"sizes below {total} are hard to tell from none. Ask for greater ones, fewer levels or less noise."
        )
    return NoiseWords(_deviation(noise), epsilon, tuple(sentences))


def _deviation(noise: NoiseSpec) -> Decimal:
    with localcontext(prec=28) as context:
        return context.sqrt(Decimal(noise.sigma_squared)).quantize(Decimal("0.01")).normalize() + 0


def _rounded_root(square: Fraction) -> int:
    """The root of a square, rounded up to an integer."""
    whole = math.ceil(square)
    root = math.isqrt(whole)
    return root if root * root == whole else root + 1


def _odds(epsilon: Decimal) -> str:
    if epsilon > _GREATEST_TOLD:
        return ", which is so much that it promises next to nothing"
    with localcontext(prec=6, rounding=ROUND_CEILING):
        factor = epsilon.exp().quantize(Decimal("0.1"), ROUND_CEILING)
    return f" (the odds of any guess whether it is there change by a factor of {factor} at most)"
