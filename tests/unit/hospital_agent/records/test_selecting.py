"""Records that are held out: parted alike in every job, evenly, by patient where asked, and never too finely."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from hospital_agent.records.matching import CodedRecords
from hospital_agent.records.selecting import Selector
from shared.errors import InputError
from shared.wire.tally import MAX_PARTS, SelectionSpec

SECRET = bytes(range(32))
SEED = "5e" * 16


HASHES = [None, "hmac-sha256"]


def spec(
    parts: int = 10,
    first: int = 0,
    last: int = 3,
    use: str = "test",
    seed: str = SEED,
    hash_: str | None = None,
) -> SelectionSpec:
    return SelectionSpec.model_validate(
        {"seed": seed, "parts": parts, "first": first, "last": last, "use": use, "hash": hash_}
    )


def records(rows: Sequence[tuple[int, ...]], numbers: list[int] | None = None) -> CodedRecords:
    measured = np.array([numbers], dtype=np.uint32) if numbers else np.empty((0, len(rows)), dtype=np.uint32)
    return CodedRecords(np.array(rows, dtype=np.uint8).T.copy(), measured, ())


def sample(count: int, seed: int = 1) -> CodedRecords:
    draw = np.random.default_rng(seed)
    return CodedRecords(
        draw.integers(0, 3, (4, count), dtype=np.uint8),
        draw.integers(0, 2**31, (1, count)).astype(np.uint32),
        (),
    )


def bag(taken: CodedRecords) -> list[tuple[int, ...]]:
    return sorted(map(tuple, np.vstack([taken.codes, taken.numbers]).T.tolist()))


@pytest.mark.parametrize("hash_", HASHES)
def test_testing_and_training_make_up_the_records_and_share_none(hash_: str | None) -> None:
    found = sample(500)
    test = Selector(spec(hash_=hash_), SECRET).take(found, None)
    train = Selector(spec(use="train", hash_=hash_), SECRET).take(found, None)
    assert sorted(bag(test) + bag(train)) == bag(found)
    assert 100 < len(bag(test)) < 200
    folds = [Selector(spec(5, fold, fold + 1, hash_=hash_), SECRET).take(found, None) for fold in range(5)]
    assert sorted(row for fold in folds for row in bag(fold)) == bag(found)
    assert all(60 < len(bag(fold)) < 140 for fold in folds)


@settings(max_examples=30)
@given(st.permutations(range(60)))
def test_the_order_of_rows_changes_nothing(order: list[int]) -> None:
    rows = [(code % 2, code % 3, 0) for code in range(60)]
    shuffled = [rows[place] for place in order]
    taken = Selector(spec(), SECRET).take(records(rows), None)
    assert bag(Selector(spec(), SECRET).take(records(shuffled), None)) == bag(taken)


@pytest.mark.parametrize("hash_", HASHES)
def test_records_alike_are_parted_one_by_one_and_a_new_one_moves_none(hash_: str | None) -> None:
    selector = Selector(spec(2, 0, 1, hash_=hash_), SECRET)
    alike = records([(1, 0)] * 200)
    places = selector.places(alike, None)
    assert 60 < np.count_nonzero(places == 0) < 140
    more = selector.places(records([(1, 0)] * 200 + [(0, 1)] * 7), None)
    assert more[:200].tolist() == places.tolist()


@pytest.mark.parametrize("hash_", HASHES)
def test_all_records_of_a_patient_stay_together(hash_: str | None) -> None:
    found = sample(300)
    patients = tuple(f"p{row // 3}" for row in range(300))
    places = Selector(spec(hash_=hash_), SECRET).places(found, patients).reshape(-1, 3)
    assert (places == places[:, :1]).all()
    assert len(set(places[:, 0].tolist())) == 10


@pytest.mark.parametrize("other", [spec(seed="5f" * 16), spec(20, 0, 6), spec(hash_="hmac-sha256")])
def test_another_hash_another_seed_or_another_number_of_parts_parts_independently(
    other: SelectionSpec,
) -> None:
    found = sample(2000)
    first = Selector(spec(), SECRET).places(found, None) < 3
    second = Selector(other, SECRET).places(found, None) < other.last
    both = np.count_nonzero(first & second) / 2000
    assert 0.06 < both < 0.12


@pytest.mark.parametrize("hash_", HASHES)
def test_another_hospitals_secret_parts_otherwise(hash_: str | None) -> None:
    found = sample(200)
    places = Selector(spec(hash_=hash_), SECRET).places(found, None)
    assert places.tolist() != Selector(spec(hash_=hash_), bytes(32)).places(found, None).tolist()


@pytest.mark.parametrize(
    ("hash_", "by_themselves", "by_patient"),
    [
        (None, [5, 12, 16, 0, 7], [18, 12, 18, 18, 16]),
        ("hmac-sha256", [19, 5, 7, 19, 6], [18, 6, 11, 18, 19]),
    ],
)
def test_running_studies_part_as_they_did(
    hash_: str | None, by_themselves: list[int], by_patient: list[int]
) -> None:
    """Places of earlier releases: a change would part the records of running studies anew."""
    found = records([(1, 0, 2), (1, 0, 2), (0, 2, 1), (2, 2, 0), (1, 0, 2)], [7, 7, 40_000, 1 << 31, 7])
    selector = Selector(spec(20, 0, 6, hash_=hash_), SECRET)
    assert selector.places(found, None).tolist() == by_themselves
    assert selector.places(found, ("a", "b", "ü-1", "a", " ")).tolist() == by_patient


def test_a_side_with_too_few_records_is_refused_without_saying_how_many() -> None:
    few = sample(23)
    Selector(spec(), SECRET, 1).take(few, None)
    with pytest.raises(InputError, match="too few on one side") as refused:
        Selector(spec(), SECRET, 15).take(few, None)
    assert "23" not in str(refused.value)


@pytest.mark.parametrize("wrong", [(21, 0, 1), (10, 3, 3), (10, 0, 10), (10, 0, 11), (1, 0, 1), (10, 4, 2)])
def test_partings_that_would_tell_of_few_records_or_of_none_cannot_be_said(
    wrong: tuple[int, int, int],
) -> None:
    with pytest.raises(ValidationError):
        spec(*wrong)
    assert spec(MAX_PARTS, 0, 1)
