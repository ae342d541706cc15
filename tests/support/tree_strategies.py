"""Hypothesis strategies for small trees: schemas with rows, and rules of growth."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

from hypothesis import strategies as st

from shared.tree.growth_rules import Criterion, GrowthRules
from shared.tree.pruning import Pruning
from shared.tree.schema import Attribute, Schema
from tests.support.exact_tree import Setting


@dataclass(frozen=True)
class Sample:
    """Rows of codes (class last) and the schema they fit."""

    schema: Schema
    rows: list[tuple[int, ...]]

    def setting(self, rules: GrowthRules) -> Setting:
        """The same for the exact oracle."""
        values = tuple(len(attribute.values) for attribute in self.schema.attributes)
        return Setting(
            values,
            self.schema.class_count,
            rules.min_node,
            rules.min_child,
            rules.max_depth,
            rules.split_on_zero_gain,
        )


def make_schema(values: tuple[int, ...], classes: int) -> Schema:
    """A schema with that many values per attribute and classes, under generated names."""
    attributes = [Attribute(f"a{i}", tuple(f"v{v}" for v in range(count))) for i, count in enumerate(values)]
    return Schema.create(attributes, "class", [f"c{label}" for label in range(classes)])


@st.composite
def samples(draw: st.DrawFn, *, least_attributes: int = 1, most_rows: int = 40) -> Sample:
    """1 to 5 attributes of 1 to 12 values, 1 to 4 classes; few distinct rows, so that ties are common."""
    sizes = st.sampled_from([1, 2, 2, 3, 4, 12])
    values = tuple(draw(st.lists(sizes, min_size=least_attributes, max_size=5)))
    classes = draw(st.integers(1, 4))
    row = st.tuples(*(st.integers(0, count - 1) for count in values), st.integers(0, classes - 1))
    return Sample(make_schema(values, classes), draw(st.lists(row, max_size=most_rows)))


def rules(criterion: Criterion) -> st.SearchStrategy[GrowthRules]:
    """All rules but `skip_known`, which the tests set both ways."""
    return st.builds(
        GrowthRules,
        criterion=st.just(criterion),
        min_node=st.integers(1, 6),
        min_child=st.integers(1, 4),
        max_depth=st.sampled_from([None, 1, 2, 3]),
        split_on_zero_gain=st.booleans(),
        skip_known=st.booleans(),
    )


@st.composite
def further_rules(draw: st.DrawFn, classes: int) -> GrowthRules:
    """Rules by information gain with least gain, class weights and a share that ends growth, each or none."""
    chosen = draw(rules("information-gain"))
    gains = st.sampled_from(
        [Fraction(0), Fraction(1, 10**9), Fraction(1, 8), Fraction(311, 1000), Fraction(7)]
    )
    weights = st.lists(st.sampled_from([1, 1, 2, 3, 7, 1000]), min_size=classes, max_size=classes).map(tuple)
    shares = st.sampled_from(
        [Fraction(1), Fraction(3, 4), Fraction(2, 3), Fraction(1, 2), Fraction(1, 10**9)]
    )
    stops = shares.map(lambda share: Pruning("majority", share=share))
    return replace(
        chosen,
        min_gain=draw(gains),
        class_weights=draw(st.none() | weights),
        pruning=draw(st.none() | stops),
    )
