"""Every measure and interval against scikit-learn, statsmodels and plain resampling, on the pooled rows."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from numpy.typing import NDArray

from shared.evaluation.binomial import beta_quantile, beta_share
from shared.evaluation.calibration import bins_of, expected_calibration_error, recalibration
from shared.evaluation.comparing import Paired
from shared.evaluation.confusion import Confusion, kappa, matthews, mean_f1
from shared.evaluation.judging import judge
from shared.evaluation.measures import Confidence, Measure, share
from shared.evaluation.probabilities import brier, brier_of_class, log_loss
from shared.evaluation.ranking import auc, macro_auc, roc
from shared.evaluation.table import LeafTable, Smoothing, leaf_table
from shared.tree.counting import count_rows
from shared.tree.growing import grow
from shared.tree.growth_rules import GrowthRules
from shared.tree.model import Leaf, Split, Tree
from tests.support import reference_data
from tests.support.judged import Rows, matrix_table, rows_of, table_of, tables

FIXED = (
    table_of(((30, 4), (6, 6), (2, 25)), ((12, 3), (4, 5), (1, 14)), Smoothing(2)),
    table_of(((9, 1, 0), (2, 8, 3), (0, 0, 7), (4, 4, 4)), ((5, 1, 1), (0, 6, 2), (1, 0, 5), (2, 3, 2))),
    table_of(((5, 5), (3, 3)), ((2, 4), (1, 1)), Smoothing(1, "root")),
)


@pytest.mark.parametrize("table", FIXED)
def test_measures_are_those_of_scikit_learn(table: LeafTable) -> None:
    assert _compared(table) > 10 * len(table.classes)


@pytest.mark.long
@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(tables())
def test_measures_of_any_table_are_those_of_scikit_learn(table: LeafTable) -> None:
    assume(table.records)
    _compared(table)


@pytest.mark.long
@pytest.mark.skipif(not reference_data.is_available(), reason=reference_data.SKIP_REASON)
@pytest.mark.parametrize("name", reference_data.names() if reference_data.is_available() else [])
def test_measures_of_a_held_out_third_are_those_of_scikit_learn(name: str) -> None:
    table = _held_out(name)
    assert table.records
    assert _compared(table) > 5


def _compared(table: LeafTable) -> int:
    """Compare all that scikit-learn has; the number of figures that were there to compare."""
    judged, rows = judge(table), rows_of(table)
    compared = 0
    for name, expected in _by_scikit_learn(table, rows):
        holder: Any = judged.overall
        if isinstance(name, tuple):
            holder, name = judged.classes[name[0]].measures, name[1]
        found = holder[name].value
        if expected is None:
            assert found is None, name
            continue
        assert found == pytest.approx(expected, abs=1e-12), name
        compared += 1
    return compared


def _by_scikit_learn(table: LeafTable, rows: Rows) -> Iterator[tuple[Any, float | None]]:
    from sklearn import metrics

    labels = list(range(len(table.classes)))
    truth, predicted, scores = rows.truth, rows.predicted, rows.scores
    assert Confusion.of(table).cells == tuple(
        map(tuple, metrics.confusion_matrix(truth, predicted, labels=labels).tolist())
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield "accuracy", metrics.accuracy_score(truth, predicted)
        yield "balanced_accuracy", metrics.balanced_accuracy_score(truth, predicted)
        yield "f1_macro", metrics.f1_score(truth, predicted, average="macro", zero_division=0)
        yield "f1_weighted", metrics.f1_score(truth, predicted, average="weighted", zero_division=0)
        one_class = len(set(truth) | set(predicted)) == 1
        yield "kappa", None if one_class else metrics.cohen_kappa_score(truth, predicted)
        constant = len(set(truth)) == 1 or len(set(predicted)) == 1
        yield "mcc", None if constant else metrics.matthews_corrcoef(truth, predicted)
        possible = all(scores[row, true] > 0 for row, true in enumerate(truth))
        yield "log_loss", metrics.log_loss(truth, scores, labels=labels) if possible else None
        onehot = np.eye(len(labels))[truth]
        yield "brier", float(((scores - onehot) ** 2).sum(axis=1).mean())
        areas = []
        for k in labels:
            is_k, called = truth == k, predicted == k
            both = 0 < is_k.sum() < len(truth)
            yield (k, "sensitivity"), metrics.recall_score(is_k, called) if is_k.any() else None
            yield (k, "specificity"), metrics.recall_score(~is_k, ~called) if (~is_k).any() else None
            yield (k, "ppv"), metrics.precision_score(is_k, called) if called.any() else None
            yield (k, "npv"), metrics.precision_score(~is_k, ~called) if (~called).any() else None
            yield (k, "f1"), metrics.f1_score(is_k, called) if (is_k | called).any() else None
            yield (k, "brier"), metrics.brier_score_loss(is_k, scores[:, k], labels=[False, True])
            yield (k, "auc"), metrics.roc_auc_score(is_k, scores[:, k]) if both else None
            if both:
                areas.append(metrics.roc_auc_score(is_k, scores[:, k]))
            area = metrics.average_precision_score(is_k, scores[:, k]) if is_k.any() else None
            yield (k, "average_precision"), area
        yield "auc_macro", float(np.mean(areas)) if areas else None


def test_points_of_the_curve_are_those_of_scikit_learn() -> None:
    from sklearn.metrics import roc_curve

    rows = rows_of(FIXED[1])
    for k in range(3):
        is_k = rows.truth == k
        fpr, tpr, _ = roc_curve(is_k, rows.scores[:, k], drop_intermediate=False)
        points = roc(FIXED[1], k)
        assert [p.false_positives / (~is_k).sum() for p in points] == pytest.approx(fpr.tolist())
        assert [p.true_positives / is_k.sum() for p in points] == pytest.approx(tpr.tolist())


def test_bins_are_those_of_plain_rows() -> None:
    for table in FIXED:
        rows = rows_of(table)
        for k in range(len(table.classes)):
            is_k, scores = rows.truth == k, rows.scores[:, k]
            place = np.minimum((scores * 10 + 1e-12).astype(int), 9)
            found = bins_of(table, k)
            error = 0.0
            for number, entry in enumerate(found):
                inside = place == number
                assert entry.records == inside.sum()
                if entry.records:
                    assert entry.expected == pytest.approx(scores[inside].mean())
                    assert entry.observed.value == pytest.approx(is_k[inside].mean())
                    error += inside.mean() * abs(scores[inside].mean() - is_k[inside].mean())
            assert expected_calibration_error(table, k).value == pytest.approx(error)


def test_delong_errors_are_those_of_pairs_of_records() -> None:
    compared = 0
    for table in FIXED:
        rows = rows_of(table)
        for k in range(len(table.classes)):
            found, expected = auc(table, k), _delong(rows.truth == k, rows.scores[:, k])
            if found.value is None or found.low is None or found.high is None:
                assert expected == 0
                continue
            width = math.log(found.high / (1 - found.high)) - math.log(found.low / (1 - found.low))
            assert width / (2 * Confidence().z) * found.value * (1 - found.value) == pytest.approx(expected)
            compared += 1
    assert compared > 2


def _delong(is_k: NDArray[np.bool_], scores: NDArray[np.float64]) -> float:
    """The definition, over all pairs of records."""
    wins = np.sign(scores[is_k][:, None] - scores[~is_k][None, :]) / 2 + 0.5
    return math.sqrt(
        wins.mean(axis=1).var(ddof=1) / wins.shape[0] + wins.mean(axis=0).var(ddof=1) / wins.shape[1]
    )


@pytest.mark.long
def test_intervals_of_shares_are_those_of_statsmodels() -> None:
    from statsmodels.stats.proportion import proportion_confint

    cases = [(h, n) for n in (1, 2, 7, 40, 541) for h in {0, 1, n // 3, n // 2, n - 1, n} if h <= n]
    cases += [(3, 100_000), (49_000, 100_000), (999_999, 1_000_000)]
    for hits, total in cases:
        for level in (0.8, 0.95, 0.99):
            for method, theirs in (("wilson", "wilson"), ("clopper-pearson", "beta")):
                found = share(hits, total, Confidence(level, method))  # type: ignore[arg-type]
                expected = proportion_confint(hits, total, 1 - level, theirs)
                assert (found.low, found.high) == pytest.approx(expected, abs=1e-9), (hits, total, method)


@pytest.mark.long
def test_beta_function_is_that_of_scipy() -> None:
    from scipy.special import betainc, betaincinv

    rng = np.random.default_rng(5)
    for _ in range(400):
        a, b = (float(x) for x in 10 ** rng.uniform(-0.3, 5, 2))
        x = float(rng.uniform())
        assert beta_share(x, a, b) == pytest.approx(betainc(a, b, x), rel=1e-7, abs=1e-14)
        assert beta_quantile(x, a, b) == pytest.approx(betaincinv(a, b, x), rel=1e-8)


@pytest.mark.long
def test_kappa_and_its_error_are_those_of_statsmodels() -> None:
    from statsmodels.stats.inter_rater import cohens_kappa

    for table in FIXED[:2]:
        matrix = Confusion.of(table)
        theirs = cohens_kappa(np.array(matrix.cells))
        found = kappa(matrix)
        assert found.value == pytest.approx(theirs.kappa)
        assert (found.low, found.high) == pytest.approx((theirs.kappa_low, theirs.kappa_upp))


@pytest.mark.long
def test_mcnemar_is_that_of_statsmodels() -> None:
    from statsmodels.stats.contingency_tables import mcnemar

    for b, c in ((0, 1), (1, 9), (12, 12), (30, 14), (200, 260)):
        found = Paired(50, b, c, 20)
        theirs = mcnemar([[50, b], [c, 20]], exact=True)
        assert found.p_value == pytest.approx(min(1.0, theirs.pvalue), rel=1e-9)


@pytest.mark.long
@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(tables(smooth=True))
def test_recalibration_is_the_regression_of_statsmodels(table: LeafTable) -> None:
    import statsmodels.api as sm

    rows = rows_of(table)
    for k in range(len(table.classes)):
        intercept, slope = recalibration(table, k)
        if intercept.value is None:
            assert intercept.reason
            continue
        scores = rows.scores[:, k]
        design = sm.add_constant(np.log(scores / (1 - scores)))
        fitted = sm.GLM(rows.truth == k, design, family=sm.families.Binomial()).fit(tol=1e-12)
        assert (intercept.value, slope.value) == pytest.approx(tuple(fitted.params), abs=1e-5)
        bounds = fitted.conf_int()
        assert (slope.low, slope.high) == pytest.approx(tuple(bounds[1]), rel=1e-3, abs=1e-3)
        assert (intercept.low, intercept.high) == pytest.approx(tuple(bounds[0]), rel=1e-3, abs=1e-3)


def test_influences_are_what_one_more_record_changes() -> None:
    """Half widths against numeric derivatives by every cell, on a table without any symmetry."""
    training = ((300, 40, 12), (60, 90, 30), (10, 30, 580), (50, 5, 50))
    cells = np.array(((120, 22, 9), (46, 70, 16), (6, 25, 284), (30, 4, 26))) * 100_000
    total, moved = cells.sum(), 1000
    for name, measure in _BY_INFLUENCE.items():

        def at(changed: NDArray[np.int64], measure: Any = measure) -> Any:
            return measure(table_of(training, tuple(map(tuple, changed.tolist())), Smoothing(3)))

        slopes = np.zeros(cells.shape)
        for place in np.ndindex(*cells.shape):
            step = np.zeros(cells.shape, dtype=int)
            step[place] = moved
            slopes[place] = (at(cells + step).value - at(cells - step).value) / (2 * moved) * total
        mean = (cells * slopes).sum() / total
        error = math.sqrt((cells * (slopes - mean) ** 2).sum()) / total
        found = at(cells)
        assert (found.high - found.low) / 2 == pytest.approx(error * Confidence().z, rel=1e-4), name


@pytest.mark.long
def test_intervals_by_influence_are_as_wide_as_resampling_says() -> None:
    """Standard errors of 4 000 samples with replacement differ from ours by less than 5 % on 600 records or more."""
    rng = np.random.default_rng(20261130)
    table = table_of(
        ((300, 40, 12), (60, 250, 30), (10, 30, 180), (50, 50, 50)),
        ((120, 22, 9), (26, 110, 16), (6, 15, 84), (30, 24, 26)),
        Smoothing(3),
    )
    cells = np.array(table.counts)
    flat = cells.ravel()
    draws = rng.multinomial(flat.sum(), flat / flat.sum(), 4000)
    for name, measure in _BY_INFLUENCE.items():
        found = measure(table)
        values = [
            measure(
                LeafTable(table.classes, table.places, tuple(map(tuple, d.reshape(cells.shape).tolist())))
            ).value
            for d in draws
        ]
        ours = (found.high - found.low) / 2 / Confidence().z
        assert ours == pytest.approx(np.std(values), rel=0.05), name


def _of_matrix(measure: Any) -> Any:
    return lambda table: measure(Confusion.of(table))


_BY_INFLUENCE: dict[str, Any] = {
    "f1_macro": _of_matrix(mean_f1),
    "f1_weighted": _of_matrix(lambda matrix: mean_f1(matrix, weighted=True)),
    "kappa": _of_matrix(kappa),
    "mcc": _of_matrix(matthews),
    "brier": brier,
    "brier of a class": lambda table: brier_of_class(table, 0),
    "log loss": log_loss,
    "auc macro": macro_auc,
}


@pytest.mark.long
def test_intervals_hold_the_truth_about_as_often_as_they_say() -> None:
    """Of 2 000 samples of 200 records, intervals of 95 % hold the value of the whole in 92 % or more."""
    rng = np.random.default_rng(7)
    chances = np.array(((0.26, 0.05, 0.02), (0.06, 0.22, 0.04), (0.02, 0.04, 0.29)))
    training = ((80, 15, 5), (15, 70, 15), (5, 10, 85))
    whole = table_of(training, tuple(map(tuple, (chances * 100).round().astype(int).tolist())))
    measures = {name: _BY_INFLUENCE[name] for name in ("f1_macro", "kappa", "mcc", "auc macro")}
    measures["auc"] = lambda table: auc(table, 1)
    held = dict.fromkeys(measures, 0)
    truth: dict[str, Measure] = {name: measure(whole) for name, measure in measures.items()}
    for draw in rng.multinomial(200, chances.ravel(), 2000):
        table = table_of(training, tuple(map(tuple, draw.reshape(3, 3).tolist())))
        for name, measure in measures.items():
            found, value = measure(table), truth[name].value
            assert value is not None
            held[name] += found.low <= value <= found.high
    assert all(0.92 <= count / 2000 <= 0.98 for count in held.values()), held


@pytest.mark.long
def test_the_paired_interval_holds_the_difference_about_as_often_as_it_says() -> None:
    rng = np.random.default_rng(11)
    chances = (0.7, 0.15, 0.06, 0.09)
    held = 0
    for draw in rng.multinomial(80, chances, 4000).tolist():
        found = Paired(*draw).difference()
        assert found.low is not None
        assert found.high is not None
        held += found.low <= 0.15 - 0.06 <= found.high
    assert 0.93 <= held / 4000 <= 0.98


def test_many_classes() -> None:
    size = 22
    cells = tuple(tuple((i * 7 + j * 3) % 5 + 20 * (i == j) for j in range(size)) for i in range(size))
    assert _compared(matrix_table(cells)) > 100


def _held_out(name: str) -> LeafTable:
    """A tree grown on two thirds of a data set, and the table of the last third."""
    case = reference_data.load(name)
    schema, rows = case.schema, case.codes
    training = [row for number, row in enumerate(rows) if number % 3]
    rules = GrowthRules(min_node=4, min_child=2, max_depth=None)
    tree = grow(schema, rules, lambda queries: count_rows(training, queries, schema)).tree
    counts: dict[int, list[int]] = {}
    numbers = {id(node): number for number, node in enumerate(_nodes(tree))}
    for row in rows[::3]:
        node = tree.root
        while isinstance(node, Split):
            node = node.kids[row[node.attribute]]
        assert isinstance(node, Leaf)
        counts.setdefault(numbers[id(node)], [0] * schema.class_count)[row[-1]] += 1
    return leaf_table(tree, schema.classes, counts, Smoothing(schema.class_count))


def _nodes(tree: Tree) -> list[Leaf | Split]:
    return list(tree.nodes())
