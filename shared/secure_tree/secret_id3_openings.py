"""Mode I: how many values of each kind a job must have opened, read off its final tree alone."""

from __future__ import annotations

from collections.abc import Iterator

from shared.tree.growth_rules import GrowthRules
from shared.tree.model import Node, Split, Tree
from shared.tree.schema import Schema


def openings_shown_by(
    tree: Tree, schema: Schema, rules: GrowthRules, records: int, *, open_empty: bool = False
) -> dict[str, int]:
    """Numbers of opened values by kind, as `meter.opened` has them after `secret_id3` (places under shuffles apart).

    One choice for every node that could have split: not for children at the greatest depth, nor below the last open
    attribute. One class for every leaf. With `open_empty` one flag for every child. A job without records, or with a
    single class, opens nothing.
    """
    if records == 0 or schema.class_count == 1:
        return {}
    depths = list(_depths(tree.root, 0))
    last = len(schema.attributes) if rules.max_depth is None else min(rules.max_depth, len(schema.attributes))
    kids = len(depths) - 1
    opened = {"choice": sum(depth < last for depth in depths), "leaf_class": tree.leaf_count}
    return opened | ({"emptiness": kids} if open_empty and kids else {})


def _depths(node: Node, depth: int) -> Iterator[int]:
    yield depth
    if isinstance(node, Split):
        for kid in node.kids:
            yield from _depths(kid, depth + 1)
