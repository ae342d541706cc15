"""A classifier that grows a tree on records at hand, and predicts as `PrivetTreeClassifier`: for scikit-learn's checks.

It shows as well how a class that learns is built on that one: `fit` makes a subject and calls `take_tree`.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any, Self

import numpy as np
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from privet.estimator import PrivetTreeClassifier
from shared.export.subject import Origin, Subject
from shared.tree.counting import count_rows
from shared.tree.growing import grow
from shared.tree.growth_rules import GrowthRules
from shared.tree.schema import Attribute, Schema

_CUTS = 7


class LocalTreeClassifier(PrivetTreeClassifier):
    """Numbers are cut at quantiles of the training records."""

    def fit(self, X: Any, y: Any) -> Self:  # type: ignore[override]  # without records there is nothing to learn
        X, y = validate_data(self, X, y, dtype=np.float64, ensure_all_finite="allow-nan")
        check_classification_targets(y)
        classes, codes = np.unique(y, return_inverse=True)
        attributes = [_attribute(f"x{column}", X[:, column]) for column in range(X.shape[1])]
        schema = Schema.create(attributes, "y", [f"c{n}" for n in range(len(classes))])
        rows = [_codes(attributes, row, code) for row, code in zip(X.tolist(), codes.tolist(), strict=True)]
        rules = GrowthRules(min_node=2, min_child=1, max_depth=6)
        tree = grow(schema, rules, lambda queries: count_rows(rows, queries, schema)).tree
        names = getattr(self, "feature_names_in_", None)
        subject = Subject.prepare(tree, schema, "counts", Origin())
        self.take_tree(subject, classes, feature_names=None if names is None else list(names))
        return self

    def __sklearn_tags__(self) -> Any:
        """It learns from numbers only; so scikit-learn looks at how texts are refused as well."""
        tags = super().__sklearn_tags__()
        tags.input_tags.string = tags.input_tags.categorical = False
        return tags


def _codes(attributes: list[Attribute], row: list[float], label: int) -> tuple[int, ...]:
    texts = ("" if np.isnan(number) else repr(number) for number in row)
    return (*(attribute.code_of(text) for attribute, text in zip(attributes, texts, strict=True)), label)


def _attribute(name: str, values: Any) -> Attribute:
    known = values[~np.isnan(values)]
    points = np.unique(np.quantile(known, np.linspace(0, 1, _CUTS + 2)[1:-1])) if len(known) else np.zeros(1)
    cuts = sorted({Decimal(f"{point:.6f}").normalize() + 0 for point in points})
    return Attribute.numeric(name, [format(cut, "f") for cut in cuts], missing="missing")
