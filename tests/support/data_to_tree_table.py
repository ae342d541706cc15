"""One public file's trees, held against a second reading and the trees of other programs; and the page that tells it.

`python -m tests.support.data_to_tree_table` makes docs/data-to-tree.md anew, in some minutes.
"""

from __future__ import annotations

import shlex
import sys
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from shared.tree.counting import count_rows
from shared.tree.export import reference_form
from shared.tree.growing import grow
from shared.tree.growth_rules import Criterion, GrowthRules
from shared.tree.model import Tree
from tests.support.c45_numeric import grow_c45
from tests.support.data_to_tree import Way, prepare, reference_of, tree_of_numbers
from tests.support.public_files import RECIPES, Recipe
from tests.support.reference_data import differences
from tests.support.second_reading import (
    Row,
    contradictions,
    errors_of,
    gaining_leaves,
    leaves_of,
    second_reading,
)

PAGE = Path(__file__).parents[2] / "docs" / "data-to-tree.md"
CRITERIA: Final[dict[Criterion, tuple[str, str, str]]] = {
    "information-gain": ("information-gain", "tree", "Weka Id3"),
    "c45": ("gain-ratio", "tree_plain", "J48"),
}
"""Ours to the reference's name, the member that holds its tree, and the program that grew it."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of one file. `faults`: what should not be; `found`: the last four columns of the page."""

    faults: tuple[str, ...]
    found: tuple[str, str, str, str]


def outcome_of(way: Way) -> Outcome:
    """Trees grown, and held against the second reading and the reference."""
    rows = second_reading(way)
    return _of_numbers(way, rows) if way.recipe.measured else _of_counts(way, rows)


def _of_counts(way: Way, rows: list[Row]) -> Outcome:
    faults, sizes, equal = [], [], []
    for criterion, (file, member, program) in CRITERIA.items():
        tree = way.counted(criterion)
        form = reference_form(tree, way.schema)
        rules = GrowthRules(criterion, min_node=1, min_child=1, max_depth=None)
        again = grow(way.schema, rules, lambda queries: count_rows(rows, queries, way.schema)).tree
        faults += _faults(tree, rows, way, same=form == reference_form(again, way.schema))
        sizes.append(_size(tree))
        if way.recipe.reference is not None:
            document = reference_of(way.recipe.reference, file)
            expected = document.get("tree_first_of_tied", document[member])
            listed = document["attributes"]
            faults += differences(in_order_of(form, expected, listed), expected)
            equal.append(program)
    verdict = f"{' and '.join(equal)}: equal" if equal else "the second reading: equal"
    return Outcome(
        tuple(faults),
        (_shape(way), ", ".join(sizes), _wrong(errors_of(tree, rows, way.schema), rows), verdict),
    )


def _of_numbers(way: Way, rows: list[Row]) -> Outcome:
    attributes, classes = way.codes()
    tree = tree_of_numbers(way.schema, attributes, classes)
    table = np.array(rows, dtype=np.int64).T
    again = tree_of_numbers(way.schema, list(table[:-1]), table[-1])
    faults = _faults(tree, rows, way, same=tree.sha256 == again.sha256)
    verdict = "the second reading: equal"
    if way.recipe.reference is not None:
        c45 = reference_form(grow_c45(way.schema, attributes, classes), way.schema)
        verdict = _beside_j48(way.recipe, c45, reference_form(tree, way.schema))
    wrong = _wrong(errors_of(tree, rows, way.schema), rows)
    return Outcome(tuple(faults), (_shape(way), _size(tree), wrong, verdict))


def _beside_j48(recipe: Recipe, c45: dict[str, Any], ours: dict[str, Any]) -> str:
    """The tests' own C4.5 on the frozen numbers beside J48's tree, then the root of mode gain-ratio."""
    document = reference_of(recipe.reference or "", "gain-ratio")
    expected = document["tree_plain"]
    form = relabelled(in_order_of(c45, expected, document["attributes"]), recipe.labels)
    if not differences(form, expected):
        verdict = "J48: equal by C4.5's rules"
    elif _root(c45) == _root(expected):
        verdict = "J48: same root by C4.5's rules, gaps are numbers here"
    else:
        verdict = f"J48: root {_root(expected)}, gaps are numbers here"
    return f"{verdict}; mode gain-ratio: root {_root(ours)}"


