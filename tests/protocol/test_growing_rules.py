"""Jobs with the rules that make a tree good: criterion c45, least gain, class weights, pruning.

Whole PPSDT jobs between a cloud and hospitals; the tree is that of the pooled records under the same rules, all
hospitals attest the same one, and a rule that is left out changes no signed byte.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from pydantic import ValidationError

from shared.protocol.participation import rules_of, schema_of
from shared.protocol.states import CloudState
from shared.tree.counting import count_rows
from shared.tree.growing import grow
from shared.tree.growth_rules import GrowthRules
from shared.tree.model import Tree
from shared.tree.pruning import Pruning
from shared.wire.manifest import Manifest
from tests.support.world import Rows, World

SCHEMA = {
    "attributes": [
        {"name": "a", "values": ["0", "1"]},
        {"name": "b", "values": ["0", "1", "2"]},
        {"name": "c", "values": ["0", "1"]},
    ],
    "class": {"name": "class", "labels": ["no", "yes"]},
}
# a says nearly all; c divides the rest by chance, so that a tree of all of it is larger than what can be told.
ROWS: Rows = [
    *[(0, value % 3, value % 2, 0) for value in range(12)],
    *[(1, value % 3, value % 2, 1) for value in range(12)],
    (0, 0, 1, 1),
    (1, 1, 0, 0),
    (1, 2, 0, 0),
]
NAMES = ("h1", "h2", "h3")
RULES: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({"criterion": "c45"}, {"criterion": "c45"}),
    ({"min_gain": "0.05"}, {"min_gain": Fraction(1, 20)}),
    ({"class_weights": [1, 4]}, {"class_weights": (1, 4)}),
    (
        {"pruning": {"method": "majority", "share": "0.8"}},
        {"pruning": Pruning("majority", share=Fraction(4, 5))},
    ),
    ({"pruning": {"method": "collapse"}}, {"pruning": Pruning("collapse")}),
    ({"pruning": {"method": "pessimistic"}}, {"pruning": Pruning("pessimistic")}),
    (
        {"pruning": {"method": "pessimistic", "confidence": "0.1", "bound": "binomial"}},
        {"pruning": Pruning("pessimistic", confidence=Fraction(1, 10), bound="binomial")},
    ),
    (
        {"pruning": {"method": "cost-complexity", "alpha": "0.03", "cost": "gini"}},
        {"pruning": Pruning("cost-complexity", alpha=Fraction(3, 100), cost="gini")},
    ),
    (
        {"criterion": "c45", "class_weights": [3, 1], "pruning": {"method": "pessimistic"}},
        {"criterion": "c45", "class_weights": (3, 1), "pruning": Pruning("pessimistic")},
    ),
]
FULL: dict[str, Any] = {"min_node": 1, "min_child": 1, "max_depth": None}


def world(**changes: Any) -> World:
    return World(7, {name: ROWS[k::3] for k, name in enumerate(NAMES)}, SCHEMA, **changes)


def pooled(built: World, **rules: Any) -> Tree:
    schema = schema_of(built.cloud.job.manifest)
    return grow(schema, GrowthRules(**FULL, **rules), lambda queries: count_rows(ROWS, queries, schema)).tree


def longer() -> list[Any]:
    """Every rule by itself is a longer proof; the last one has three of them in one job."""
    return [
        pytest.param(*pair, id=str(pair[0]), marks=[] if pair is RULES[-1] else [pytest.mark.long])
        for pair in RULES
    ]


@pytest.mark.parametrize(("asked", "meant"), longer())
def test_a_job_grows_the_pooled_tree_under_its_rules(asked: dict[str, Any], meant: dict[str, Any]) -> None:
    built = world(**asked)
    built.run(4000)
    assert built.cloud.job.state is CloudState.DONE
    expected = pooled(built, **meant)
    assert {hospital.tree for hospital in built.hospitals.values()} == {expected.sha256}
    for hospital in built.hospitals.values():
        assert hospital.participation is not None
        assert hospital.participation.growth.tree == expected
    if "pruning" in asked:
        assert expected.node_count < pooled(built, **{**meant, "pruning": None}).node_count


@pytest.mark.long
def test_a_pruned_job_asks_and_states_what_the_job_without_pruning_does() -> None:
    """Pruning comes after the last round: rounds, slots and sums are the same."""
    plain, pruned = world(), world(pruning={"method": "pessimistic"})
    for built in (plain, pruned):
        built.run(4000)
    assert sorted(plain.cloud.aggregates) == sorted(pruned.cloud.aggregates)
    assert len(plain.cloud.aggregates) > 1


def test_rules_that_are_left_out_change_no_byte() -> None:
    text = world().cloud.job.manifest.canonical().decode()
    assert not [name for name in ("min_gain", "class_weights", "pruning") if name in text]


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"class_weights": [1]}, "one weight for each class label"),
        ({"class_weights": [1, 0]}, "greater than or equal to 1"),
        ({"min_gain": "-1"}, "pattern"),
        ({"min_gain": "1e-3"}, "pattern"),
        ({"pruning": {"method": "pessimistic", "alpha": "0.1"}}, "alpha"),
        ({"pruning": {"method": "cost-complexity"}}, "alpha"),
        ({"pruning": {"method": "collapse", "confidence": "0.25"}}, "confidence and bound"),
        ({"pruning": {"method": "pessimistic", "confidence": "0"}}, "above 0 and at most 0.5"),
        ({"pruning": {"method": "pessimistic", "confidence": "0.51"}}, "above 0 and at most 0.5"),
        ({"pruning": {"method": "pessimistic", "cost": "gini"}}, "cost is of cost-complexity"),
        ({"pruning": {"method": "majority"}}, "share"),
        ({"pruning": {"method": "collapse", "share": "0.9"}}, "share"),
        ({"pruning": {"method": "majority", "share": "0"}}, "above 0 and at most 1"),
        ({"pruning": {"method": "majority", "share": "1.01"}}, "above 0 and at most 1"),
        ({"pruning": {"method": "magic"}}, "collapse"),
    ],
)
def test_rules_that_contradict_themselves_are_refused(change: dict[str, Any], told: str) -> None:
    with pytest.raises(ValidationError, match=told):
        world(**change)


ID3: dict[str, Any] = {
    "profile": "secret-id3",
    "secret": {"compute_parties": ["h1", "h2", "h3"]},
    "max_shrinks": 0,
    "skip_known": False,
    "disclosure": "class",
}
GAIN_RATIO: dict[str, Any] = {
    **ID3,
    "profile": "secret-gainratio",
    "criterion": "gain-ratio",
    "max_depth": 3,
    "schema": {
        **SCHEMA,
        "attributes": [
            {"name": name, "values": ["0", "1", "2"], "treat_as": "ordered"} for name in ("a", "b", "c")
        ],
    },
}
COLLAPSE, WEIGHTS = {"pruning": {"method": "collapse"}}, {"class_weights": [1, 2]}
OTHERS: dict[str, Any] = {**ID3["secret"], "result": "shared"}
ASKING: dict[str, Any] = {**ID3["secret"], "purpose": "predict", "model": "ab" * 16, "result_parties": ["h1"]}


@pytest.mark.parametrize(
    ("mode", "change", "told"),
    [
        (ID3, {"pruning": {"method": "pessimistic"}}, "pessimistic needs the errors of leaves"),
        (GAIN_RATIO, {"pruning": {"method": "cost-complexity", "alpha": "0.1"}}, "cost-complexity needs"),
        (GAIN_RATIO, WEIGHTS, "class_weights: mode gain-ratio compares"),
        ({**GAIN_RATIO, "secret": OTHERS}, COLLAPSE, "collapse joins leaves of an opened tree"),
        (
            {**GAIN_RATIO, "secret": ASKING},
            {"min_gain": "0.1"},
            "min_gain: a job that asks a tree grows none",
        ),
        ({**GAIN_RATIO, "secret": ASKING}, COLLAPSE, "pruning: a job that asks a tree grows none"),
        (ID3, {"class_weights": [1]}, "one weight for each class label"),
    ],
)
def test_secret_modes_refuse_what_needs_counts(
    mode: dict[str, Any], change: dict[str, Any], told: str
) -> None:
    """Their sums are opened to nobody, so there is nothing to prune by; refused rather than left out in silence."""
    with pytest.raises(ValidationError, match=told):
        manifest_of(mode, **change)


@pytest.mark.parametrize(
    ("mode", "change"),
    [
        (ID3, {"min_gain": "0.1", **WEIGHTS, **COLLAPSE}),
        (ID3, {"pruning": {"method": "majority", "share": "0.9"}}),
        (GAIN_RATIO, {"min_gain": "0.1", **COLLAPSE}),
        ({**GAIN_RATIO, "secret": OTHERS}, {"pruning": {"method": "majority", "share": "0.9"}}),
    ],
)
def test_secret_modes_take_what_needs_none(mode: dict[str, Any], change: dict[str, Any]) -> None:
    assert manifest_of(mode, **change).canonical() != manifest_of(mode).canonical()
    text = manifest_of(mode).canonical().decode()
    assert not [name for name in ("min_gain", "class_weights", "pruning") if name in text]


def manifest_of(mode: dict[str, Any], **change: Any) -> Manifest:
    """The manifest of a secret mode. Raises: ValidationError."""
    plain = world().cloud.job.manifest.model_dump(mode="json", by_alias=True)
    return Manifest.model_validate({**plain, **mode, **change})


def test_a_manifest_becomes_the_rules_that_it_names() -> None:
    manifest = world(
        criterion="c45",
        min_gain="0.001",
        class_weights=[2, 5],
        pruning={"method": "cost-complexity", "alpha": "0.01"},
    ).cloud.job.manifest
    assert rules_of(manifest) == GrowthRules(
        "c45",
        **FULL,
        min_gain=Fraction(1, 1000),
        class_weights=(2, 5),
        pruning=Pruning("cost-complexity", alpha=Fraction(1, 100)),
    )
