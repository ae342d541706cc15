"""Options about growing, as they are typed: what becomes of them, and what is refused with which remedy."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, get_args

import pytest

from cloud_service.growing_options import (
    BoundName,
    CostName,
    PruningName,
    class_weights,
    least_gain,
    pruning,
)
from cloud_service.job_choices import CriterionName
from cloud_service.study_commands import TallyName
from shared.errors import InputError
from shared.wire import growing, manifest, tally
from shared.wire.growing import PruningSpec

NONE: dict[str, Any] = {"prune": None, "confidence": None, "bound": None, "alpha": None, "cost": None}


def test_weights_go_by_label_and_a_label_may_hold_an_equals_sign() -> None:
    assert class_weights([]) is None
    assert class_weights(["yes=5", "a=b=2"]) == {"yes": 5, "a=b": 2}


@pytest.mark.parametrize("words", [["yes"], ["yes=x"], ["yes=1.5"], ["yes=-1"], ["yes=1", "yes=2"]])
def test_no_weights(words: list[str]) -> None:
    with pytest.raises(InputError, match="LABEL=N"):
        class_weights(words)


def test_pruning_is_the_manifests_block() -> None:
    assert pruning(**NONE) is None
    assert pruning(**NONE | {"prune": PruningName.COLLAPSE}) == PruningSpec(method="collapse")
    pessimistic = NONE | {"prune": PruningName.PESSIMISTIC, "confidence": "0.1", "bound": BoundName.BINOMIAL}
    assert pruning(**pessimistic) == PruningSpec(method="pessimistic", confidence="0.1", bound="binomial")
    stopped = NONE | {"prune": PruningName.MAJORITY, "share": "0.95"}
    assert pruning(**stopped) == PruningSpec(method="majority", share="0.95")
    priced = NONE | {"prune": PruningName.COST_COMPLEXITY, "alpha": "0.02", "cost": CostName.GINI}
    assert pruning(**priced) == PruningSpec(method="cost-complexity", alpha="0.02", cost="gini")


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"confidence": "0.1"}, "say how to prune"),
        ({"prune": PruningName.COST_COMPLEXITY}, "alpha"),
        ({"prune": PruningName.MAJORITY}, "share"),
        ({"share": "0.9"}, "say how to prune"),
        ({"prune": PruningName.COLLAPSE, "alpha": "0.1"}, "alpha"),
        ({"prune": PruningName.PESSIMISTIC, "confidence": "0.6"}, "at most 0.5"),
        ({"prune": PruningName.PESSIMISTIC, "confidence": "a quarter"}, "expected a number from 0 on"),
        ({"prune": PruningName.COST_COMPLEXITY, "alpha": "1e-3"}, "expected a number from 0 on"),
    ],
)
def test_no_pruning(given: dict[str, Any], told: str) -> None:
    with pytest.raises(InputError, match=told):
        pruning(**NONE | given)


def test_a_least_gain_is_a_plain_number() -> None:
    assert (least_gain(None), least_gain("0.01")) == (None, "0.01")
    for text in ("-1", "1e-3", ".5", "0,1", "lots"):
        with pytest.raises(InputError, match="--min-gain"):
            least_gain(text)


@pytest.mark.parametrize(
    ("option", "words"),
    [
        (CriterionName, manifest.Criterion),
        (PruningName, growing.Method),
        (BoundName, growing.Bound),
        (CostName, growing.Cost),
        (TallyName, tally.TallyKind),
    ],
)
def test_options_offer_what_a_manifest_may_say(option: type[StrEnum], words: object) -> None:
    assert [one.value for one in option] == list(get_args(words))
