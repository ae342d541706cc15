"""The public files read a second time, by pandas and plain look-up: no step is shared with the product's reading."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from decimal import Decimal, InvalidOperation

import numpy as np
from numpy.typing import NDArray

from hospital_agent.records.files import read_table
from hospital_agent.records.source import DataSettings
from shared.tree.binary_tests import AtMost, Equals
from shared.tree.model import Leaf, Node, Split, Tree
from shared.tree.numeric import column_keys, numeric_columns
from shared.tree.schema import Attribute, Schema
from shared.wire.contract import ContractAttribute
from tests.support.data_to_tree import Way
from tests.support.public_files import fields_of

Codes = NDArray[np.int64]
Row = tuple[int, ...]


def second_reading(way: Way) -> list[Row]:
    """All records as codes, the class last; only the names of columns are the product's."""
    if way.recipe.query is not None or way.recipe.derive is not None:
        return [_acute(fields, way.schema) for path in way.recipe.paths for fields in fields_of(path)]
    places = {
        column.name: column.position - 1
        for column in read_table(DataSettings(path=way.recipe.paths[0])).columns
    }
    columns = [places[(one.columns or [one.name])[0]] for one in way.contract.attributes]
    rows = []
    for path in way.recipe.paths:
        for fields in fields_of(path):
            for position, texts in way.recipe.recoded.items():
                fields[position - 1] = texts.get(fields[position - 1], fields[position - 1])
            codes = (
                _code(one, attribute, fields[column])
                for one, attribute, column in zip(
                    way.contract.attributes, way.schema.attributes, columns, strict=True
                )
            )
            rows.append((*codes, _place(way.schema.classes, fields[way.recipe.target - 1])))
    return rows


def _acute(fields: list[str], schema: Schema) -> Row:
    yes = [int(field == "yes") for field in fields]
    return (*yes[1:6], schema.classes.index(str(2 * yes[6] + yes[7])))


def _code(said: ContractAttribute, attribute: Attribute, text: str) -> int:
    gap = text in ("", "?") or any(_same(text, code) for code in said.missing_codes)
    number = None if gap else text.replace(",", ".")
    if attribute.fixed_point is not None:
        point = attribute.fixed_point
        value = point.missing if number is None else Decimal(number)
        assert value is not None
        return int((value - point.minimum).scaleb(point.decimals))
    if gap:
        return len(attribute.values) - 1
    if attribute.cuts is not None:
        return sum(Decimal(number or "") > Decimal(cut) for cut in attribute.cuts)
    return _place(attribute.values, text)


def _place(values: Sequence[str], text: str) -> int:
    return next(place for place, value in enumerate(values) if _same(value, text))


def _same(one: str, other: str) -> bool:
    if one == other:
        return True
    try:
        return Decimal(one) == Decimal(other)
    except InvalidOperation:
        return False


def contradictions(rows: Sequence[Row]) -> int:
    """Records that no tree can place: those outside the most frequent class of their equals."""
    found: dict[Row, Counter[int]] = {}
    for row in rows:
        found.setdefault(row[:-1], Counter())[row[-1]] += 1
    return sum(classes.total() - max(classes.values()) for classes in found.values())


def records_by_leaf(tree: Tree, rows: Sequence[Row], schema: Schema) -> list[tuple[Leaf, Codes]]:
    """Of each leaf the records that come there, shape (records, attributes and class)."""
    found, pending = [], [(tree.root, np.array(rows, dtype=np.int64))]
    while pending:
        node, here = pending.pop()
        if isinstance(node, Leaf):
            found.append((node, here))
            continue
        branch = _branches(node, here[:, node.attribute], schema)
        pending.extend((kid, here[branch == index]) for index, kid in enumerate(node.kids))
    return found


def errors_of(tree: Tree, rows: Sequence[Row], schema: Schema) -> int:
    """Records whose class is not that of their leaf."""
    return sum(
        int(np.count_nonzero(here[:, -1] != leaf.label)) for leaf, here in records_by_leaf(tree, rows, schema)
    )


def gaining_leaves(tree: Tree, rows: Sequence[Row], schema: Schema) -> int:
    """Leaves of several classes at which an attribute, or a test of mode gain-ratio, would still tell something."""
    binary = any(attribute.fixed_point is not None for attribute in schema.attributes)
    return sum(
        any(_gains(column, here[:, -1], as_numbers=binary) for column in _columns(here, schema, binary))
        for _, here in records_by_leaf(tree, rows, schema)
        if len(np.unique(here[:, -1])) > 1
    )


def _columns(here: Codes, schema: Schema, binary: bool) -> Iterable[Codes]:
    codes = list(here[:, :-1].T)
    return column_keys(numeric_columns(schema), codes).astype(np.int64) if binary else codes


def _gains(column: Codes, classes: Codes, *, as_numbers: bool) -> bool:
    """Whether a value, or a threshold, has other shares of classes than all records have, in integers."""
    values, places = np.unique(column, return_inverse=True)
    table = np.zeros((len(values), int(classes.max()) + 1), dtype=np.int64)
    np.add.at(table, (places, classes), 1)
    whole = table.sum(axis=0)
    if as_numbers:
        table = np.cumsum(table, axis=0)
    return bool((table * whole.sum() != np.outer(table.sum(axis=1), whole)).any())


def _branches(node: Split, codes: Codes, schema: Schema) -> Codes:
    if node.test is None:
        return codes
    if isinstance(node.test, Equals):
        return np.equal(codes, node.test.value).astype(np.int64)
    if isinstance(node.test, AtMost):
        point = schema.attributes[node.attribute].fixed_point
        assert point is not None
        threshold = int((node.test.threshold - point.minimum).scaleb(point.decimals))
        return np.greater(codes, threshold).astype(np.int64)
    return np.greater(codes, node.test.value).astype(np.int64)


def leaves_of(root: Node) -> int:
    """Leaves, those without records included."""
    leaves, pending = 0, [root]
    while pending:
        node = pending.pop()
        if isinstance(node, Leaf):
            leaves += 1
        else:
            pending.extend(node.kids)
    return leaves
