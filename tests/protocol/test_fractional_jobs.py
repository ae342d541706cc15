"""Jobs with fractional missing values over the same protocol: the tree of the pooled records, weights and all."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from shared.protocol.states import CloudState
from shared.tree.fractional_growing import FractionalGrowth
from shared.wire.manifest import MAX_FRACTIONAL_STEPS
from tests.protocol.test_simulation import NAMES, PATTERNS
from tests.support import exact_fractional as oracle
from tests.support.threshold_keys import dealt
from tests.support.world import Parties, Rows, World

SCHEMA: dict[str, Any] = {
    "attributes": [
        {"name": "a", "values": ["0", "1", "missing"], "missing": "fractional"},
        {"name": "b", "values": ["0", "1", "2", ""], "missing": "fractional"},
        {"name": "c", "values": ["0", "1"]},
    ],
    "class": {"name": "class", "labels": ["no", "yes", "both"]},
}
MISSING: Rows = [(2, 0, 0, 0), (2, 3, 1, 1), (0, 3, 0, 0), (1, 3, 0, 2), (2, 2, 1, 2)]
SETTING = oracle.Setting((2, 3, 2), frozenset({0, 1}), 3)
SEEDS = [0, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(1, 30))]


def world(seed: int, **changes: object) -> World:
    rows = {name: PATTERNS * 2**k + MISSING * (k + 1) for k, name in enumerate(NAMES)}
    return World(seed, rows, SCHEMA, **changes)  # type: ignore[arg-type]


def check(built: World) -> None:
    assert built.cloud.job.state is CloudState.DONE
    rows = [row for hospital in built.hospitals.values() for row in hospital.rows]
    for hospital in built.hospitals.values():
        participation = hospital.participation
        assert participation is not None
        assert isinstance(participation.growth, FractionalGrowth)
        tree = participation.growth.tree.to_json(with_counts=True)
        assert oracle.faults(tree, rows, SETTING) == []
    assert len({hospital.tree for hospital in built.hospitals.values()}) == 1


@pytest.mark.parametrize("seed", SEEDS)
def test_every_hospital_grows_the_tree_of_the_pooled_records(seed: int) -> None:
    built = world(seed)
    built.run(4000)
    check(built)
    assert len(built.cloud.aggregates) > 1


@pytest.mark.long
def test_a_key_in_shares_does_as_well() -> None:
    built = world(7, dealt=dealt(512, 4, 4))
    built.run(4000)
    check(built)


def manifest(schema: dict[str, Any], **changes: object) -> None:
    Parties(list(NAMES)).manifest(schema, **changes)  # type: ignore[arg-type]


def test_what_cannot_have_parts_of_records_says_so() -> None:
    with pytest.raises(ValidationError, match="profile hardened"):
        manifest(SCHEMA, profile="paper")
    noise = {"sigma_squared": 400, "untrusted": 1, "delta": "0.000001"}
    with pytest.raises(ValidationError, match="without noise"):
        manifest(SCHEMA, skip_known=False, noise=noise)


def test_the_number_of_parts_is_bounded_before_the_start() -> None:
    marked = [
        {"name": f"a{index}", "values": ["0", "1", "missing"], "missing": "fractional"}
        for index in range(MAX_FRACTIONAL_STEPS + 1)
    ]
    schema = {**SCHEMA, "attributes": marked}
    with pytest.raises(ValidationError, match="max_depth at most 8"):
        manifest(schema, max_depth=None)
    manifest(schema, max_depth=MAX_FRACTIONAL_STEPS)
    manifest({**SCHEMA, "attributes": marked[1:]}, max_depth=None)
