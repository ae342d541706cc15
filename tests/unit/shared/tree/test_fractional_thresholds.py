"""Thresholds where missing values are fractional: J48's trees on clinical files with gaps, an oracle by rows.

The oracle gives every record a weight and lets it walk by itself; scores have 60 digits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hospital_agent.records.counting import count_codes
from hospital_agent.records.rows import RecordRows
from hospital_agent.records.walking import places_of
from shared.errors import InputError
from shared.tree.binary_tests import UpTo
from shared.tree.counting import count_rows
from shared.tree.export import reference_form
from shared.tree.fractional_growing import FractionalGrowth
from shared.tree.frontier import NodeQuery
from shared.tree.growth_rules import GrowthRules
from shared.tree.growths import tree_growth
from shared.tree.model import Leaf, Node, Split
from shared.tree.paths import NodePath, Side
from shared.tree.populations import count_apart, disjoint_groups
from shared.tree.prediction import predict
from shared.tree.pruning import Pruning
from shared.tree.schema import Attribute, Schema
from shared.tree.thresholds import is_ordered
from tests.support import ordered_reference, reference_data

PLAIN = GrowthRules(criterion="c45", min_node=1, min_child=1, max_depth=None, thresholds="gain")
WITH_DATA = pytest.mark.skipif(not reference_data.is_available(), reason=reference_data.SKIP_REASON)
TIE = Decimal(1).scaleb(-40)
Row = tuple[int, ...]
Weighted = list[tuple[Fraction, Row]]


def grown(schema: Schema, rules: GrowthRules, rows: Sequence[Row]) -> FractionalGrowth:
    """A growth driven to its end, through its journal's form at each level."""
    growth = FractionalGrowth.start(schema, rules, bytes(32))
    while not growth.is_done:
        growth = growth.absorb(count_rows(rows, growth.queries, schema))
        assert FractionalGrowth.from_json(schema, rules, growth.to_json()) == growth
    return growth


@WITH_DATA
@pytest.mark.parametrize(
    "name",
    [
        "breast-cancer-wisconsin",
        "heart-cleveland",
        pytest.param("heart-hungarian", marks=pytest.mark.long),
        pytest.param("heart-2-hospitals", marks=pytest.mark.long),
    ],
)
def test_trees_of_files_with_gaps_are_j48s(name: str) -> None:
    case = ordered_reference.load(name)
    assert case.is_whole
    assert any(attribute.is_fractional for attribute in case.schema.attributes)
    tree = grown(case.schema, PLAIN, case.codes).tree
    assert tree.node_count == case.nodes
    assert ordered_reference.parted_otherwise(reference_form(tree, case.schema), case.tree) == []
    thresholds = ordered_reference.thresholds_of(reference_form(tree, case.schema))
    assert thresholds == ordered_reference.thresholds_of(case.tree)


@WITH_DATA
@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("heart-cleveland", []),
        ("breast-cancer-wisconsin", ["nucleoli is not nuclei"]),
        ("heart-hungarian", ["sex is not restecg"]),
        ("heart-2-hospitals", ["fbs is not cp", "ca is not cp"]),
    ],
)
def test_with_the_penalty_and_collapsed_they_differ_from_quinlans_where_j48_does(
    name: str, known: list[str]
) -> None:
    """The README of the reference trees names these nodes, where both programs weigh alike but round differently."""
    case = ordered_reference.load(name)
    rules = replace(PLAIN, thresholds="gain-mdl", pruning=Pruning("collapse"))
    form = reference_form(grown(case.schema, rules, case.codes).tree, case.schema)
    found = ordered_reference.parted_otherwise(form, case.collapsed)
    assert [text.rpartition(": ")[2] for text in found] == known


@dataclass(frozen=True)
class Sample:
    """A schema of which some attributes are fractional, and rows of codes with the class last."""

    schema: Schema
    rows: list[Row]


