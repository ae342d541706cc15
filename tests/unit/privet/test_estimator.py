"""A finished tree as a scikit-learn classifier: the tree's own answers, and scikit-learn's own checks."""

from __future__ import annotations

import json
import pickle
import time
from collections import Counter
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from shared.export.document import to_document, to_json
from shared.export.subject import Origin, Subject
from shared.tree.binary_tests import AtMost
from shared.tree.model import Leaf, Split, Tree
from shared.tree.numbers import FixedPoint
from shared.tree.prediction import predict
from shared.tree.schema import Attribute, Schema
from tests.support.export_cases import Case, cases

np = pytest.importorskip("numpy")
pd = pytest.importorskip("pandas")
pytest.importorskip("sklearn")

from sklearn.base import clone  # noqa: E402
from sklearn.exceptions import NotFittedError  # noqa: E402
from sklearn.model_selection import cross_val_score  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.preprocessing import FunctionTransformer  # noqa: E402
from sklearn.utils.estimator_checks import check_estimator  # noqa: E402

from privet.estimator import PrivetTreeClassifier  # noqa: E402
from tests.support.local_tree import LocalTreeClassifier  # noqa: E402

SCHEMA = Schema.create(
    [
        Attribute("pain", ("no", "yes", "1")),
        Attribute.numeric("temperature", ["36.6", "37.5"], missing="not measured"),
        Attribute("dose", (), fixed_point=FixedPoint.create("dose", "0", "10", 1, "0.3")),
    ],
    "state",
    ["well", "sick", "?"],
)
TREE = Tree(
    Split(
        1,
        (
            Split(0, (Leaf(0, (8, 0, 0)), Leaf(1, (1, 3, 0)), Leaf(2, (0, 0, 0))), 0, (9, 3, 0)),
            Split(2, (Leaf(0, (2, 1, 0)), Leaf(1, (0, 5, 2))), 1, (2, 6, 2), AtMost(Decimal("0.3"))),
            Leaf(1, (0, 9, 0)),
            Leaf(2, (1, 1, 1)),
        ),
        1,
        (12, 19, 3),
    )
)
NAMES = [attribute.name for attribute in SCHEMA.attributes]


def estimator(disclosure: Any = "counts", tree: Tree = TREE) -> PrivetTreeClassifier:
    return PrivetTreeClassifier(to_document(Subject.prepare(tree, SCHEMA, disclosure, Origin()))).fit()


def frame(case: Case) -> Any:
    names = [attribute.name for attribute in case.schema.attributes]
    return pd.DataFrame(
        [[record[name] for name in names] for record in case.records], columns=names, dtype=object
    )


def check(case: Case, records: Any) -> None:
    found = PrivetTreeClassifier(to_document(case.subject)).fit(records)
    answers = case.answers()
    assert found.apply(records).tolist() == [answer.place for answer in answers]
    if any(answer.label is None for answer in answers):
        with pytest.raises(ValueError, match=r"record [0-9]+: no usable value"):
            found.predict(records)
    else:
        assert found.predict(records).tolist() == [answer.label for answer in answers]
    shares = [np.nan if answer.share is None else answer.share for answer in answers]
    np.testing.assert_allclose(found.predict_share(records), shares, rtol=0, atol=1e-15)
    assert hasattr(found, "predict_proba") == (answers[0].distribution is not None)
    if answers[0].distribution is not None:
        told = found.predict_proba(records)
        np.testing.assert_allclose(told.sum(axis=1), 1, rtol=0, atol=1e-15)
        for row, answer in zip(told, answers, strict=True):
            if answer.is_parted:
                assert (
                    row[list(found.classes_).index(answer.label)] == max(row) == pytest.approx(answer.share)
                )
            else:
                np.testing.assert_allclose(row, answer.distribution, rtol=0, atol=1e-15)


@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
@given(cases())
def test_it_answers_as_the_tree_does(case: Case) -> None:
    check(case, frame(case))


@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
@given(cases(in_parts=True))
def test_all_branches_answer_where_the_tree_says_so(case: Case) -> None:
    check(case, frame(case))


@pytest.mark.long
@settings(max_examples=500, deadline=None, suppress_health_check=list(HealthCheck))
@given(cases(in_parts=True))
def test_all_branches_answer_where_the_tree_says_so_on_many(case: Case) -> None:
    check(case, frame(case))


