"""Hospitals that can be told apart in every sum: hospital k holds each record of the clinic 2^k times.

Whatever is lost, doubled or counted from a wrong attempt changes the counts of the tree's root, and how says whose.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from shared.tree.counting import count_rows
from shared.tree.growing import grow
from shared.tree.growth_rules import GrowthRules
from shared.tree.model import Tree
from shared.tree.schema import Schema
from tests.support.clinic import CLASSES, NAMES, ROWS, SCHEMA

RULES = GrowthRules(min_node=1, min_child=1, max_depth=None)


def write_files(folder: Path, hospitals: Sequence[str]) -> Mapping[str, Path]:
    """Each hospital's CSV."""
    paths = {}
    for k, name in enumerate(hospitals):
        lines = [",".join((*map(str, row[:-1]), CLASSES[row[-1]])) for row in ROWS]
        header = ",".join((*NAMES, "diagnosis"))
        paths[name] = folder / f"{name}.csv"
        paths[name].write_text("\n".join([header, *(lines * 2**k)]) + "\n")
    return paths


def pooled_tree(hospitals: Sequence[str]) -> Tree:
    """The tree over all records of all hospitals, its counts included."""
    schema = Schema.from_json(SCHEMA)
    weight = sum(2**k for k in range(len(hospitals)))
    rows = ROWS * weight
    return grow(schema, RULES, lambda queries: count_rows(rows, queries, schema)).tree
