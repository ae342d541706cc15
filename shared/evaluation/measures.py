"""A figure as it is reported: its value, its interval, and in words why one of them is not there.

Intervals of shares of records are Wilson's or Clopper and Pearson's. Those of other measures follow from the influence
of one record on the measure (the delta method): with cells of n records in all, of which c_i lie in cell i, and
influences psi_i, the variance is sum(c_i * psi_i^2) / n^2.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from statistics import NormalDist
from typing import Any, Final, Literal

from shared.errors import InputError
from shared.evaluation.binomial import beta_quantile
from shared.texts import text
from shared.tree.prediction import wilson_interval

ShareMethod = Literal["wilson", "clopper-pearson"]

_ROUNDING: Final = 1e-9
"""A standard error below this, per record, is the rounding of a float, not a width."""


@dataclass(frozen=True, slots=True)
class Confidence:
    """How intervals are made. `level`: 0 to 1, both excluded. `method`: of shares of records."""

    level: float = 0.95
    method: ShareMethod = "wilson"

    def __post_init__(self) -> None:
        """Refuse what is no level. Raises: InputError."""
        if not 0 < self.level < 1:
            raise InputError("expected a level between 0 and 1, such as 0.95", where="level of confidence")

    @property
    def z(self) -> float:
        """The normal quantile of a two-sided interval."""
        return NormalDist().inv_cdf((1 + self.level) / 2)


CONFIDENCE_95: Final = Confidence()


OfTwo = Callable[[int, int, Confidence], "Measure"]
"""A measure of hits and of what is missing to the total."""


@dataclass(frozen=True, slots=True)
class Measure:
    """One figure. `value` None: it is not defined, and `reason` says why; so too where only the interval is missing.

    `method`: how the interval was made. `records`: how many records it rests on. `parts`: the counts it was made of
    by which a few records could be told; what a shared report may show depends on the least of them (`floors`).
    `again`: of a measure of two counts, how it is made of others.
    """

    value: float | None
    low: float | None = None
    high: float | None = None
    method: str = ""
    reason: str = ""
    records: int = 0
    parts: tuple[int, ...] = ()
    again: OfTwo | None = field(default=None, repr=False, compare=False)

    def to_json(self) -> dict[str, Any]:
        """Value, interval, method and reason; the counts it was made of stay here."""
        return {
            "value": self.value,
            "interval": None if self.low is None else [self.low, self.high],
            "method": self.method or None,
            "reason": self.reason or None,
        }


def undefined(reason: str) -> Measure:
    """A measure that these counts do not have."""
    return Measure(None, reason=reason)


def share(hits: int, total: int, confidence: Confidence = CONFIDENCE_95, *, empty: str = "") -> Measure:
    """A share of records with its interval. Args: empty: the reason where total is 0; by default, no record."""
    if total == 0:
        return undefined(empty or text("measured.no_records"))
    low, high = share_interval(hits, total, confidence)
    parts = (hits, total - hits)
    return Measure(
        hits / total, low, high, confidence.method, records=total, parts=parts, again=share_of_parts
    )


def share_of_parts(hits: int, misses: int, confidence: Confidence) -> Measure:
    """A share of records, by those that are in it and those that are not."""
    return share(hits, hits + misses, confidence)


def share_interval(hits: int, total: int, confidence: Confidence) -> tuple[float, float]:
    """The interval of a share `hits / total`, total > 0, within 0 to 1."""
    if confidence.method == "clopper-pearson":
        return clopper_pearson_interval(hits, total, confidence.level)
    return wilson_interval(hits, total, confidence.z)


def clopper_pearson_interval(hits: int, total: int, level: float) -> tuple[float, float]:
    """The interval that holds the true share at least so often, whatever it is.

    Source: C. J. Clopper, E. S. Pearson, The use of confidence or fiducial limits illustrated in the case of the
    binomial, Biometrika 26 (1934); by quantiles of the beta distribution.
    """
    tail = (1 - level) / 2
    low = 0.0 if hits == 0 else beta_quantile(tail, hits, total - hits + 1)
    return low, 1.0 if hits == total else beta_quantile(1 - tail, hits + 1, total - hits)


def mean_of_shares(shares: Iterable[Measure]) -> Measure:
    """The plain mean of shares of separate groups of records, whose intervals are joined by their distances.

    Source: G. Y. Zou, A. Donner, Construction of confidence limits about effect measures: a general approach,
    Statistics in Medicine 27 (2008), equations for a sum. It stays within 0 to 1 and has a width where every
    share is 0 or 1.
    """
    found = [share for share in shares if share.value is not None]
    if not found:
        return undefined(text("measured.no_records"))
    below = above = total = 0.0
    for entry in found:
        value = entry.value or 0.0
        total += value
        below += (value - (entry.low or 0.0)) ** 2
        above += ((1.0 if entry.high is None else entry.high) - value) ** 2
    count = len(found)
    return Measure(
        total / count,
        max(0.0, (total - math.sqrt(below)) / count),
        min(1.0, (total + math.sqrt(above)) / count),
        text("measured.joined", method=found[0].method),
        records=sum(entry.records for entry in found),
        parts=tuple(part for entry in found for part in entry.parts),
    )


def by_influence(
    value: float,
    cells: Iterable[tuple[int, float]],
    confidence: Confidence,
    *,
    bounds: tuple[float, float],
    method: str = "delta",
) -> Measure:
    """A measure and the interval that the influences of its records give, cut to its bounds.

    Args: cells: of each cell its number of records and one record's influence, whose mean over all records is 0 (what
        is left of it by rounding is taken off).
    """
    listed = [(count, influence) for count, influence in cells if count]
    records = sum(count for count, _ in listed)
    if not records:
        return undefined(text("measured.no_records"))
    mean = math.fsum(count * influence for count, influence in listed) / records
    squares = math.fsum(count * (influence - mean) ** 2 for count, influence in listed)
    error = math.sqrt(squares) / records
    parts = tuple(count for count, _ in listed)
    if error * math.sqrt(records) < _ROUNDING:
        reason = text("measured.no_spread")
        # That no record is an exception is itself a small count, which a shared report may not tell.
        return Measure(value, reason=reason, records=records, parts=(*parts, 0))
    half, (least, most) = confidence.z * error, bounds
    return Measure(
        value, max(least, value - half), min(most, value + half), method, records=records, parts=parts
    )


def mean_loss(
    cells: Iterable[tuple[int, float]], confidence: Confidence, *, bounds: tuple[float, float]
) -> Measure:
    """The mean of a loss over records, with its interval. Args: cells: number of records, loss of one."""
    listed = [(count, loss) for count, loss in cells if count]
    records = sum(count for count, _ in listed)
    if not records:
        return undefined(text("measured.no_records"))
    mean = math.fsum(count * loss for count, loss in listed) / records
    return by_influence(mean, listed, confidence, bounds=bounds)
