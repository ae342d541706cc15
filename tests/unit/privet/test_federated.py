"""The federation's estimator without a federation: scikit-learn's rules, and trees of pooled frames."""

from __future__ import annotations

import pickle
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from privet.client import Client
from shared.errors import InputError
from shared.tree.counting import count_rows
from shared.tree.growing import grow
from shared.tree.growth_rules import GrowthRules
from shared.tree.pruning import Pruning
from shared.tree.schema import Attribute, Schema
from tests.support.clinic import CLASSES, NAMES, ROWS, SCHEMA, dealt
from tests.support.clinic_frames import frames_of

np = pytest.importorskip("numpy")
pd = pytest.importorskip("pandas")
pytest.importorskip("sklearn")

from sklearn.base import clone  # noqa: E402
from sklearn.exceptions import NotFittedError  # noqa: E402
from sklearn.utils import estimator_checks as checks  # noqa: E402

from privet.federated import FederatedTreeClassifier  # noqa: E402

FRAMES = frames_of(dealt("h1", "h2", "h3"))
RULES: dict[str, Any] = {"min_node": 2, "min_child": 1}
WITHOUT_FITTING = (
    checks.check_estimator_cloneable,
    checks.check_estimator_repr,
    checks.check_estimators_unfitted,
    checks.check_estimator_tags_renamed,
    checks.check_do_not_raise_errors_in_init_or_set_params,
    checks.check_get_params_invariance,
    checks.check_no_attributes_set_in_init,
    checks.check_parameters_default_constructible,
    checks.check_set_params,
    checks.check_valid_tag_types,
)


@pytest.mark.parametrize("check", WITHOUT_FITTING, ids=lambda check: check.__name__)
def test_scikit_learns_checks_that_need_no_federation(check: Any) -> None:
    check("FederatedTreeClassifier", FederatedTreeClassifier())


def test_a_clone_keeps_the_client_and_forgets_the_tree() -> None:
    with Client.from_token("http://127.0.0.1:9", "secret") as client:
        fitted = FederatedTreeClassifier(client, "s", **RULES).simulate(FRAMES, SCHEMA)
        copy = clone(fitted)
        assert (copy.client, copy.study, copy.min_node) == (client, "s", 2)
        with pytest.raises(NotFittedError):
            copy.predict(FRAMES[0])
        assert "secret" not in repr(copy)
        kept = pickle.loads(pickle.dumps(fitted))
        assert (kept.client, kept.tree_.tree_sha256) == (None, fitted.tree_.tree_sha256)


@pytest.mark.parametrize(
    ("given", "rules"),
    [
        ({}, GrowthRules(min_node=2, min_child=1)),
        ({"criterion": "c45"}, GrowthRules(criterion="c45", min_node=2, min_child=1)),
        ({"max_depth": 1}, GrowthRules(min_node=2, min_child=1, max_depth=1)),
        (
            {"class_weights": {"both": 9}, "pruning": {"method": "pessimistic", "confidence": "0.01"}},
            GrowthRules(
                min_node=2,
                min_child=1,
                class_weights=(1, 1, 1, 9),
                pruning=Pruning("pessimistic", confidence=Fraction(1, 100)),
            ),
        ),
    ],
)
def test_pooled_frames_give_the_tree_of_pooled_records(given: dict[str, Any], rules: GrowthRules) -> None:
    schema = Schema.from_json(SCHEMA)
    plain = grow(schema, rules, lambda queries: count_rows(ROWS, queries, schema)).tree
    found = FederatedTreeClassifier(**RULES, **given).simulate(FRAMES, SCHEMA)
    assert found.tree_.tree_sha256 == plain.sha256
    again = found.simulate(reversed(FRAMES), schema)
    assert again.tree_.tree_sha256 == plain.sha256
    assert not hasattr(found, "job_")