@st.composite
def samples(draw: st.DrawFn) -> Sample:
    """Few records of few attributes, some fields lost."""
    attributes = []
    for place in range(draw(st.integers(1, 3))):
        name, size = f"a{place}", draw(st.integers(2, 5))
        is_fractional, kind = (
            draw(st.booleans()),
            draw(st.sampled_from(["cuts", "cuts", "ordered", "listed"])),
        )
        if kind == "cuts":
            made = Attribute.numeric(name, range(size - 1), "missing" if is_fractional else None)
        else:
            values = (*map(str, range(size)), *(["missing"] if is_fractional else []))
            made = Attribute(name, values, treat_as="ordered" if kind == "ordered" else None)
        attributes.append(replace(made, missing="fractional") if is_fractional else made)
    if not any(attribute.is_fractional for attribute in attributes):
        attributes.append(Attribute("last", ("x", "y", "missing"), missing="fractional"))
    schema = Schema.create(attributes, "class", ["no", "yes"])
    row = st.tuples(*(st.integers(0, len(a.values) - 1) for a in attributes), st.integers(0, 1))
    return Sample(schema, draw(st.lists(row, min_size=1, max_size=40)))


@given(samples(), st.sampled_from(["gain", "gain-mdl"]), st.integers(1, 3), st.integers(1, 4))
@settings(max_examples=60)
def test_every_split_is_the_best_of_records_in_parts(
    sample: Sample, thresholds: Any, min_child: int, depth: int
) -> None:
    rules = GrowthRules(
        min_node=1, min_child=min_child, max_depth=depth, thresholds=thresholds, criterion="information-gain"
    )
    assert tree_growth(sample.schema, rules) is FractionalGrowth
    tree = grown(sample.schema, rules, sample.rows).tree
    check(tree.root, sample.schema, rules, [(Fraction(1), row) for row in sample.rows], (), 0)
    assert grown(sample.schema, replace(rules, skip_known=False), sample.rows).tree == tree


def check(
    node: Node, schema: Schema, rules: GrowthRules, records: Weighted, used: tuple[int, ...], depth: int
) -> None:
    sums = tuple(sum((w for w, row in records if row[-1] == c), start=Fraction(0)) for c in (0, 1))
    assert node.weights == sums
    found = {} if depth == rules.max_depth or 0 in sums else offers(schema, rules, records, used)
    best = max(found.values(), default=Decimal(0))
    if isinstance(node, Leaf):
        assert best < TIE
        return
    cut = node.test.value if isinstance(node.test, UpTo) else None
    mine = [
        gained
        for (attribute, place), gained in found.items()
        if attribute == node.attribute and alike(records, attribute, place, cut)
    ]
    assert best - max(mine) < TIE < best
    kids = halves(schema, records, node.attribute, cut)
    for kid, inside in zip(node.kids, kids, strict=True):
        check(kid, schema, rules, inside, used if cut is not None else (*used, node.attribute), depth + 1)


def alike(records: Weighted, attribute: int, one: int | None, other: int | None) -> bool:
    """Whether two thresholds part the records with a value alike."""
    if one is None or other is None:
        return one is other
    return all((row[attribute] > one) == (row[attribute] > other) for w, row in records if w)


def lost(schema: Schema, attribute: int, row: Row) -> bool:
    return row[attribute] >= schema.attributes[attribute].branch_count


def halves(schema: Schema, records: Weighted, attribute: int, cut: int | None) -> list[Weighted]:
    """What goes down each branch: records with a value whole, the others as those are spread."""
    known = [(w, row) for w, row in records if not lost(schema, attribute, row)]
    total = sum((w for w, _ in known), start=Fraction(0))
    branches = range(schema.branch_count(attribute)) if cut is None else (0, 1)
    kids = []
    for branch in branches:
        kid = [
            (w, row)
            for w, row in known
            if (row[attribute] if cut is None else int(row[attribute] > cut)) == branch
        ]
        share = sum((w for w, _ in kid), start=Fraction(0)) / total
        kids.append(kid + [(w * share, row) for w, row in records if lost(schema, attribute, row) and share])
    return kids


