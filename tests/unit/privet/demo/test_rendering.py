"""The demo's result for people and for tools, both ways it can come out."""

from copy import deepcopy
from dataclasses import replace
from pathlib import Path

import pytest

from privet.demo.costs import add_up
from privet.demo.dealing import prepare
from privet.demo.learned import what_each_party_learned
from privet.demo.options import DemoOptions
from privet.demo.pooled import grow_pooled
from privet.demo.rendering import render
from privet.demo.result import DemoResult, HeldTree, RoundSizes, SecretWork
from shared.ids import AgentId
from shared.tree.drawing import draw
from shared.tree.export import reference_form

WORK = {"count": 0.25, "encrypt": 0.5, "decrypt": 0.125, "choose": 0.0625, "transport": 1.0}


@pytest.fixture
def result(tmp_path: Path) -> DemoResult:
    options = DemoOptions()
    records = prepare(options, tmp_path)
    pooled = grow_pooled(records, options.rules)
    costs = add_up(1.5, [WORK, WORK, WORK], 0.03, [{"aggregate": 300, "contribution": 3000}] * 3)
    sizes = (RoundSizes(1, 40), RoundSizes(2, 16), RoundSizes(2, 12))
    held = HeldTree(
        pooled.tree.sha256, reference_form(pooled.tree, records.schema), draw(pooled.tree, records.schema)
    )
    trees = {hospital.id: held for hospital in records.hospitals}
    return DemoResult(options, records, sizes, trees, pooled, costs)


def test_the_document_has_the_keys_that_tools_rely_on(result: DemoResult) -> None:
    document = result.document()
    assert document["equal"] is True
    assert (document["hospitals"], document["rows"], document["rounds"]) == (3, 120, 3)
    assert document["seconds"] == {
        "total": 1.5,
        "count": 0.75,
        "encrypt": 1.5,
        "add": 0.03,
        "decrypt": 0.375,
        "choose": 0.1875,
        "transport": 3.0,
    }
    assert document["bytes"] == {"total": 9900, "contribution": 9000, "aggregate": 900}


def test_one_hospital_with_another_tree_makes_them_unequal(result: DemoResult) -> None:
    leaf = HeldTree("0" * 64, {"leaf": "none", "count": 120}, "none (120 records)")
    other = replace(result, trees={**result.trees, "h2": leaf})
    assert not other.equal
    assert other.document()["equal"] is False
    assert "same tree as on the pooled records: no\n" in render(other, [])


def test_other_counts_in_the_same_tree_make_them_unequal(result: DemoResult) -> None:
    form = deepcopy(dict(result.tree.form))
    form["branches"]["0"]["branches"]["0"]["count"] += 1
    forged = replace(result.tree, form=form)
    assert forged.sha256 == result.pooled.tree.sha256
    assert not replace(result, trees={**result.trees, "h3": forged}).equal


def test_the_text_says_all_that_was_asked_for(result: DemoResult) -> None:
    text = render(result, ["privet demo --stay"])
    assert "same tree as on the pooled records: yes\n" in text
    assert text.count(result.pooled.tree.sha256) == 2
    assert "3 rounds with 1, 2, 2 open nodes and 40, 16, 12 sums" in " ".join(text.split())
    assert "privet demo --stay" in text
    assert not any(line != line.rstrip() for line in text.splitlines())


def test_the_paper_profile_is_told_with_its_leaks(result: DemoResult) -> None:
    paper = replace(result, options=replace(result.options, profile="paper"))
    learned = dict(what_each_party_learned(paper))
    assert "5 attributes" in learned["cloud"]
    assert learned["hospital and cloud"] == "together the counts of each single hospital"


def test_a_secret_run_tells_what_was_opened_and_what_questions_without_counts_mean(
    result: DemoResult,
) -> None:
    sent = {AgentId(f"h{k}"): 1000 * k for k in (1, 2, 3)}
    one_class = {"attribute": "nausea", "branches": {"0": {"leaf": "none"}, "1": {"leaf": "none"}}}
    form = {"attribute": "pain", "branches": {"0": one_class, "1": {"leaf": "both"}}}
    told = {hospital: replace(tree, form=form) for hospital, tree in result.trees.items()}
    work = SecretWork(61, sent, {"choice": 11, "leaf_class": 6})
    secret = replace(result, options=replace(result.options, mode="id3"), secret=work, trees=told)
    text = render(secret, [])
    assert "11 choices (leaf, or the attribute asked), 6 classes of leaves" in text
    assert "Below 1 of 2 questions all leaves have one class" in text
    assert not any(line != line.rstrip() for line in text.splitlines())
    assert "questions all leaves" not in render(result, [])
    assert "at the end" not in text


@pytest.mark.parametrize(
    ("form", "opened"),
    [
        ({"leaf": "none"}, "0 tests, 1 leaf"),
        (
            {"attribute": "pain", "branches": {"0": {"leaf": "none"}, "1": {"leaf": "both"}}},
            "1 test, 2 leaves",
        ),
    ],
)
def test_mode_gain_ratio_tells_what_was_opened_at_its_end(
    result: DemoResult, form: dict[str, object], opened: str
) -> None:
    told = {hospital: replace(tree, form=form) for hospital, tree in result.trees.items()}
    work = SecretWork(900, dict.fromkeys(result.trees, 1000), {"position under a shuffle": 278_241})
    secret = replace(result, options=replace(result.options, mode="gain-ratio"), secret=work, trees=told)
    text = render(secret, [])
    assert "opened                 278,241 positions under fresh shuffles\n" in text
    assert f"at the end, to all     the tree: {opened}\n" in text
