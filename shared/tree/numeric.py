"""A study's attributes as the numeric columns of mode G, and the columns' tests back as those of the attributes.

A function of the schema alone, so that every hospital and every party has the same columns:
- an attribute in fixed point is one column of its codes;
- an attribute of ordered values, and one of intervals between cut points, is one column of its value indices;
- an attribute treated by equality is one column of 0 and 1 for each value. With two values the second's says all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from shared.errors import InputError, InternalError
from shared.tree.binary_tests import AtMost, BinaryTest, Equals, UpTo
from shared.tree.gain_ratio_growing import GroupTest, Keys, Layer
from shared.tree.model import Leaf, Node, Split, Tree
from shared.tree.schema import Attribute, Schema

MAX_COLUMNS: Final = 1024
"""As many as attributes of a study (protocol section 13)."""


@dataclass(frozen=True, slots=True)
class NumericColumn:
    """One column: codes 0 to `greatest_code` made of the attribute with this index.

    `equals`: the value that the column's 1 stands for, None where the codes have an order.
    """

    attribute: int
    greatest_code: int
    equals: int | None = None

    @property
    def width_bits(self) -> int:
        """Bits of a code, 1 to 32."""
        return max(1, self.greatest_code.bit_length())


def numeric_columns(schema: Schema) -> tuple[NumericColumn, ...]:
    """The columns of a study in the order of its attributes and values.

    Raises: InputError: an attribute of listed values of which the study does not say how to treat them, or more than
        1024 columns.
    """
    columns = [
        column
        for index, attribute in enumerate(schema.attributes)
        for column in _columns_of(index, attribute)
    ]
    if len(columns) > MAX_COLUMNS:
        raise InputError(
            f"the attributes make {len(columns)} numeric columns, at most {MAX_COLUMNS} are allowed",
            where="schema",
            remedy="Treat attributes of many values as ordered, or leave some out.",
        )
    return tuple(columns)


def _columns_of(index: int, attribute: Attribute) -> tuple[NumericColumn, ...]:
    if attribute.fixed_point is not None:
        return (NumericColumn(index, attribute.fixed_point.greatest_code),)
    treatment = attribute.treat_as or (None if attribute.cuts is None else "ordered")
    values = len(attribute.values)
    if treatment == "ordered":
        return (NumericColumn(index, values - 1),)
    if treatment == "equality":
        first = 0 if values > 2 else values - 1
        return tuple(NumericColumn(index, 1, value) for value in range(first, values))
    raise InputError(
        "the study does not say how its values are compared",
        where=f"attribute {attribute.name!r}",
        remedy="Set treat_as to ordered or equality, or give the attribute a range and decimals.",
    )


def column_keys(columns: Sequence[NumericColumn], codes: Sequence[NDArray[Any]]) -> Keys:
    """The columns' codes of some records, uint32, shape (columns, n).

    Args: codes: for each attribute of the schema its codes, shape (n,): value indices, or codes in fixed point.
    """
    keys = np.empty((len(columns), len(codes[0])), dtype=np.uint32)
    for line, column in zip(keys, columns, strict=True):
        own = codes[column.attribute]
        line[:] = own if column.equals is None else own == column.equals
    return keys


def grid_steps(
    schema: Schema, columns: Sequence[NumericColumn], steps: Mapping[int, Decimal]
) -> tuple[int, ...]:
    """Each column's step of the grid in codes, 0 for none. Args: steps: by attribute index, in its own unit.

    The points of a grid are the minimum of the attribute plus the multiples of the step.
    Raises: InputError: an attribute that is not in fixed point, or a step that is not a multiple of its last decimal.
    """
    in_codes = {index: _step(schema.attributes[index], step) for index, step in steps.items()}
    return tuple(in_codes.get(column.attribute, 0) for column in columns)


def _step(attribute: Attribute, step: Decimal) -> int:
    where = f"grid of attribute {attribute.name!r}"
    if attribute.fixed_point is None:
        raise InputError("a grid is for an attribute with a range and decimals", where=where)
    scaled = step.scaleb(attribute.fixed_point.decimals)
    if scaled < 1 or scaled != scaled.to_integral_value():
        raise InputError(
            f"expected a positive step of at most {attribute.fixed_point.decimals} decimals", where=where
        )
    return int(scaled)


def binary_test(attribute: Attribute, column: NumericColumn, threshold: int) -> BinaryTest:
    """What `code <= threshold` of a column asks of its attribute; left and right stay where they are."""
    if attribute.fixed_point is not None:
        return AtMost(attribute.fixed_point.number_of(threshold))
    return UpTo(threshold) if column.equals is None else Equals(column.equals)


def tree_of_layers(layers: Sequence[Layer], schema: Schema, columns: Sequence[NumericColumn]) -> Tree:
    """The tree under the schema's attributes, without counts and majorities, which mode G keeps secret.

    Raises: InternalError: a layer whose nodes are not the kids of the tests above it.
    """
    below: list[Node] = []
    for layer in reversed(layers):
        kids = iter(below)
        if len(below) != 2 * sum(isinstance(node, GroupTest) for node in layer):
            raise InternalError("a layer of the tree does not hold two kids for each test above it")
        here: list[Node] = []
        for node in layer:
            if isinstance(node, GroupTest):
                column = columns[node.column]
                test = binary_test(schema.attributes[column.attribute], column, node.threshold)
                here.append(Split(column.attribute, (next(kids), next(kids)), test=test))
            else:
                here.append(Leaf(node.label))
        below = here
    (root,) = below
    return Tree(root)