def offers(
    schema: Schema, rules: GrowthRules, records: Weighted, used: tuple[int, ...]
) -> dict[tuple[int, int | None], Decimal]:
    """The gain in nats, less the penalty, of every split that is allowed, by attribute and threshold."""
    found: dict[tuple[int, int | None], Decimal] = {}
    whole = sum((w for w, _ in records), start=Fraction(0))
    for attribute, described in enumerate(schema.attributes):
        known = [(w, row) for w, row in records if w and not lost(schema, attribute, row)]
        total = sum((w for w, _ in known), start=Fraction(0))
        if not is_ordered(described):
            parts = [[(w, r) for w, r in known if r[attribute] == v] for v in range(described.branch_count)]
            if attribute not in used and known and all(size(p) >= rules.min_child for p in parts if p):
                found[attribute, None] = gain(parts, total / whole)
            continue
        cuts = {}
        for cut in sorted({row[attribute] for _, row in known})[:-1]:
            parts = [[(w, r) for w, r in known if (r[attribute] > cut) == side] for side in (False, True)]
            least = min(Fraction(25), total / (10 * schema.class_count))
            if min(map(size, parts)) >= max(Fraction(rules.min_child), least):
                cuts[cut] = gain(parts, total / whole)
        with localcontext() as context:
            context.prec = 60
            penalty = (
                Decimal(len(cuts) or 1).ln() / decimal(whole)
                if rules.thresholds == "gain-mdl"
                else Decimal(0)
            )
            found |= {(attribute, cut): got - penalty for cut, got in cuts.items()}
    return found


def size(part: Weighted) -> Fraction:
    return sum((w for w, _ in part), start=Fraction(0))


def decimal(number: Fraction) -> Decimal:
    return Decimal(number.numerator) / Decimal(number.denominator)


def gain(parts: Sequence[Weighted], share: Fraction) -> Decimal:
    """Share of the known times what their entropy falls by, in nats."""
    with localcontext() as context:
        context.prec = 60
        everything = [entry for part in parts for entry in part]
        after = sum((decimal(size(p) / size(everything)) * entropy(p) for p in parts if p), Decimal(0))
        return decimal(share) * (entropy(everything) - after)


def entropy(part: Weighted) -> Decimal:
    shares = [size([entry for entry in part if entry[1][-1] == c]) / size(part) for c in (0, 1)]
    return -sum((decimal(s) * decimal(s).ln() for s in shares if s), Decimal(0))


@given(samples(), st.data())
@settings(max_examples=40)
def test_a_record_without_a_value_is_answered_by_all_branches(sample: Sample, data: st.DataObject) -> None:
    schema = sample.schema
    tree = grown(schema, replace(PLAIN, max_depth=4), sample.rows).tree
    asked = data.draw(st.tuples(*(st.integers(0, len(a.values) - 1) for a in schema.attributes)))
    record = {a.name: text_of(a, code) for a, code in zip(schema.attributes, asked, strict=True)}
    votes = vote(tree.root, schema, asked)
    told = predict(tree, schema, record, "counts")
    if told.parted_at is not None:
        assert told.label == schema.classes[votes.index(max(votes))]
        assert told.probability == pytest.approx(float(max(votes)))
    columns = [np.array([code], dtype=np.uint8) for code in (*asked, 0)]
    (place,) = places_of(tree, schema, RecordRows.of(schema, np.stack(columns), np.empty((0, 1), np.uint32)))
    nodes = list(tree.nodes())
    walked = nodes[place] if place < len(nodes) else None
    assert (walked is None) == (told.parted_at is not None)
    if walked is None:
        assert schema.classes[place - len(nodes)] == told.label


def text_of(attribute: Attribute, code: int) -> str:
    if code >= attribute.branch_count:
        return ""
    return attribute.values[code] if attribute.cuts is None else str([*attribute.cuts, 99][code])


