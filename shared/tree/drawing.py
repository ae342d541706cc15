"""The tree as text for a terminal: one line a branch, full names, counts where the tree has them.

lumbar pain?
├─ no: urine pushing?
│  ├─ no: none (30 records)
│  └─ yes: bladder inflammation (40 records)
└─ yes: nephritis (50 records: nephritis 31, both 19)
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from shared.tree.binary_tests import branch_names
from shared.tree.model import Leaf, Node, Tree, shown_number
from shared.tree.schema import Schema


def draw(tree: Tree, schema: Schema) -> str:
    """The drawing, without a line end after the last line."""
    return "\n".join(_lines(tree, schema))


def _lines(tree: Tree, schema: Schema) -> Iterator[str]:
    pending: list[tuple[Node, str, str]] = [(tree.root, "", "")]
    while pending:
        node, first, rest = pending.pop()
        yield first + _title(node, schema)
        if isinstance(node, Leaf):
            continue
        values = branch_names(schema.attributes[node.attribute], node.test)
        branches: list[tuple[Node, str, str]] = []
        for value, kid in zip(values, node.kids, strict=True):
            last = len(branches) == len(values) - 1
            corner, bar = ("└─ ", "   ") if last else ("├─ ", "│  ")
            branches.append((kid, f"{rest}{corner}{value or '(empty)'}: ", rest + bar))
        pending.extend(reversed(branches))


def _title(node: Node, schema: Schema) -> str:
    if not isinstance(node, Leaf):
        return f"{schema.attributes[node.attribute].name}?"
    label = schema.classes[node.label] or "(empty)"
    return label if node.weights is None else f"{label} ({_records(node.weights, schema)})"


def _records(weights: tuple[Fraction, ...], schema: Schema) -> str:
    counts = [shown_number(weight) for weight in weights]
    total = shown_number(sum(weights, start=Fraction(0)))
    if total == 0:
        return "no record: the majority above"
    text = "1 record" if total == 1 else f"{total} records"
    present = [f"{schema.classes[c] or '(empty)'} {count}" for c, count in enumerate(counts) if count]
    return text if len(present) == 1 else f"{text}: {', '.join(present)}"
