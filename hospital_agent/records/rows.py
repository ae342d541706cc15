"""A hospital's frozen records row by row, as codes of the study: what the secret modes share among compute parties.

The Paillier profiles never need rows, only counts (`Snapshot.count`). What is made of these codes, one bit a value or
one word a numeric column, is the business of the mode; both are functions of the schema.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from shared.tree.schema import Schema

Codes = NDArray[np.uint8]
Numbers = NDArray[np.uint32]


@dataclass(frozen=True, slots=True)
class RecordRows:
    """Codes of n records in a fixed order, the same whenever they are asked for.

    `attributes`: for each attribute of the schema an array of shape (n,): uint8 value indices, or uint32 codes in fixed
    point. `classes`: uint8 class indices, shape (n,).
    """

    attributes: tuple[Codes | Numbers, ...] = field(repr=False)
    classes: Codes = field(repr=False)

    @classmethod
    def of(cls, schema: Schema, codes: Codes, numbers: Numbers) -> RecordRows:
        """From the lines that are kept. Args: codes: of the attributes of listed values, the classes last. numbers: of
        the attributes in fixed point. Both of shape (lines, n), in the order of the schema.
        """
        listed, measured = iter(codes[:-1]), iter(numbers)
        attributes = tuple(
            next(listed if attribute.fixed_point is None else measured) for attribute in schema.attributes
        )
        return cls(attributes, codes[-1])

    @property
    def row_count(self) -> int:
        """Number of records."""
        return int(self.classes.size)


def sorted_rows(attributes: Sequence[Codes], classes: Codes) -> RecordRows:
    """The records in the one order that depends on their contents alone, for a source without an order of its own."""
    order = np.lexsort((classes, *attributes))
    return RecordRows(tuple(line[order] for line in attributes), classes[order])