def vote(node: Node, schema: Schema, codes: Row) -> list[Fraction]:
    weights = node.weights or ()
    if isinstance(node, Leaf):
        total = sum(weights, start=Fraction(0))
        return [w / total if total else Fraction(c == node.label) for c, w in enumerate(weights)]
    code = codes[node.attribute]
    if code < schema.branch_count(node.attribute):
        kid = code if not isinstance(node.test, UpTo) else int(code > node.test.value)
        return vote(node.kids[kid], schema, codes)
    sizes = [sum(kid.weights or (), start=Fraction(0)) for kid in node.kids]
    votes = [vote(kid, schema, codes) for kid in node.kids]
    whole = sum(sizes, start=Fraction(0))
    return [
        sum((s / whole * v[c] for s, v in zip(sizes, votes, strict=True)), start=Fraction(0)) for c in (0, 1)
    ]


@given(samples())
@settings(max_examples=30)
def test_the_kernel_counts_populations_with_sides_as_by_hand(sample: Sample) -> None:
    schema, codes = sample.schema, np.array(sample.rows, dtype=np.uint8).T.copy()
    sizes = [len(attribute.values) for attribute in schema.attributes]
    growth = FractionalGrowth.start(schema, replace(PLAIN, max_depth=4), bytes(32))
    while not growth.is_done:
        counts = count_apart(
            growth.queries,
            lambda some: count_codes(codes, sizes, schema.class_count, some),
            lambda query: query.cell_count(schema),
        )
        assert counts == count_rows(sample.rows, growth.queries, schema)
        growth = growth.absorb(counts)


def test_two_thresholds_on_one_attribute_are_counted_apart() -> None:
    """Records that lack attribute 0 go into both branches, which may part attribute 1 at different places."""
    lacking: list[NodePath] = [
        ((0, 2), (1, Side(cut, is_above=above, below=5))) for cut in (1, 3) for above in (False, True)
    ]
    queries = [NodeQuery(path, (2,), (0, 1)) for path in [*lacking, ((0, 2), (1, 5))]]
    assert disjoint_groups(queries) == [[0, 1, 4], [2, 3]]


GAPS = Schema.create(
    [
        replace(Attribute.numeric("age", range(10, 60, 10), "missing"), missing="fractional"),
        Attribute("ward", ("a", "b")),
    ],
    "class",
    ["no", "yes"],
)
ROWS: list[Row] = [(age, ward, (age + ward) % 2) for age in range(7) for ward in range(2) for _ in range(4)]


def test_sides_do_not_hold_records_without_a_value() -> None:
    tree = grown(GAPS, PLAIN, ROWS).tree
    split = next(node for node in tree.nodes() if isinstance(node, Split) and node.attribute == 0)
    names = list(reference_form(type(tree)(split), GAPS)["branches"])
    assert [name[:2] for name in names] == ["<=", "> "]
    assert "missing" not in "".join(names)
    pruned = grown(GAPS, replace(PLAIN, pruning=Pruning("pessimistic")), ROWS).tree
    assert pruned.node_count <= tree.node_count


def test_a_damaged_record_of_the_journal_is_told() -> None:
    growth = FractionalGrowth.start(GAPS, PLAIN, bytes(32))
    for _ in range(2):
        growth = growth.absorb(count_rows(ROWS, growth.queries, GAPS))
    kept = growth.to_json()
    assert FractionalGrowth.from_json(GAPS, PLAIN, kept) == growth
    first, *others = kept["open"]
    part, *rest = first["parts"]
    broken = [
        [part[0] + "/0<=3", *part[1:]],
        ["/0=1", *part[1:]],
        [*part[:3], [[0, [9]]]],
        [*part[:3], [[7, [0]]]],
        [*part[:3], [[0, [2, 1]]]],
        [*part[:3], [[0, [0]]], 5],
    ]
    for wrong in broken:
        entry = first | {"parts": [wrong, *rest]}
        with pytest.raises(InputError, match="damaged"):
            FractionalGrowth.from_json(GAPS, PLAIN, kept | {"open": [entry, *others]})
