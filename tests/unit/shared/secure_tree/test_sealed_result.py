"""A shared result given out: the parts give it back, commitments agree, and whoever lies is noticed."""

from __future__ import annotations

import numpy as np
import pytest

from shared.errors import JobCode, JobFailure
from shared.mpc.local import run_local
from shared.mpc.program import Party, Program, Spec
from shared.mpc.sharing import BinaryShare
from shared.secure_tree.sealed_result import (
    COMMITMENTS,
    SealedShare,
    agreed_commitments,
    combine_sealed,
    part_specs,
    seal_result,
    sealed_record,
)
from tests.support.mpc import binary, seeded_random_bytes

VALUES = (np.arange(6, dtype=np.uint32).reshape(2, 3), np.array([2**64 - 1], np.uint64))


def sealed(seed: int = 1) -> tuple[SealedShare, ...]:
    inputs = [binary(values, seed=place) for place, values in enumerate(VALUES)]

    def program(party: Party) -> Program[SealedShare]:
        shares: list[BinaryShare] = [three[party.index] for three in inputs]
        return (yield from seal_result(party, shares))

    run = run_local(program, seeded_random_bytes(seed))
    assert run.rounds == 1
    assert run.total_bytes == 3 * sum(values.nbytes for values in VALUES)
    return run.results


def test_the_parts_give_the_result_back_and_both_holders_commit_alike() -> None:
    three = sealed()
    commitments = [share.commitments() for share in three]
    assert all(Spec.of(words) == COMMITMENTS for words in commitments)
    record = sealed_record([agreed_commitments(commitments)])
    assert record == sealed_record([agreed_commitments([share.commitments() for share in sealed()])])
    assert record != sealed_record([agreed_commitments([share.commitments() for share in sealed(2)])])
    parts = [share.own_part() for share in three]
    assert tuple(map(Spec.of, parts[0])) == part_specs([Spec.of(values) for values in VALUES])
    assert all(np.array_equal(x, y) for x, y in zip(parts[1], three[0].next_part(), strict=True))
    for got, values in zip(combine_sealed(parts, commitments), VALUES, strict=True):
        assert np.array_equal(got, values)


def test_the_parts_are_fresh() -> None:
    first, second = sealed(1)[0].own_part(), sealed(2)[0].own_part()
    assert not any(np.array_equal(x, y) for x, y in zip(first, second, strict=True))


@pytest.mark.parametrize("holder", range(3))
def test_holders_of_a_part_that_commit_to_different_things_are_noticed(holder: int) -> None:
    commitments = [share.commitments() for share in sealed()]
    for half in (0, 32):
        changed = [words.copy() for words in commitments]
        changed[holder][half] ^= 1
        with pytest.raises(JobFailure) as failure:
            agreed_commitments(changed)
        assert failure.value.code is JobCode.SHARE_INCONSISTENT


@pytest.mark.parametrize("holder", range(3))
@pytest.mark.parametrize("place", range(3))
def test_a_part_that_is_not_the_committed_one_is_noticed(holder: int, place: int) -> None:
    three = sealed()
    parts = [[words.copy() for words in share.own_part()] for share in three]
    parts[holder][place].reshape(-1)[0] ^= 1
    with pytest.raises(JobFailure, match=f"part {holder} "):
        combine_sealed(parts, [share.commitments() for share in three])
