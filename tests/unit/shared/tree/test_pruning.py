"""Pruning by training counts: bounds against the book and scipy, trees against C4.5 and scikit-learn."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.stats import beta
from sklearn.tree import DecisionTreeClassifier

from shared.errors import InputError, InternalError
from shared.tree.cost_complexity import Cost, prune_at, weakest_links
from shared.tree.counting import count_rows
from shared.tree.error_bounds import UNIT, Bound, worst_errors
from shared.tree.export import reference_form
from shared.tree.growing import grow
from shared.tree.growth_rules import GrowthRules
from shared.tree.model import Leaf, Node, Split, Tree
from shared.tree.pruning import Pruning, prune
from tests.support import reference_data
from tests.support.reference_data import ReferenceCase, differences

QUARTER = Fraction(1, 4)
needs_references = pytest.mark.skipif(not reference_data.is_available(), reason=reference_data.SKIP_REASON)


def rate(errors: int, records: int, bound: Bound, confidence: Fraction = QUARTER) -> float:
    return worst_errors(records, errors, confidence, bound) / UNIT / records


@pytest.mark.parametrize(
    ("records", "errors", "printed"), [(6, 0, 0.206), (9, 0, 0.143), (1, 0, 0.750), (16, 1, 0.157)]
)
def test_the_worked_example_of_the_book(records: int, errors: int, printed: float) -> None:
    """Quinlan 1993, section 4.2: U_25%(E, N) of the votes tree's leaves."""
    assert round(rate(errors, records, "c45"), 3) == printed


def test_the_sum_of_the_worked_example() -> None:
    """Its three leaves are predicted 3.273 errors, the leaf in their place 2.512: the subtree is cut."""
    leaves = sum(worst_errors(records, 0, QUARTER, "c45") for records in (6, 9, 1))
    leaf = worst_errors(16, 1, QUARTER, "c45")
    assert (round(leaves / UNIT, 2), round(leaf / UNIT, 2)) == (3.27, 2.51)


LARGE = [pytest.param(Fraction(1, of), (100, 4096, 10**6), marks=pytest.mark.long) for of in (2, 4, 20, 1000)]


