"""Rooms that do not know one another spell the same words: what a manifest may say, and what a tree is grown by."""

from __future__ import annotations

from typing import get_args

import pytest

from shared.contract.schema import MISSING
from shared.protocol import participation
from shared.tree import cost_complexity, error_bounds, growth_rules, prediction, pruning, schema
from shared.wire import contract, growing, manifest


@pytest.mark.parametrize(
    ("wire", "tree"),
    [
        (manifest.Criterion, growth_rules.Criterion),
        (manifest.Disclosure, prediction.Disclosure),
        (growing.Method, pruning.Method),
        (growing.Bound, error_bounds.Bound),
        (growing.Cost, cost_complexity.Cost),
        (contract.TreatAs, schema.TreatAs),
    ],
)
def test_words_are_the_same_in_the_same_order(wire: object, tree: object) -> None:
    assert get_args(wire) == get_args(tree) != ()


def test_bounds_and_names_are_the_same() -> None:
    assert growing.MAX_CLASS_WEIGHT == growth_rules.MAX_CLASS_WEIGHT
    assert set(get_args(schema.Missing)) < set(get_args(contract.MissingPolicy))
    assert MISSING in schema.MISSING_NAMES
    assert (manifest.MAX_VALUES, manifest.MAX_CLASSES) == (schema.MAX_VALUES, schema.MAX_CLASSES)


def test_a_pruning_that_says_only_its_method_is_the_rule_of_that_method() -> None:
    for method in get_args(growing.Method):
        needed = {"cost-complexity": {"alpha": "0"}, "majority": {"share": "1"}}.get(method, {})
        spec = growing.PruningSpec.model_validate({"method": method, **needed})
        assert participation.pruning_of(spec) == pruning.Pruning(method)