@pytest.mark.long
@settings(max_examples=500, deadline=None, suppress_health_check=list(HealthCheck))
@given(cases(), st.sampled_from(["object", "str", "category"]))
def test_it_answers_as_the_tree_does_whatever_holds_the_texts(case: Case, kind: str) -> None:
    check(case, frame(case).astype(kind))


VALUES: dict[str, list[Any]] = {
    "pain": ["no", "yes", "1", 1, 1.0, True, False, None, "", "perhaps", 0, Decimal(1)],
    "temperature": [36.6, 36.61, 37.5, 37, 37.6, "37.5", " 36.6 ", "", None, Decimal("37.50"), 0, 99],
    "dose": [0.3, 0.31, 1, "0.3", None, "", 0, 10, 11, -1, Decimal("0.30"), 0.1 + 0.2],
}


def test_values_of_any_type_count_as_in_the_tree() -> None:
    records = pd.DataFrame({name: pd.Series(values, dtype=object) for name, values in VALUES.items()})
    records = pd.concat(
        [records, records.apply(lambda column: column.sample(frac=1, random_state=1).to_numpy())]
    )
    expected = [
        predict(TREE, SCHEMA, dict(zip(NAMES, row, strict=True))).label for row in records.to_numpy().tolist()
    ]
    assert estimator().predict(records).tolist() == expected
    assert len(set(expected)) == 3


@pytest.mark.parametrize("kind", ["float64", "float32", "float16", "Float64"])
def test_a_float_is_the_decimal_that_is_shown(kind: str) -> None:
    texts = ["36.5", "36.6", "36.7", "37.4", "37.5", "37.6", "0.3", "0.29", "0.31"]
    column = pd.Series([float(text) for text in texts], dtype=kind)
    records = pd.DataFrame({"pain": "no", "temperature": column, "dose": column})
    rows = [{"pain": "no", "temperature": text, "dose": text} for text in texts]
    shown = [predict(TREE, SCHEMA, row).label for row in rows]
    if kind != "float16":  # its decimals are coarser than these
        assert estimator().predict(records).tolist() == shown
    exact = [
        predict(TREE, SCHEMA, row | {"temperature": str(v), "dose": str(v)}).label
        for row, v in zip(rows, column, strict=True)
    ]
    assert estimator().predict(records).tolist() == exact


@pytest.mark.parametrize("kind", ["int8", "uint8", "int64", "uint64", "Int64"])
def test_integers_count_exactly(kind: str) -> None:
    column = pd.Series([0, 1, 36, 37, 38, 100], dtype=kind)
    records = pd.DataFrame({"pain": "no", "temperature": column, "dose": column})
    rows = [{"pain": "no", "temperature": str(v), "dose": str(v)} for v in column]
    assert estimator().predict(records).tolist() == [predict(TREE, SCHEMA, row).label for row in rows]


@pytest.mark.parametrize("kind", ["Float64", "Int64"])
def test_what_pandas_calls_missing_is_missing(kind: str) -> None:
    records = pd.DataFrame({"pain": ["no"], "temperature": pd.Series([pd.NA], dtype=kind), "dose": [1]})
    assert estimator().apply(records).tolist() == [4]


@pytest.mark.parametrize("wrong", [np.inf, "warm", True, "NaN"])
def test_no_number_where_one_is_due(wrong: Any) -> None:
    with pytest.raises(ValueError, match="attribute 'temperature'") as refused:
        estimator().predict(pd.DataFrame({"pain": ["no"], "temperature": [wrong], "dose": [1]}))
    assert "warm" not in str(refused.value)


def test_a_record_without_an_answer_is_told_with_its_attribute() -> None:
    silent = estimator("class", Tree(Split(0, (Leaf(0), Leaf(1), Leaf(2)))))
    records = pd.DataFrame({"pain": ["no", None], "temperature": [36.0, 36.0], "dose": [1, 1]})
    with pytest.raises(ValueError, match=r"record 2: no usable value of attribute 'pain'.*leave the record"):
        silent.predict(records)


