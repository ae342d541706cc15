"""Criterion `c45`: the greatest gain ratio among the attributes of at least average gain, in integers.

Source: J. R. Quinlan, C4.5: Programs for Machine Learning (1993), chapter 2, and release 8 of his program, which also
has the two constants below. The gain ratio alone favours splits that part off a few records, whose split information
is near 0; so an attribute competes only if its gain is not below the average by more than 0.001 bits. Attributes of
very many values gain much by nothing but that, so they do not count in the average, unless all are like that.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from shared.tree.contingency import ContingencyTable
from shared.tree.criteria import SCALE_BITS, gain_ratio_fraction

_TOLERANCE: Final = (1, 1000)
"""In bits, below the average."""
_MANY_VALUES: Final = (3, 10)
"""An attribute has very many values from this share of the records of the training on."""


def many_values(values: Iterable[int], records: int) -> int | None:
    """From how many values on an attribute is left out of the average; None where that would leave none.

    Args: values: of each attribute of the study. records: of the whole training, not of a node.
    """
    share, of = _MANY_VALUES
    limit = -(-share * records // of)
    return limit if min(values) < limit else None


def best_of_average_gain(tables: Mapping[int, ContingencyTable], limit: int | None) -> int | None:
    """The attribute to split on; None where no attribute counts in the average.

    Gains and averages are compared as `1000 (k gain - sum) >= -k N`, all times 2^32, k attributes in the average;
    ratios by cross-multiplication. Of equal ratios the attribute first in `tables` wins.
    Args: tables: admissible attributes of one node. limit: as `many_values` gives it.
    """
    if not tables:
        return None
    ratios = {attribute: gain_ratio_fraction(table) for attribute, table in tables.items()}
    values = {attribute: len(table.rows) for attribute, table in tables.items()}
    return best_above_average(ratios, values, next(iter(tables.values())).total, limit)


def best_above_average(
    ratios: Mapping[int, tuple[int, int]], values: Mapping[int, int], records: int, limit: int | None
) -> int | None:
    """The same from numbers: gain and split information of each attribute, both times N 2^32, and its values.

    An attribute whose split information is 0 does not compete. Args: records: N.
    """
    varied = {attribute: ratio for attribute, ratio in ratios.items() if ratio[1] > 0}
    counted = [gain for attribute, (gain, _) in varied.items() if limit is None or values[attribute] < limit]
    best, best_gain, best_split = None, 0, 1
    for attribute, (gain, split) in varied.items():
        if not counted or not _competes(gain, counted, records):
            continue
        if best is None or gain * best_split > best_gain * split:
            best, best_gain, best_split = attribute, gain, split
    return best


def _competes(gain: int, counted: list[int], records: int) -> bool:
    bits, of = _TOLERANCE
    return of * (len(counted) * gain - sum(counted)) >= -bits * len(counted) * (records << SCALE_BITS)
