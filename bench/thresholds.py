"""What thresholds on a fine grid cost: `python -m bench.thresholds`, level by level.

Random numbers on a grid and a class that depends on two of them with some noise. Counting and growing are the
product's, of one hospital; ciphertexts and bytes are those of its contribution, as the cloud reckons them beforehand.
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
from shared.protocol.layout import contribution_bytes, contribution_ciphertexts
from shared.tree.growth_rules import GrowthRules
from shared.tree.ordered_growing import OrderedGrowth
from shared.tree.schema import Attribute, Schema

HOSPITALS: Final = 3
KEY_BITS: Final = 2048
_HEADS: Final = ("depth", "nodes", "cells", "ciphertexts", "kB", "count s", "decide s")


def main(
    records: Annotated[int, typer.Option(help="Records.")] = 100_000,
    numbers: Annotated[int, typer.Option(help="Numeric attributes, at least two.", min=2)] = 8,
    cuts: Annotated[int, typer.Option(help="Cuts of each.", min=1, max=254)] = 100,
    depth: Annotated[int, typer.Option(help="Most questions on a path.")] = 6,
    every_cell: Annotated[bool, typer.Option(help="Also ask for what follows from known sums.")] = False,
) -> None:
    """Print one line a level."""
    schema = Schema.create(
        (Attribute.numeric(f"n{index}", range(cuts)) for index in range(numbers)), "class", ("no", "yes")
    )
    rules = GrowthRules(criterion="c45", max_depth=depth, thresholds="gain", skip_known=not every_cell)
    table = Table(*_HEADS, title=f"{records:,} records, {numbers} numbers of {cuts} cuts")
    for line in levels(schema, codes_of(records, numbers, cuts), rules):
        table.add_row(*line)
    Console(width=110).print(table)


def codes_of(records: int, numbers: int, cuts: int) -> NDArray[np.uint8]:
    """Codes, shape (numbers + 1, records), the class last; the same at every run."""
    drawn = np.random.default_rng(1)
    full = drawn.integers(0, cuts + 1, (numbers, records), dtype=np.uint8)
    told = (full[0] > cuts // 3) ^ (full[1] > cuts // 2)
    return np.vstack([full, told ^ (drawn.random(records) < 0.2)])


def levels(schema: Schema, codes: NDArray[np.uint8], rules: GrowthRules) -> list[tuple[str, ...]]:
    """One line a level: what was asked, what it weighs, and how long it took."""
    growth = OrderedGrowth.start(schema, rules, bytes(32))
    sizes, lines = [len(attribute.values) for attribute in schema.attributes], []
    while not growth.is_done:
        level, nodes, slots = growth.depth, growth.open_nodes, growth.slot_count
        start = time.perf_counter()
        counts = count_codes(codes, sizes, schema.class_count, growth.queries)
        counted = time.perf_counter()
        growth = growth.absorb(counts)
        decided = time.perf_counter()
        lines.append(
            (
                *(f"{number:,}" for number in (level, nodes, slots)),
                f"{contribution_ciphertexts(slots, HOSPITALS, KEY_BITS):,}",
                f"{contribution_bytes(slots, (), HOSPITALS, KEY_BITS) / 1000:,.0f}",
                f"{counted - start:.2f}",
                f"{decided - counted:.2f}",
            )
        )
    return lines


if __name__ == "__main__":
    typer.run(main)
