"""The tree under its names, in the form of the reference trees that other tools read.

A leaf is `{"leaf": label, "count": rows}`, with `"classes": {label: rows}` where several classes occur; a
split is `{"attribute": name, "branches": {value: subtree}}` in the order of the schema. The branches of a test with
two answers are `<= t` and `> t` (with a member `"threshold": t` for a number), or `!= value` and `= value`.
A value without records is a leaf with count 0 and the majority label of the node above. Counts are left
out where the tree has none.
"""

from __future__ import annotations

from typing import Any

from shared.tree.binary_tests import AtMost, branch_names
from shared.tree.model import Leaf, Split, Tree, fold
from shared.tree.numbers import decimal_text
from shared.tree.schema import Schema


def reference_form(tree: Tree, schema: Schema) -> dict[str, Any]:
    """The tree as nested dicts with the schema's names."""

    def of_leaf(leaf: Leaf) -> dict[str, Any]:
        named: dict[str, Any] = {"leaf": schema.classes[leaf.label]}
        if leaf.counts is None:
            return named
        present = {schema.classes[c]: count for c, count in enumerate(leaf.counts) if count}
        named["count"] = sum(leaf.counts)
        return named if len(present) < 2 else named | {"classes": present}

    def of_split(split: Split, kids: list[dict[str, Any]]) -> dict[str, Any]:
        attribute = schema.attributes[split.attribute]
        named: dict[str, Any] = {"attribute": attribute.name}
        if isinstance(split.test, AtMost):
            named["threshold"] = decimal_text(split.test.threshold)
        return named | {"branches": dict(zip(branch_names(attribute, split.test), kids, strict=True))}

    return fold(tree.root, of_leaf, of_split)