@pytest.mark.parametrize(("confidence", "sizes"), [(QUARTER, (1, 2, 7, 16)), *LARGE])
def test_the_binomial_bound_is_clopper_and_pearsons(confidence: Fraction, sizes: tuple[int, ...]) -> None:
    pairs = [(n, e) for n in sizes for e in sorted({0, 1, n // 3, n // 2, n}) if e <= n]
    for records, errors in pairs:
        expected = beta.ppf(1 - float(confidence), errors + 1, records - errors) if errors < records else 1.0
        assert math.isclose(rate(errors, records, "binomial", confidence), expected, rel_tol=1e-9), (
            records,
            errors,
        )


@pytest.mark.long
def test_c45s_bound_is_near_the_exact_one() -> None:
    """Its normal approximation, with a deviation interpolated in a short table, is off by a fiftieth at most."""
    for records, errors in [(100, 1), (100, 20), (1000, 3), (10**6, 10**5), (10**9, 10**6)]:
        assert math.isclose(rate(errors, records, "c45"), rate(errors, records, "binomial"), rel_tol=0.05)


def test_bounds_grow_with_errors_and_shrink_with_confidence() -> None:
    for bound in ("c45", "binomial"):
        bounds = [worst_errors(50, errors, QUARTER, bound) for errors in range(0, 51, 5)]
        assert bounds == sorted(bounds)
        assert worst_errors(50, 5, Fraction(1, 100), bound) > worst_errors(50, 5, QUARTER, bound)
        assert worst_errors(0, 0, QUARTER, bound) == 0


def test_parts_of_records_lie_between_their_neighbours() -> None:
    for errors in (Fraction(1, 3), Fraction(5, 2)):
        low, high = (
            worst_errors(20, whole, QUARTER, "c45") for whole in (math.floor(errors), math.ceil(errors))
        )
        assert low < worst_errors(20, errors, QUARTER, "c45") < high
    parts = worst_errors(Fraction(5, 2), Fraction(1, 2), QUARTER, "binomial")
    assert abs(parts - worst_errors(2, 1, QUARTER, "binomial") * Fraction(5, 4)) <= 2


def test_bounds_stay_these_integers() -> None:
    """A vector: hospitals of different releases and machines must prune alike."""
    assert [
        worst_errors(*case, QUARTER, bound) for case in ((16, 1), (97, 12)) for bound in ("c45", "binomial")
    ] == [
        2506893958386,
        2553771419549,
        14963509120605,
        14961210426756,
    ]


# --- trees ----------------------------------------------------------------------------------------------------


def full_tree(case: ReferenceCase, **rules: Any) -> Tree:
    chosen = {"criterion": "c45", "min_node": 1, "min_child": 1, "max_depth": None, **rules}
    return grow(
        case.schema, GrowthRules(**chosen), lambda queries: count_rows(case.codes, queries, case.schema)
    ).tree


def spread(names: Sequence[str], quick: Sequence[str]) -> list[Any]:
    return [pytest.param(name, marks=[] if name in quick else [pytest.mark.long]) for name in names]


IMPURE = ["breast-cancer-ljubljana", "car-evaluation", "heart-2-hospitals-categorical", "spect-train", "vote"]


@needs_references
@pytest.mark.parametrize(
    "name", spread(reference_data.names("gain-ratio"), ["spect-train", "contact-lenses"])
)
def test_collapsed_trees_are_those_of_c45(name: str) -> None:
    """C4.5 release 8 before pruning, which goes on at gain 0 and collapses; it breaks exact ties otherwise."""
    case = reference_data.load(name, "gain-ratio")
    tree = full_tree(case, split_on_zero_gain=True, pruning=Pruning("collapse"))
    found = differences(reference_form(tree, case.schema), case.document["tree_c45"])
    ties = {"/".join(f"{a}={v}" for a, v in path) or "root" for path in case.ties}
    assert {difference.split(": ")[0] for difference in found} <= ties


@needs_references
@pytest.mark.parametrize("confidence", [Fraction(1, 4), Fraction(1, 20)])
@pytest.mark.parametrize("name", spread(IMPURE, ["spect-train"]))
def test_pessimistic_pruning_is_what_a_plain_reading_of_c45_does(name: str, confidence: Fraction) -> None:
    case = reference_data.load(name, "gain-ratio")
    full = full_tree(case)
    expected = plainly_pruned(full.root, float(confidence))
    pruned = prune(full, Pruning("pessimistic", confidence=confidence))
    assert pruned.sha256 == Tree(expected).sha256
    assert pruned.node_count < full.node_count


def plainly_pruned(node: Node, confidence: float) -> Node:
    """In floating point and by recursion: estimate, collapse and cut as the book and the program say."""
    assert node.counts is not None
    if isinstance(node, Leaf):
        return node
    assert node.majority is not None
    leaf = Leaf(node.majority, node.counts)
    if training_errors(node) >= errors_of(leaf):
        return leaf
    kids = tuple(plainly_pruned(kid, confidence) for kid in node.kids)
    whole = Split(node.attribute, kids, node.majority, node.counts)
    return leaf if estimate(leaf, confidence) <= estimate(whole, confidence) + 0.1 else whole


def errors_of(leaf: Leaf) -> int:
    assert leaf.counts is not None
    return sum(leaf.counts) - leaf.counts[leaf.label]


def training_errors(node: Node) -> int:
    return errors_of(node) if isinstance(node, Leaf) else sum(map(training_errors, node.kids))


def estimate(node: Node, confidence: float) -> float:
    if isinstance(node, Split):
        return sum(estimate(kid, confidence) for kid in node.kids)
    assert node.counts is not None
    n, e = sum(node.counts), errors_of(node)
    if n == 0:
        return 0.0
    if e == 0:
        return n * float(1 - confidence ** (1 / n))
    if e + 0.5 >= n:
        return e + 0.67 * (n - e)
    z = {0.25: 0.84 - 0.59 / 4, 0.05: 1.65}[confidence]
    upper = e + 0.5 + z * z / 2 + z * math.sqrt((e + 0.5) * (1 - (e + 0.5) / n) + z * z / 4)
    return n * upper / (n + z * z)


BOOK = Split(1, (Leaf(0, (6, 0)), Leaf(0, (9, 0)), Leaf(1, (0, 1))), 0, (15, 1))
"""The subtree of the worked example."""


def test_a_pruned_tree_keeps_counts_and_majorities() -> None:
    tree = Tree(Split(0, (BOOK, Leaf(1, (0, 20))), 1, (15, 21)))
    assert prune(tree, Pruning("pessimistic")) == Tree(
        Split(0, (Leaf(0, (15, 1)), Leaf(1, (0, 20))), 1, (15, 21))
    )
    assert prune(tree, Pruning("collapse")) == tree


def test_class_weights_prune_as_repeated_records_do() -> None:
    kept = prune(Tree(BOOK), Pruning("pessimistic"), lambda counts: (counts[0], 30 * counts[1]))
    assert isinstance(kept.root, Split)
    assert isinstance(prune(Tree(BOOK), Pruning("pessimistic")).root, Leaf)


@pytest.mark.parametrize("share", [Fraction(1, 2), Fraction(3, 4), Fraction(9, 10), Fraction(1)])
def test_a_majority_stop_is_the_tree_whose_growth_stops_there(share: Fraction) -> None:
    """Top down, as growth goes: a node that one class has the share of is asked nothing."""
    stops = 0

    def stopped(node: Node) -> Node:
        nonlocal stops
        if isinstance(node, Leaf):
            return node
        counts = node.counts or ()
        if max(counts) * share.denominator >= share.numerator * sum(counts):
            stops += 1
            return Leaf(node.majority or 0, counts)
        return Split(node.attribute, tuple(map(stopped, node.kids)), node.majority, counts)

    draw = random.Random(5)
    for _ in range(60):
        whole = random_node(draw, 4)
        assert prune(Tree(whole), Pruning("majority", share=share)) == Tree(stopped(whole))
    assert stops > (0 if share < 1 else -1)


def test_a_majority_stop_counts_records_as_they_weigh() -> None:
    node = Split(0, (Leaf(0, (9, 0)), Leaf(1, (0, 1))), 0, (9, 1))
    stop = Pruning("majority", share=Fraction(9, 10))
    assert prune(Tree(node), stop) == Tree(Leaf(0, (9, 1)))
    assert prune(Tree(node), stop, lambda counts: (counts[0], 2 * counts[1])) == Tree(node)


def test_trees_without_counts_or_majorities_are_our_bug() -> None:
    for tree in (Tree(Split(0, (Leaf(0), Leaf(1)), 0)), Tree(Split(0, (Leaf(0, (1, 0)), Leaf(1, (0, 1)))))):
        with pytest.raises(InternalError):
            prune(tree, Pruning("collapse"))


@pytest.mark.parametrize(
    "wrong",
    [
        {"method": "magic"},
        {"method": "pessimistic", "confidence": Fraction(0)},
        {"method": "pessimistic", "confidence": Fraction(3, 4)},
        {"method": "pessimistic", "bound": "guess"},
        {"method": "cost-complexity", "alpha": Fraction(-1)},
        {"method": "cost-complexity", "cost": "entropy"},
        {"method": "majority", "share": Fraction(0)},
        {"method": "majority", "share": Fraction(11, 10)},
    ],
)
def test_rules_that_no_manifest_can_say(wrong: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        Pruning(**wrong)


# --- cost complexity ------------------------------------------------------------------------------------------


def sklearn_tree(seed: int, weights: dict[int, int] | None = None) -> tuple[DecisionTreeClassifier, Any, Any]:
    generator = np.random.default_rng(seed)
    rows = generator.integers(0, 4, size=(300, 5))
    labels = (rows[:, 0] + rows[:, 1] + generator.integers(0, 4, size=300) > 4) * 1 + (rows[:, 2] == 3) * 1
    return DecisionTreeClassifier(random_state=0, class_weight=weights).fit(rows, labels), rows, labels


def with_counts(grown: DecisionTreeClassifier, rows: Any, labels: Any) -> tuple[Tree, dict[int, Node]]:
    """scikit-learn's tree with the records per class of each node, and which node is which."""
    reached = grown.decision_path(rows).toarray().astype(bool)
    counts = [np.bincount(labels[reached[:, node]], minlength=3) for node in range(grown.tree_.node_count)]
    nodes: dict[int, Node] = {}
    for node in range(grown.tree_.node_count - 1, -1, -1):
        here, left = tuple(map(int, counts[node])), int(grown.tree_.children_left[node])
        label = int(np.argmax(grown.tree_.value[node][0]))
        kids = () if left < 0 else (nodes[left], nodes[int(grown.tree_.children_right[node])])
        nodes[node] = Split(node, kids, label, here) if kids else Leaf(label, here)
    return Tree(nodes[0]), nodes


@pytest.mark.parametrize(
    "weights",
    [
        pytest.param(None, id="plain"),
        pytest.param({0: 1, 1: 3, 2: 7}, id="weighed", marks=pytest.mark.long),
    ],
)
def test_the_sequence_is_scikit_learns(weights: dict[int, int] | None) -> None:
    """Equal alphas, and at each of them the tree that scikit-learn keeps; it lists a repeated alpha several times."""
    grown, rows, labels = sklearn_tree(3, weights)
    tree, _ = with_counts(grown, rows, labels)
    factors = (1, 1, 1) if weights is None else tuple(weights.values())

    def weigh(counts: Any) -> tuple[int, ...]:
        return tuple(count * factor for count, factor in zip(counts, factors, strict=True))

    ours = weakest_links(tree, "gini", weigh)
    theirs = grown.cost_complexity_pruning_path(rows, labels).ccp_alphas
    assert [pruned.alpha for pruned in ours] == sorted({pruned.alpha for pruned in ours})
    near = {min(range(len(ours)), key=lambda k: abs(float(ours[k].alpha) - alpha)) for alpha in theirs}
    assert near == set(range(len(ours)))
    assert all(min(abs(float(p.alpha) - alpha) for p in ours) < 1e-12 for alpha in theirs)
    for here, following in itertools.pairwise(ours):
        between = float(here.alpha + following.alpha) / 2
        kept = DecisionTreeClassifier(random_state=0, class_weight=weights, ccp_alpha=between).fit(
            rows, labels
        )
        assert inner_nodes(here.tree) == features(kept, grown)
        assert prune_at(tree, (here.alpha + following.alpha) / 2, "gini", weigh) == here.tree


def inner_nodes(tree: Tree) -> list[tuple[int, ...]]:
    return [node.counts or () for node in tree.nodes() if isinstance(node, Split)]


def features(kept: DecisionTreeClassifier, grown: DecisionTreeClassifier) -> list[tuple[int, ...]]:
    """Records per class of the inner nodes in the same order, told apart by their weighted values."""
    found = []
    for node in range(kept.tree_.node_count):
        if kept.tree_.children_left[node] >= 0:
            shares = kept.tree_.value[node][0] * kept.tree_.weighted_n_node_samples[node]
            factors = [1, 1, 1] if grown.class_weight is None else list(grown.class_weight.values())
            found.append(tuple(round(share / factor) for share, factor in zip(shares, factors, strict=True)))
    return found


@pytest.mark.parametrize("cost", ["errors", "gini"])
def test_each_tree_of_the_sequence_is_the_best_of_all_subtrees(cost: Cost) -> None:
    """By trying every way of cutting a small tree: least cost + alpha leaves, and of those the smallest."""
    draw = random.Random(5)
    for _ in range(20):
        tree = Tree(random_node(draw, 3))
        for pruned in weakest_links(tree, cost):
            priced = [
                (price(each, cost, pruned.alpha, tree), leaves(each)) for each in all_prunings(tree.root)
            ]
            assert (price(pruned.tree.root, cost, pruned.alpha, tree), pruned.tree.leaf_count) == min(priced)


def random_node(draw: random.Random, depth: int) -> Node:
    if depth == 0 or draw.random() < 0.2:
        counts = (draw.randrange(9), draw.randrange(9))
        return Leaf(counts.index(max(counts)), counts)
    kids = tuple(random_node(draw, depth - 1) for _ in range(draw.choice((2, 2, 3))))
    total = (sum((kid.counts or (0, 0))[0] for kid in kids), sum((kid.counts or (0, 0))[1] for kid in kids))
    return Split(0, kids, total.index(max(total)), total)


def all_prunings(node: Node) -> list[Node]:
    if isinstance(node, Leaf):
        return [node]
    assert node.majority is not None
    kept = itertools.product(*map(all_prunings, node.kids))
    return [Leaf(node.majority, node.counts), *(Split(0, kids, node.majority, node.counts) for kids in kept)]


def leaves(node: Node) -> int:
    return Tree(node).leaf_count


def price(node: Node, cost: Cost, alpha: Fraction, whole: Tree) -> Fraction:
    def of(leaf: Leaf) -> Fraction:
        counts = leaf.counts or ()
        if cost == "errors":
            return Fraction(errors_of(leaf))
        return sum(counts) - Fraction(sum(count * count for count in counts), max(sum(counts), 1))

    found = [each for each in Tree(node).nodes() if isinstance(each, Leaf)]
    return sum(map(of, found), Fraction(0)) + alpha * sum(whole.root.counts or ()) * len(found)


@pytest.mark.parametrize(
    "pruning",
    [
        Pruning("majority", share=Fraction(2, 3)),
        Pruning("collapse"),
        Pruning("pessimistic"),
        Pruning("pessimistic", bound="binomial"),
        Pruning("cost-complexity", alpha=Fraction(1, 40)),
        Pruning("cost-complexity", alpha=Fraction(1, 40), cost="gini"),
    ],
    ids=str,
)
def test_counts_in_parts_of_records_prune_as_whole_ones(pruning: Pruning) -> None:
    """The same records written in thirds; a tree with fractional rows has such counts."""
    draw = random.Random(9)

    def in_thirds(node: Node) -> Node:
        counts = tuple(3 * count for count in node.counts or ())
        if isinstance(node, Leaf):
            return Leaf(node.label, counts, 3)
        kids = tuple(map(in_thirds, node.kids))
        return Split(node.attribute, kids, node.majority, counts, denominator=3)

    for _ in range(10):
        whole = random_node(draw, 3)
        parted = prune(Tree(in_thirds(whole)), pruning)
        assert parted == Tree(in_thirds(prune(Tree(whole), pruning).root))


def test_one_branch_and_noisy_counts_end_the_sequence() -> None:
    """Noise can leave the only leaf of a split with fewer errors than the split: no alpha tells them apart."""
    leaf = Leaf(0, (5, 0))
    only = Tree(Split(0, (leaf,), 0, (5, 3)))
    assert [pruned.tree for pruned in weakest_links(only, "errors")] == [only]
    above = Tree(Split(1, (Split(0, (leaf,), 0, (5, 3)), Leaf(1, (0, 4))), 0, (5, 7)))
    assert weakest_links(above, "errors")[-1].tree == Tree(Leaf(0, (5, 7)))
