"""What noise costs in accuracy: `python -m bench.noise FILE`, noisy trees beside the exact one, on held-out rows.

Every third row is held out. The sums are those of the rest, with the noise of all hospitals together as the product
draws it; the growth is the product's. For each deviation: what the whole job may tell, then the share of held-out rows
that the trees answer rightly, mean and worst of several draws.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.console import Console
from rich.table import Table

from hospital_agent.noise import add_noise
from hospital_agent.records.counting import count_codes
from privet.demo.dealing import prepare
from privet.demo.options import DemoOptions
from shared.secure_tree.privacy import epsilon_of, own_variance, worst_case
from shared.tree.frontier import NodeQuery
from shared.tree.growing import grow
from shared.tree.growth_rules import GrowthRules
from shared.tree.model import Split, Tree
from shared.tree.schema import Schema
from shared.wire.noise import NoiseSpec

_HELD_OUT = 3
_HOSPITALS = 3
_DELTA = Decimal("0.000001")


def main(
    file: Annotated[Path, typer.Argument(help="A file without header.")],
    class_column: Annotated[str, typer.Option("--class", help="Position of the class column.")],
    sigma: Annotated[list[int], typer.Option(help="Deviations of the noise.")],
    depth: Annotated[int, typer.Option(help="Most questions on a path.")] = 4,
    least: Annotated[int, typer.Option(help="min_node, and twice min_child.")] = 100,
    draws: Annotated[int, typer.Option(help="Trees for each deviation.")] = 10,
) -> None:
    """Print the table."""
    options = DemoOptions(files=(file,), class_column=class_column, has_header=False)
    with tempfile.TemporaryDirectory() as room:
        records = prepare(options, Path(room))
    rows = np.array(records.rows, dtype=np.uint8)
    held = np.arange(len(rows)) % _HELD_OUT == 0
    train, test = np.ascontiguousarray(rows[~held].T), rows[held]
    table = Table("sigma", "epsilon", "right: mean", "worst", title=f"{file.name}, {train.shape[1]:,} rows")
    rules = {"min_node": least, "min_child": least // 2, "max_depth": depth, "skip_known": False}
    exact = _tree(records.schema, GrowthRules(**rules), train, None)
    table.add_row("none", "-", f"{_right(exact, test):.4f}", "")
    majority = np.bincount(test[:, -1]).max() / len(test)
    for deviation in sigma:
        noise = NoiseSpec(sigma_squared=deviation**2)
        rho = worst_case(noise, len(records.schema.attributes), depth, 0)
        noisy = GrowthRules(**rules, noisy=True)
        shares = [_right(_tree(records.schema, noisy, train, noise), test) for _ in range(draws)]
        mean = sum(shares) / len(shares)
        table.add_row(str(deviation), str(epsilon_of(rho, _DELTA)), f"{mean:.4f}", f"{min(shares):.4f}")
    table.add_row("", "", f"{majority:.4f}", "most frequent class")
    Console(width=100).print(table)


def _tree(schema: Schema, rules: GrowthRules, codes: np.ndarray, noise: NoiseSpec | None) -> Tree:
    sizes = [len(attribute.values) for attribute in schema.attributes]

    def count(queries: Sequence[NodeQuery]) -> list[int]:
        cells = count_codes(codes, sizes, schema.class_count, queries)
        if noise is None:
            return cells
        for _ in range(_HOSPITALS):
            cells = add_noise(cells, own_variance(noise, _HOSPITALS))
        return [max(0, cell) for cell in cells]

    return grow(schema, rules, count).tree


def _right(tree: Tree, rows: np.ndarray) -> float:
    """The share of rows whose class the tree gives."""
    right = 0
    for row in rows:
        node = tree.root
        while isinstance(node, Split):
            node = node.kids[row[node.attribute]]
        right += int(node.label == row[-1])
    return right / len(rows)


if __name__ == "__main__":
    typer.run(main)
