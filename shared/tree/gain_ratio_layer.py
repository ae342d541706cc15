"""One layer of mode G in the clear: the numbers of every position of every group (protocol section 11, steps 2 to 5).

A layer's records stand in one order, the groups (nodes) one after the other. Position i of a group means the test
`x <= x_i`. Everything is an integer; the secret trainer works with the same table and the same products, so the
two agree bit for bit. Choosing among the positions does not live here (`gain_ratio_growing`).
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shared.errors import InputError, InternalError
from shared.tree.criteria import f_entry

Integers = NDArray[np.int64]

MAX_SCALE_BITS: Final = 20
"""The greatest s of the table in mode G."""
_PRODUCT_BITS: Final = 62
_LOG_BITS: Final = 128


def table_scale(records: int, labels: int) -> int:
    """The s of the table F_s: the greatest up to 20 whose cross products stay below 2^62.

    Source: protocol section 11, "Width": `(N max(1, log2 L) 2^s + (3L+3)/2) (N 2^s + 3/2) < 2^62`, decided in
    integers with log2 L rounded up at its 128th bit.
    Raises: InputError: more records than any table fits (some 2^30). InternalError: a negative count, or no label.
    """
    if records < 0 or labels < 1:
        raise InternalError("a table is for some records and at least one label")
    log2_labels = max(1 << _LOG_BITS, -(-(f_entry(labels, _LOG_BITS) + 1) // labels))
    for s in range(MAX_SCALE_BITS, -1, -1):
        gain = (2 * records * log2_labels << s) + ((3 * labels + 3) << _LOG_BITS)
        split = (2 * records << s) + 3
        if gain * split < 1 << (_PRODUCT_BITS + 2 + _LOG_BITS):
            return s
    raise InputError(
        f"the gain ratio of {records} records in {labels} classes does not fit 64-bit products",
        where="records",
        remedy="Train on a sample of the records.",
    )


def class_counts(labels: ArrayLike, ends: ArrayLike, label_count: int) -> tuple[Integers, Integers]:
    """Records per class up to each position of its group, and of the whole group: `s0_k` and `s*_k`.

    Args: labels: class indices in the order of the layer, shape (n,), n at least 1. ends: 1 marks a group's last.
    Returns: two arrays of shape (label_count, n). The right side's counts are their difference.
    """
    codes, flags = np.asarray(labels), np.asarray(ends, dtype=bool)
    last = np.flatnonzero(flags)
    sizes = np.diff(last, prepend=-1)
    running = np.cumsum(codes == np.arange(label_count)[:, None], axis=1, dtype=np.int64)
    at_end = running[:, last]
    before = np.concatenate((np.zeros((label_count, 1), np.int64), at_end[:, :-1]), axis=1)
    return running - np.repeat(before, sizes, axis=1), np.repeat(at_end - before, sizes, axis=1)


def gain_numerators(left: Integers, whole: Integers, table: Integers) -> Integers:
    """`Gain+ = H+ - G+` of each position, times 2^s and the group's size, shape (n,).

    May miss 0 by a few units where the exact gain is 0, which the protocol accepts: all sides round alike.
    """
    return _impurity(whole, table) - _impurity(left, table) - _impurity(whole - left, table)


def split_denominators(left: Integers, whole: Integers, table: Integers) -> Integers:
    """`SplitInfo+` of each position from the sizes of the sides, shape (n,); 0 only where one side is empty.

    Args: left, whole: records up to the position and of its group, shape (n,).
    """
    split: Integers = table[whole] - table[left] - table[whole - left]
    return split


def valid_positions(
    values: ArrayLike, ends: ArrayLike, left: Integers, whole: Integers, min_child: int
) -> NDArray[np.bool_]:
    """Where a cut may be: not at the last of a group, not between equal values, both sides large enough.

    Args: values: of one attribute in the order of the layer, shape (n,). left, whole: as in `split_denominators`.
    """
    keys = np.asarray(values)
    differs = np.concatenate((keys[:-1] != keys[1:], [False]))
    return ~np.asarray(ends, dtype=bool) & differs & (left >= min_child) & (whole - left >= min_child)


def _impurity(counts: Integers, table: Integers) -> Integers:
    """`f(|Q|) - sum_k f(|Q_k|)` for counts of shape (labels, n)."""
    total: Integers = table[counts.sum(axis=0)]
    for row in counts:
        total = total - table[row]
    return total
