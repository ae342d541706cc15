"""Criterion c45 on numbers as they are, in the clear, beside J48's trees on the files without missing values.

The choice among attributes is the product's (`average_gain`); thresholds and the smallest-branch rule are of
`tests.support.c45_numeric`.
"""

from __future__ import annotations

import numpy as np
import pytest

from shared.tree.export import reference_form
from tests.support import numeric_reference, reference_data
from tests.support.c45_numeric import grow_c45
from tests.support.reference_data import differences

pytestmark = pytest.mark.skipif(not reference_data.is_available(), reason=reference_data.SKIP_REASON)

COMPLETE = [
    "play-tennis-numeric",
    "early-stage-diabetes-numeric",
    "thyroid-recurrence-numeric",
    "wdbc",
    "pima-diabetes",
]


@pytest.mark.parametrize("name", COMPLETE)
def test_trees_are_j48s(name: str) -> None:
    case = numeric_reference.load(name)
    columns = list(zip(*case.rows, strict=True))
    codes = [
        np.array([attribute.code_of(text) for text in texts], dtype=np.int64)
        for attribute, texts in zip(case.schema.attributes, columns, strict=False)
    ]
    tree = grow_c45(case.schema, codes, case.labels.astype(np.int64))
    assert tree.node_count == case.summary["nodes"]
    assert differences(reference_form(tree, case.schema), case.tree) == []
