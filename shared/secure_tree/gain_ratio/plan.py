"""What is public about a training or a prediction in mode G: sizes, widths, rules, and what follows from them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from shared.errors import InputError, InternalError
from shared.mpc.ring import U16, U32, Words, word_of_width
from shared.mpc.sharing import BinaryShare
from shared.tree.gain_ratio_growing import GainRatioRules
from shared.tree.gain_ratio_layer import table_scale
from shared.tree.numbers import MAX_CODE_BITS
from shared.tree.numeric import MAX_COLUMNS
from shared.tree.schema import MAX_CLASSES
from shared.wire.secret import MAX_HEIGHT, MAX_RECORDS

MAX_DECIMALS: Final = 9
"""Digits of a bound behind its point. Then 10^9 times a gain and 2 10^9 times N 2^s fit 64 bits together."""
_UNREACHED: Final = Fraction(2)


@dataclass(frozen=True, slots=True)
class GainRatioPlan:
    """The public side of mode G. `widths`: bits of each column's codes. `classes`: number of labels."""

    records: int
    widths: tuple[int, ...]
    classes: int
    rules: GainRatioRules

    def __post_init__(self) -> None:
        """Refuse what the trainer cannot do. Raises: InputError."""
        _expect(0 <= self.records <= MAX_RECORDS, "records", f"at most {MAX_RECORDS} records")
        _expect(1 <= len(self.widths) <= MAX_COLUMNS, "columns", f"1 to {MAX_COLUMNS} columns")
        _expect(
            all(1 <= width <= MAX_CODE_BITS for width in self.widths),
            "width",
            f"1 to {MAX_CODE_BITS} bits a column",
        )
        _expect(1 <= self.classes <= MAX_CLASSES, "classes", f"1 to {MAX_CLASSES} classes")
        _expect(self.rules.height <= MAX_HEIGHT, "height", f"at most {MAX_HEIGHT} layers")
        _expect(len(self.rules.grid) in (0, len(self.widths)), "grid", "one step a column, or none at all")
        for fraction in (self.rules.min_gain, self.rules.stop_share or 0):
            most = 10**MAX_DECIMALS
            _expect(fraction.denominator <= most, "rules", f"at most {MAX_DECIMALS} digits behind the point")
        steps_fit = all(step < 1 << MAX_CODE_BITS for step in self.rules.grid)
        _expect(steps_fit, "grid", f"steps below 2^{MAX_CODE_BITS}")

    @property
    def columns(self) -> int:
        """Number of numeric columns."""
        return len(self.widths)

    @property
    def height(self) -> int:
        """Layers of tests."""
        return self.rules.height

    @property
    def scale(self) -> int:
        """The s of the table F_s (protocol section 11, Width)."""
        return table_scale(self.records, self.classes)

    @property
    def lowest_numerator(self) -> int:
        """Below every Gain+: rounding moves it by at most (3 L + 3) / 2 from a number that is not negative.

        It is at most SplitInfo+ (which side a record is on tells no more than that), so N 2^s bounds both. The scale
        leaves N 2^s at most 2^31 - 2^7, and with three labels or more 2^30.7: all numerators are within 2^31 of here.
        """
        return -((3 * self.classes + 3) // 2) - 1

    @property
    def width(self) -> int:
        """Bits of the widest column."""
        return max(self.widths)

    @property
    def key_dtype(self) -> np.dtype[Any]:
        """Words that hold a code of any column."""
        return word_of_width(self.width)

    @property
    def column_dtype(self) -> np.dtype[Any]:
        """Words that hold a column's index."""
        return word_of_width(max(1, (self.columns - 1).bit_length()))

    @property
    def label_dtype(self) -> np.dtype[Any]:
        """Words that hold a class index."""
        return word_of_width(max(1, (self.classes - 1).bit_length()))

    @property
    def has_grid(self) -> bool:
        """Whether any column's thresholds are rounded up to a public grid."""
        return any(self.rules.grid)

    @property
    def least_gain(self) -> Fraction:
        """`min_gain`, or 2 bits where it is more: a test has two answers, so none gains that."""
        return min(self.rules.min_gain, _UNREACHED)

    @property
    def has_bounds(self) -> bool:
        """Whether a slot must reach more than a gain above 0 and `min_node`."""
        return self.least_gain > 0 or self.rules.stop_share is not None

    @property
    def slots(self) -> int:
        """Slots of all layers of tests together."""
        return (1 << self.height) - 1


@dataclass(frozen=True, slots=True)
class SharedRows:
    """Records as shares. `keys`: per column words of shape (n,). `classes`: class words (`class_words`), shape (n,)."""

    keys: tuple[BinaryShare, ...]
    classes: BinaryShare

    def checked(self, plan: GainRatioPlan) -> SharedRows:
        """The same, each column in the words its width needs.

        Raises: InternalError: shapes, kinds or words other than the plan says.
        """
        if not _fits(self.classes, plan.records, class_dtype(plan.classes)):
            raise InternalError(
                f"expected {plan.records} class words of {class_dtype(plan.classes)}, shared by XOR"
            )
        keys = checked_keys(plan, self.keys)
        if keys[0].shape != (plan.records,):
            raise InternalError(f"expected codes of {plan.records} records")
        return SharedRows(keys, self.classes)


def checked_keys(plan: GainRatioPlan, keys: Sequence[BinaryShare]) -> tuple[BinaryShare, ...]:
    """Columns of codes of any number of records, each in the words its width needs, without bits beyond the width.

    Raises: InternalError: kinds or words other than the plan says, or columns of different lengths.
    """
    if len(keys) != plan.columns:
        raise InternalError(f"expected {plan.columns} columns of codes, {len(keys)} came")
    records = keys[0].shape[0] if keys[0].own.ndim == 1 else -1
    for key, width in zip(keys, plan.widths, strict=True):
        if not _fits(key, records, key_input_dtype(width)):
            raise InternalError(f"expected codes of {width} bits in words of {key_input_dtype(width)}")
    return tuple(
        as_words(key, word_of_width(width)).masked((1 << width) - 1)
        for key, width in zip(keys, plan.widths, strict=True)
    )


def _fits(share: BinaryShare, records: int, dtype: np.dtype[Any]) -> bool:
    return isinstance(share, BinaryShare) and share.shape == (records,) and share.dtype == dtype


def as_words(x: BinaryShare, dtype: np.dtype[Any]) -> BinaryShare:
    """The same bits in another word type; local. Bits that do not fit are dropped."""
    return x if x.dtype == dtype else x.map(lambda part: part.astype(dtype))


def key_input_dtype(width_bits: int) -> np.dtype[Any]:
    """The words in which owners share a column: 16 bits, or 32 for wider codes."""
    return U16 if width_bits <= U16.itemsize * 8 else U32


def class_dtype(classes: int) -> np.dtype[Any]:
    """The words in which owners share class words."""
    return word_of_width(max(1, classes - 1))


def class_words(labels: Sequence[int] | NDArray[np.integer], classes: int) -> Words:
    """Class indices as words with one bit a class: bit c for class c, no bit for the last class.

    Args: labels: below `classes`, shape (n,).
    """
    bits = np.uint64(1) << np.asarray(labels, np.uint64)
    return (bits & np.uint64((1 << (classes - 1)) - 1)).astype(class_dtype(classes))


def _expect(holds: bool, where: str, expected: str) -> None:
    if not holds:
        raise InputError(f"expected {expected}", where=where, remedy="Change the study.")
