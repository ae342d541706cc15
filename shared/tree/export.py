"""The tree under its names, in the form of the reference trees that other tools read.

A leaf is `{"leaf": label, "count": rows}`, with `"classes": {label: rows}` where several classes occur; a
split is `{"attribute": name, "branches": {value: subtree}}` in the order of the schema. The branches of a test with
two answers are `<= t` and `> t` (with a member `"threshold": t` for a number), or `!= value` and `= value`.
A value without records is a leaf with count 0 and the majority label of the node above. Counts are left
out where the tree has none; where parts of records came to a leaf they are not whole, and rounded to two digits.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from shared.tree.binary_tests import AtMost, branch_names
from shared.tree.model import Leaf, Split, Tree, fold, shown_number
from shared.tree.numbers import decimal_text
from shared.tree.schema import Schema


def reference_form(tree: Tree, schema: Schema) -> dict[str, Any]:
    """The tree as nested dicts with the schema's names."""

    def of_leaf(leaf: Leaf) -> dict[str, Any]:
        named: dict[str, Any] = {"leaf": schema.classes[leaf.label]}
        if leaf.weights is None:
            return named
        present = {schema.classes[c]: shown_number(weight) for c, weight in enumerate(leaf.weights) if weight}
        named["count"] = shown_number(sum(leaf.weights, start=Fraction(0)))
        return named if len(present) < 2 else named | {"classes": present}

    def of_split(split: Split, kids: list[dict[str, Any]]) -> dict[str, Any]:
        attribute = schema.attributes[split.attribute]
        named: dict[str, Any] = {"attribute": attribute.name}
        if isinstance(split.test, AtMost):
            named["threshold"] = decimal_text(split.test.threshold)
        return named | {"branches": dict(zip(branch_names(attribute, split.test), kids, strict=True))}

    return fold(tree.root, of_leaf, of_split)
