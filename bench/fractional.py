"""What parts of records cost: `python -m bench.fractional`, level by level, on records with gaps.

Random records of attributes of three values, a class that depends on four of them, and a share of fields lost; all
attributes are fractional, or with `--whole` missing is a value of its own. Counting and growing are the product's, of
one hospital; encryption is not part of it, its cost follows from the cells (`bench.ppsdt`).
"""

from __future__ import annotations

import time
from typing import Annotated, Final

import numpy as np
import typer
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from hospital_agent.records.counting import count_codes
from shared.tree.fractional_growing import FractionalGrowth
from shared.tree.growth_rules import GrowthRules
from shared.tree.growths import TreeGrowth, tree_growth
from shared.tree.populations import count_apart, disjoint_groups
from shared.tree.schema import Attribute, Schema

VALUES: Final = ("low", "middle", "high")
_DECISIVE: Final = 4
_HEADS: Final = ("depth", "nodes", "populations", "passes", "cells", "count s", "decide s", "bits of D")


def main(
    records: Annotated[int, typer.Option(help="Records.")] = 1_000_000,
    attributes: Annotated[int, typer.Option(help="Attributes, at least four.", min=_DECISIVE)] = 12,
    lost: Annotated[float, typer.Option(help="Share of fields without a value.")] = 0.05,
    depth: Annotated[int, typer.Option(help="Most questions on a path.")] = 6,
    whole: Annotated[bool, typer.Option(help="Missing as a value of its own.")] = False,
) -> None:
    """Print one line a level."""
    schema = schema_of(attributes, fractional=not whole)
    title = f"{records:,} records, {attributes} attributes, {lost:.0%} of fields lost"
    table = Table(*_HEADS, title=title)
    for line in levels(schema, codes_of(records, attributes, lost), GrowthRules(max_depth=depth)):
        table.add_row(*line)
    Console(width=110).print(table)


def schema_of(attributes: int, *, fractional: bool) -> Schema:
    """Attributes of three values and one for missing; three classes."""
    return Schema.create(
        (
            Attribute(f"a{index}", (*VALUES, "missing"), missing="fractional" if fractional else None)
            for index in range(attributes)
        ),
        "class",
        VALUES,
    )


def codes_of(records: int, attributes: int, lost: float) -> NDArray[np.uint8]:
    """Codes, shape (attributes + 1, records), the class last; the same at every run."""
    drawn = np.random.default_rng(1)
    full = drawn.integers(0, len(VALUES), (attributes, records), dtype=np.uint8)
    noise = drawn.integers(0, len(VALUES), records, dtype=np.uint8)
    labels = (full[:_DECISIVE].sum(axis=0) + noise) % len(VALUES)
    full[drawn.random(full.shape) < lost] = len(VALUES)
    return np.vstack([full, labels.astype(np.uint8)])


def levels(schema: Schema, codes: NDArray[np.uint8], rules: GrowthRules) -> list[tuple[str, ...]]:
    """One line a level: what was asked, and how long it took."""
    growth = tree_growth(schema).start(schema, rules, bytes(32))
    sizes, lines = [len(attribute.values) for attribute in schema.attributes], []
    while not growth.is_done:
        level, nodes, queries, slots = growth.depth, growth.open_nodes, growth.queries, growth.slot_count
        start = time.perf_counter()
        counts = count_apart(
            queries,
            lambda some: count_codes(codes, sizes, schema.class_count, some),
            lambda query: query.cell_count(schema),
        )
        counted = time.perf_counter()
        bits = _bits(growth)
        growth = growth.absorb(counts)
        seconds = (counted - start, time.perf_counter() - counted)
        told = (level, nodes, len(queries), len(disjoint_groups(queries)), slots)
        lines.append((*(f"{number:,}" for number in told), *(f"{s:.2f}" for s in seconds), str(bits)))
    return lines


def _bits(growth: TreeGrowth) -> int:
    """Length of the longest denominator of a weight."""
    if not isinstance(growth, FractionalGrowth):
        return 1
    return max(part.weight.denominator.bit_length() for node in growth.frontier for part in node.parts)


if __name__ == "__main__":
    typer.run(main)
