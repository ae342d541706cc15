"""Cut points of a measurement from a histogram over public edges: quantiles that tell no single record's number.

A histogram counts the records at or below the first edge, between neighbouring edges, and above the last. Every cut is
one of the edges, so nothing about a number shows but what the counts show. All of it is integer arithmetic.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from itertools import accumulate, pairwise
from typing import Final

from shared.errors import InputError, InternalError

MAX_EDGES: Final = 254
"""An attribute has at most 256 values: intervals, and one for missing."""
_STEPS: Final = (1, 2, 5)


def grid(minimum: Decimal, maximum: Decimal, most: int = 50) -> tuple[Decimal, ...]:
    """Edges that are equally far apart, on round numbers, for a histogram.

    The step is the smallest of 1, 2, 5 times a power of ten with which at most `most` edges lie above `minimum` and
    below `maximum`. Empty where they are the same.
    Raises: InputError: `most` is not 1 to 254.
    """
    if not 1 <= most <= MAX_EDGES:
        raise InputError(f"expected 1 to {MAX_EDGES} edges, got {most}", where="edges")
    width = maximum - minimum
    if width <= 0:
        return ()
    finest = width.adjusted() - len(str(most))
    for exponent in range(finest, finest + 4):
        for factor in _STEPS:
            step = Decimal(factor).scaleb(exponent)
            first = int((minimum / step).to_integral_value(ROUND_FLOOR)) + 1
            last = int((maximum / step).to_integral_value(ROUND_CEILING)) - 1
            if last - first < most:
                return tuple(place * step for place in range(first, last + 1))
    raise InternalError("no step of a grid was coarse enough")


def every_number(
    minimum: Decimal, maximum: Decimal, decimals: int, most: int = MAX_EDGES
) -> tuple[Decimal, ...] | None:
    """Each number of so many decimals from `minimum` to `maximum` as an edge, so that an interval holds one number.

    For thresholds, which are then as exact as the numbers. None where there are more than `most`, or only one.

    Raises: InputError: `most` is not 1 to 254.
    """
    if not 1 <= most <= MAX_EDGES:
        raise InputError(f"expected 1 to {MAX_EDGES} edges, got {most}", where="edges")
    step = Decimal(1).scaleb(-decimals)
    numbers = int((maximum - minimum) / step) + 1
    return tuple(minimum + place * step for place in range(numbers)) if 1 < numbers <= most else None


def cut_points(
    edges: Sequence[Decimal], counts: Sequence[int], parts: int, least: int = 1
) -> tuple[Decimal, ...]:
    """The edges that part the records into `parts` intervals as equal as they can be.

    The k-th cut is the smallest edge that at least k/parts of the records do not exceed (the inverse of the
    distribution function, Hyndman 1996, definition 1); equal numbers are never parted, so intervals may be uneven and
    fewer. A cut is left out where it would close an interval of fewer than `least` records, or leave fewer above it.

    Args: edges: rising. counts: records at or below the first edge, between neighbours, above the last; one more than
        edges.
    Raises: InputError: edges that do not rise, another number of counts, a count below 0, fewer than 2 parts.
    """
    _check(edges, counts, parts)
    total, reached = sum(counts), list(accumulate(counts))
    found: list[Decimal] = []
    below = 0
    for part in range(1, parts):
        place = next(n for n, count in enumerate(reached) if count * parts >= part * total)
        if place == len(edges) or (found and edges[place] <= found[-1]):
            continue
        if reached[place] - below >= least and total - reached[place] >= least:
            found.append(edges[place])
            below = reached[place]
    return tuple(found)


def _check(edges: Sequence[Decimal], counts: Sequence[int], parts: int) -> None:
    if parts < 2:
        raise InputError(f"expected 2 parts or more, got {parts}", where="parts")
    if len(counts) != len(edges) + 1 or any(count < 0 for count in counts):
        raise InputError(
            f"{len(edges)} edges need {len(edges) + 1} counts of 0 or more, got {len(counts)}",
            where="histogram",
        )
    if any(low >= high for low, high in pairwise(edges)):
        raise InputError("the edges do not rise", where="histogram", remedy="Sort them, and drop repeats.")
