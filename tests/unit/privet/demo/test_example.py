"""The prediction that the demo proposes is one that its tree answers."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from privet.demo.dealing import DemoRecords, prepare
from privet.demo.example import example_words
from privet.demo.options import DemoOptions, Mode, parse_cuts
from privet.demo.pooled import grow_pooled
from shared.tree.growth_rules import GrowthRules
from shared.tree.model import Leaf, Split, Tree
from shared.tree.prediction import predict


def _record(words: str) -> dict[str, str]:
    pairs = [word.partition("=") for word in shlex.split(words) if word != "--set"]
    return {name: value for name, _, value in pairs}


def _answered_by_a_leaf(tree: Tree, records: DemoRecords) -> bool:
    record = _record(example_words(tree, records.schema))
    prediction = predict(tree.without_counts(), records.schema, record, "class")
    return prediction.note is None and bool(prediction.steps) == isinstance(tree.root, Split)


@pytest.mark.parametrize("mode", ["ppsdt", "id3", "gain-ratio"])
@pytest.mark.parametrize("cuts", [(), ("temp=37,38", "age=40")])
def test_it_goes_down_to_a_leaf(tmp_path: Path, mode: Mode, cuts: tuple[str, ...]) -> None:
    file = tmp_path / "ward.csv"
    lines = [
        f"{20 + 7 * n % 50},{36 + n % 30 / 10},{'ab c'[n % 4]},{'yes' if n % 30 > 14 and n % 4 < 3 else 'no'}"
        for n in range(120)
    ]
    file.write_text("\n".join(["age,temp,ward unit,ill", *lines]) + "\n")
    rules = GrowthRules(criterion="gain-ratio" if mode == "gain-ratio" else "information-gain", max_depth=4)
    options = DemoOptions(files=(file,), mode=mode, rules=rules, cuts=parse_cuts(cuts), class_column="ill")
    records = prepare(options, tmp_path)
    tree = grow_pooled(records, rules, mode).tree
    assert isinstance(tree.root, Split)
    assert _answered_by_a_leaf(tree, records)


def test_of_a_tree_that_asks_nothing_any_attribute_is_named(tmp_path: Path) -> None:
    records = prepare(DemoOptions(), tmp_path)
    assert _answered_by_a_leaf(Tree(Leaf(0)), records)
