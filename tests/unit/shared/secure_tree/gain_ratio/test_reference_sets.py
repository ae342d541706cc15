"""Mode G on shares equals the plain tree, with the same table, on the public data sets with numeric attributes."""

from __future__ import annotations

import pytest

from shared.tree.gain_ratio_growing import GainRatioRules, grow_by_gain_ratio
from shared.tree.numeric import numeric_columns, tree_of_layers
from tests.support import numeric_reference, reference_data
from tests.support.numeric_samples import NumericSample
from tests.support.secret_gain_ratio import train

FULL = GainRatioRules(height=5)
CAREFUL = GainRatioRules(height=3, min_node=10, min_child=5)

pytestmark = pytest.mark.skipif(not reference_data.is_available(), reason=reference_data.SKIP_REASON)


@pytest.mark.parametrize(
    ("name", "rules"),
    [
        *((name, FULL) for name in numeric_reference.names()),
        ("heart-hungarian", CAREFUL),
        ("pima-diabetes", CAREFUL),
    ],
)
def test_equals_the_plain_tree(name: str, rules: GainRatioRules) -> None:
    case = numeric_reference.load(name)
    columns = numeric_columns(case.schema)
    classes = case.schema.class_count
    training = train(
        NumericSample(case.keys, case.labels, classes),
        rules,
        widths=tuple(column.width_bits for column in columns),
    )
    expected = grow_by_gain_ratio(case.keys, case.labels, classes, rules)
    found, plain = (tree_of_layers(layers, case.schema, columns) for layers in (training.layers, expected))
    assert found.canonical() == plain.canonical()
    assert found.depth > 1
