"""From opened arrays to layers: only an honest tree is taken."""

from __future__ import annotations

import numpy as np
import pytest

from shared.errors import InternalError, JobCode, JobFailure
from shared.mpc.local import run_local
from shared.mpc.program import Party, Program, Spec
from shared.secure_tree.gain_ratio.opened import layers_of
from shared.secure_tree.gain_ratio.shared_tree import SharedTree, result_specs
from shared.secure_tree.sealed_result import SealedShare, agreed_commitments, combine_sealed, seal_result
from shared.tree.gain_ratio_growing import GainRatioRules, GroupLeaf, GroupTest, grow_by_gain_ratio
from tests.support.mpc import seeded_random_bytes
from tests.support.secret_gain_ratio import Training, random_sample, train


@pytest.fixture(scope="module")
def training() -> Training:
    return train(random_sample(60, 3, 3, seed=2, values=40), GainRatioRules(height=3), widths=(6, 6, 6))


def test_arrays_are_as_announced(training: Training) -> None:
    assert tuple(Spec.of(array) for array in training.arrays) == result_specs(training.plan)
    tree = training.run.results[1]
    assert SharedTree.of(training.plan, tree.arrays).arrays == tree.arrays
    with pytest.raises(InternalError, match="other arrays"):
        SharedTree.of(training.plan, tree.arrays[:3])


def test_through_the_seal_to_a_result_party(training: Training) -> None:
    trees = training.run.results

    def seal(party: Party) -> Program[SealedShare]:
        return seal_result(party, trees[party.index].arrays)

    sealed = run_local(seal, seeded_random_bytes(9)).results
    commitments = [one.commitments() for one in sealed]
    agreed_commitments(commitments)
    values = combine_sealed([one.own_part() for one in sealed], commitments)
    sample = random_sample(60, 3, 3, seed=2, values=40)
    expected = grow_by_gain_ratio(sample.keys, sample.labels, 3, training.plan.rules)
    assert layers_of(training.plan, values) == expected


def test_slots_below_a_leaf_are_not_read() -> None:
    plan = train(random_sample(9, 1, 2, seed=1), GainRatioRules(height=2)).plan
    arrays = [np.zeros(spec.shape, spec.dtype) for spec in result_specs(plan)]
    arrays[0][0], arrays[2][0], arrays[3][[1, 5, 6]] = 1, 5, (1, 1, 1)
    arrays[0][2] = 1
    assert layers_of(plan, arrays) == (
        (GroupTest(0, 5),),
        (GroupLeaf(1), GroupTest(0, 0)),
        (GroupLeaf(1), GroupLeaf(1)),
    )


@pytest.mark.parametrize(
    ("place", "entry", "value"),
    [(0, 0, 2), (1, 0, 3), (2, 0, 64), (3, 14, 3), (1, "leaf", 1), (2, "leaf", 1), (3, "split", 1)],
)
def test_refuses_what_is_no_tree(training: Training, place: int, entry: int | str, value: int) -> None:
    arrays = [array.copy() for array in training.arrays]
    inner = arrays[0].astype(bool)
    where = {"leaf": np.flatnonzero(~inner), "split": np.flatnonzero(inner)}
    arrays[place][where[entry][0] if isinstance(entry, str) else entry] = value
    with pytest.raises(JobFailure, match="no tree of this study") as caught:
        layers_of(training.plan, arrays)
    assert caught.value.code == JobCode.SHARE_INCONSISTENT