def _faults(tree: Tree, rows: list[Row], way: Way, *, same: bool) -> list[str]:
    faults = [] if same else ["another tree from the second reading"]
    if gaining_leaves(tree, rows, way.schema):
        faults.append("a leaf of several classes at which something tells more")
    return faults


def _shape(way: Way) -> str:
    return f"{way.rows} x {len(way.schema.attributes)}"


def _size(tree: Tree) -> str:
    return f"{tree.node_count}/{leaves_of(tree.root)}"


def _wrong(errors: int, rows: list[Row]) -> str:
    return f"{errors} ({contradictions(rows)})"


def _root(form: dict[str, Any]) -> str:
    if "threshold" in form:
        return f"{form['attribute']} <= {float(form['threshold']):g}"
    return str(form["attribute"])


def in_order_of(ours: dict[str, Any], expected: dict[str, Any], listed: Mapping[str, Any]) -> dict[str, Any]:
    """Our tree with its branches in the reference's order; a missing value is written `?` there.

    An ARFF file declares values that no record has: their branches are left out.
    """
    if "branches" not in ours or ours.get("attribute") != expected.get("attribute"):
        return ours
    branches = {"?" if value == "missing" else value: kid for value, kid in ours["branches"].items()}
    values = listed[ours["attribute"]]
    unknown = [
        value
        for value, kid in branches.items()
        if values != "numeric" and value not in values and kid["count"] == 0
    ]
    order = [value for value in expected["branches"] if value in branches]
    rest = [value for value in branches if value not in (*order, *unknown)]
    kids = {
        value: in_order_of(branches[value], expected["branches"].get(value, {}), listed)
        for value in [*order, *rest]
    }
    return {**ours, "branches": kids}


def relabelled(form: dict[str, Any], labels: Mapping[str, str]) -> dict[str, Any]:
    """The tree with other names of classes."""
    if "branches" in form:
        return {
            **form,
            "branches": {value: relabelled(kid, labels) for value, kid in form["branches"].items()},
        }
    classes = {labels.get(label, label): count for label, count in form.get("classes", {}).items()}
    return {**form, "leaf": labels.get(form["leaf"], form["leaf"])} | (
        {"classes": classes} if classes else {}
    )


def line_of(name: str, way: Way, outcome: Outcome) -> str:
    """One line of the page's table."""
    recipe = way.recipe
    derive = [f"--derive {recipe.derive.name}"] if recipe.derive else []
    options = " ".join([f"--class {recipe.class_words}", *derive, *map(shlex.quote, recipe.options)])
    query = " (query)" if recipe.query else ""
    return f"| {name} | `{options}`{query} | {', '.join(way.advised)} | {' | '.join(outcome.found)} |"


def computed(name: str) -> tuple[str, Outcome]:
    """A file's line, and what came of it."""
    with tempfile.TemporaryDirectory() as folder:
        way = prepare(name, Path(folder))
        outcome = outcome_of(way)
        return line_of(name, way, outcome), outcome


def main(names: Iterable[str]) -> None:
    """Print the lines; without names the page's table is replaced by them."""
    lines = []
    for name in names or RECIPES:
        line, outcome = computed(name)
        lines.append(line)
        print(line, *outcome.faults, sep="\n", flush=True)
    if not names and PAGE.exists():
        old = PAGE.read_text(encoding="utf-8").splitlines()
        first = next(place for place, line in enumerate(old) if line.startswith("|---")) + 1
        last = next((place for place in range(first, len(old)) if not old[place].startswith("|")), len(old))
        PAGE.write_text("\n".join([*old[:first], *lines, *old[last:]]) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
