"""What noise means and costs, in sentences for whoever chooses it, approves it or reads of it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal, localcontext
from fractions import Fraction
from typing import Final

from shared.secure_tree.privacy import epsilon_of, own_variance, worst_case
from shared.texts import text
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
    sentences = [
        text(
            "noise.error",
            deviation=_deviation(noise),
            count=_rounded_root(4 * variance),
            classes=classes,
            total=total,
        ),
        text("noise.promise", epsilon=epsilon, delta=noise.delta, odds=_odds(epsilon)),
        text("noise.trust", untrusted=noise.untrusted),
        text("noise.limits"),
    ]
    least = {"min_node": manifest.min_node, "min_child": manifest.min_child}
    if min(least.values()) < total:
        sentences.append(text("noise.small_sizes", **least, total=total))
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
        return text("noise.too_much")
    with localcontext(prec=6, rounding=ROUND_CEILING):
        factor = epsilon.exp().quantize(Decimal("0.1"), ROUND_CEILING)
    return text("noise.odds", factor=factor)