def test_only_what_the_study_shows() -> None:
    shown = {name: estimator(name) for name in ("class", "probability", "counts")}
    assert [hasattr(each, "predict_proba") for each in shown.values()] == [False, False, True]
    records = pd.DataFrame({"pain": ["yes"], "temperature": [36.0], "dose": [1]})
    assert np.isnan(shown["class"].predict_share(records)).all()
    assert shown["probability"].predict_share(records).tolist() == [0.75]
    for name in ("class", "probability"):
        assert 'counts": [' not in json.dumps(shown[name].model)
    assert "share" not in json.dumps(shown["class"].model)


def test_it_lives_among_estimators(tmp_path: Path) -> None:
    path = tmp_path / "tree.json"
    path.write_text(to_json(Subject.prepare(TREE, SCHEMA, "counts", Origin())), encoding="utf-8")
    found = PrivetTreeClassifier.load(path)
    records = pd.DataFrame(
        {"pain": ["no", "yes"] * 6, "temperature": [36.0, 38.0] * 6, "dose": [1, None] * 6}
    )
    states = found.predict(records)
    copy = clone(found)
    assert copy.get_params() == {"model": found.model}
    with pytest.raises(NotFittedError):
        copy.predict(records)
    same = pickle.loads(pickle.dumps(found))
    assert same.predict(records).tolist() == states.tolist()
    assert cross_val_score(copy, records, states, cv=3).tolist() == [1.0, 1.0, 1.0]
    line = make_pipeline(FunctionTransformer(), copy).fit(records)
    assert line.predict(records).tolist() == states.tolist()
    assert found.feature_names_in_.tolist() == NAMES
    assert (found.get_depth(), found.get_n_leaves()) == (2, 7)
    assert found.export("sklearn") == path.read_bytes()
    assert b"<svg" in found.export("svg")
    assert len(repr(found)) < 100


def test_paths_lead_to_the_place() -> None:
    records = pd.DataFrame({"pain": ["no", "what"], "temperature": [36.0, 36.0], "dose": [1, 1]})
    found = estimator()
    assert found.decision_path(records).toarray()[:, :6].tolist() == [[1, 1, 0, 0, 0, 1], [1, 1, 0, 0, 0, 0]]
    assert found.apply(records).tolist() == [5, 1]


@pytest.mark.parametrize(
    "records",
    [
        pd.DataFrame({"pain": ["no"], "temperature": [1]}),
        pd.DataFrame({"temperature": [1], "pain": ["no"], "dose": [1]}),
        pd.DataFrame({"pain": [], "temperature": [], "dose": []}),
    ],
)
def test_other_columns_are_refused(records: Any) -> None:
    with pytest.raises(ValueError, match=r"feature names|0 sample"):
        estimator().predict(records)


@pytest.mark.parametrize(
    "model",
    [
        None,
        {},
        {"schema": 1, "tree_sha256": ""},
        to_document(Subject.prepare(TREE, SCHEMA, "counts", Origin())) | {"tree_sha256": "0" * 64},
    ],
)
def test_another_document_is_refused(model: Any) -> None:
    with pytest.raises(ValueError, match=r"expected|not the one its hash names"):
        PrivetTreeClassifier(model).fit()


def test_scikit_learns_own_checks_pass() -> None:
    found = check_estimator(LocalTreeClassifier(), on_skip=None, on_fail=None)
    status = Counter(each["status"] for each in found)
    assert [each["check_name"] for each in found if each["status"] == "failed"] == []
    assert status["passed"] > 50


def test_the_checks_can_fail() -> None:
    class Wrong(LocalTreeClassifier):
        def predict(self, X: Any) -> Any:
            return self.classes_[(self.walk_.labels[self.apply(X)] + 1) % len(self.classes_)]

    found = check_estimator(Wrong(), on_skip=None, on_fail=None)
    assert any(each["status"] == "failed" for each in found)


@pytest.mark.long
def test_a_million_records_take_seconds() -> None:
    rows = 1_000_000
    rng = np.random.default_rng(1)
    records = pd.DataFrame(
        {
            "pain": pd.Categorical(rng.choice(["no", "yes", "1"], rows)),
            "temperature": rng.uniform(35, 40, rows),
            "dose": rng.integers(0, 10, rows),
        }
    )
    found = estimator()
    start = time.perf_counter()
    found.predict(records)
    taken = time.perf_counter() - start
    print(f"{rows / taken / 1e6:.1f} million records a second")
    assert taken < 5