def test_numbers_truths_and_gaps_are_read_as_predictions_read_them() -> None:
    schema = Schema.create(
        [Attribute("fever", ("no", "yes", "missing")), Attribute.numeric("age", ["40", "60.5"])],
        "ill",
        ["0", "1"],
    )
    frame = pd.DataFrame(
        {
            "fever": [True, False, None, True] * 3,
            "age": [60.5, 60.6, 40, 39.9] * 3,
            "ill": [1, 0, 0, 1] * 3,
            "ward": "a",
        }
    )
    found = FederatedTreeClassifier(**RULES).simulate([frame.iloc[:5], frame.iloc[5:]], schema)
    assert found.predict(frame[["fever", "age"]]).astype(int).tolist() == frame["ill"].tolist()
    assert found.predict_proba(frame[["fever", "age"]]).max() == 1.0


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda frame: frame.drop(columns="nausea"), r"frame 2: no column 'nausea' \(1 missing in all\)"),
        (
            lambda frame: frame.assign(nausea="2"),
            "frame 2, column 'nausea': a value that the schema does not",
        ),
        (lambda frame: frame.assign(nausea=None), "frame 2, column 'nausea': an empty field"),
        (lambda frame: frame.assign(diagnosis="flu"), "frame 2, column 'diagnosis': a value that the schema"),
    ],
)
def test_what_does_not_fit_is_named_by_its_place_and_not_shown(change: Any, reason: str) -> None:
    with pytest.raises(InputError, match=reason) as raised:
        FederatedTreeClassifier().simulate([FRAMES[0], change(FRAMES[1])], SCHEMA)
    assert "flu" not in str(raised.value)


@pytest.mark.parametrize(
    ("parameters", "reason"),
    [
        ({"class_weights": {"flu": 2}}, "no class 'flu'"),
        ({"pruning": {"method": "bonsai"}}, "pruning"),
        ({"min_node": 0}, "min_node"),
        ({"selection": {"parts": 2, "first": 0, "last": 1}}, "drawn at the hospitals"),
        ({"further": {"noise": {"sigma": "5"}}}, "noise: what is held out or added"),
        ({"mode": "gain-ratio", "max_depth": None}, "height"),
        ({"mode": "id3", "criterion": "c45"}, "criterion: this is of mode ppsdt"),
        (
            {"mode": "gain-ratio", "pruning": {"method": "pessimistic"}},
            "pruning: pessimistic needs the errors",
        ),
        (
            {"mode": "gain-ratio", "class_weights": {"both": 2}},
            "mode gain-ratio: class_weights: mode gain-ratio compares",
        ),
        ({"mode": "gain-ratio", "further": {"secret": {"grid": {"height": "1"}}}}, "no such attribute"),
    ],
)
def test_parameters_that_no_job_has(parameters: dict[str, Any], reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        FederatedTreeClassifier(**parameters).simulate(FRAMES, SCHEMA)


def test_what_fit_and_simulate_need_is_said() -> None:
    with pytest.raises(InputError, match=r"client: expected a privet\.client\.Client, got NoneType"):
        FederatedTreeClassifier(study="s").fit()
    with pytest.raises(InputError, match="schema: expected a schema"):
        FederatedTreeClassifier().simulate(FRAMES)
    with pytest.raises(InputError, match="at least one record"):
        FederatedTreeClassifier().simulate([], SCHEMA)
    with Client.from_token("http://127.0.0.1:9", "t") as client, pytest.raises(InputError, match="study"):
        FederatedTreeClassifier(client).fit()
    with (
        Client.from_token("http://127.0.0.1:9", "t") as client,
        pytest.raises(InputError, match="of its own"),
    ):
        FederatedTreeClassifier(client, "s", further={"min_node": 5}).fit()


def test_an_exported_tree_is_loaded_and_exported_again(tmp_path: Path) -> None:
    fitted = FederatedTreeClassifier(**RULES).simulate(FRAMES, SCHEMA)
    path = tmp_path / "tree.json"
    path.write_bytes(fitted.export("sklearn"))
    loaded = FederatedTreeClassifier.load(path)
    records = pd.concat(FRAMES)[list(NAMES)]
    assert (loaded.predict_proba(records) == fitted.predict_proba(records)).all()
    assert loaded.classes_.tolist() == list(CLASSES)
    fitted.plot().save(tmp_path / "tree.svg")
    assert (tmp_path / "tree.svg").read_bytes() == fitted.export("svg")
