"""Shuffles and routes against plain numpy, what an opened position may show, and what misuse meets."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.errors import InternalError, JobCode, JobFailure
from shared.mpc.local import local_parties, run_local
from shared.mpc.permutation import (
    OPENED_KIND,
    Route,
    Shuffle,
    draw_shuffle,
    gather,
    lay_route,
    move_to,
    send_along,
    send_back,
    shuffle,
)
from shared.mpc.program import Party, Program, Round
from shared.mpc.prss import Stream
from shared.mpc.random_permutation import draw_permutation
from shared.mpc.ring import U8, U16, U32, U64, Words
from shared.mpc.sharing import BinaryShare, Share
from tests.support.mpc import arithmetic, assert_cost, binary, run_and_open, seeded_random_bytes

SIZES = [1, 2, 3, 63, 64, 65, 1000]


def some_permutation(size: int, seed: int = 0) -> Words:
    return np.random.default_rng(seed).permutation(size).astype(U32)


def columns_of(size: int) -> list[Words]:
    generator = np.random.default_rng(size)
    return [generator.integers(0, 2**16, size).astype(dtype) for dtype in (U32, U64, U16, U8)]


def dealt(columns: list[Words]) -> list[Any]:
    return [*(arithmetic(words) for words in columns[:2]), *(binary(words) for words in columns[2:])]


@pytest.mark.parametrize("size", SIZES)
def test_move_to(size: int) -> None:
    destination, columns = some_permutation(size), columns_of(size)
    run = run_and_open(move_to, arithmetic(destination), dealt(columns))
    for moved, column in zip(run.value, columns, strict=True):
        assert np.array_equal(moved[destination], column)
    assert_cost(run, rounds=3, bytes_per_element=16 + 4 * (4 + 8 + 2 + 1), elements=size)


@pytest.mark.parametrize("size", SIZES)
def test_gather(size: int) -> None:
    index, columns = some_permutation(size), columns_of(size)
    run = run_and_open(gather, arithmetic(index), dealt(columns))
    for gathered, column in zip(run.value, columns, strict=True):
        assert np.array_equal(gathered, column[index])
    assert_cost(run, rounds=4, bytes_per_element=16 + 4 * (4 + 8 + 2 + 1), elements=size)


@given(st.permutations(range(9)), st.integers(0, 2**20))
def test_a_route_carries_columns_both_ways_again_and_again(order: list[int], seed: int) -> None:
    destination, column = np.array(order, U32), np.arange(100, 109, dtype=U32)

    def program(party: Party, to: Share, x: Share) -> Program[list[Any]]:
        route, none = yield from lay_route(party, to)
        there = yield from send_along(party, route, [x])
        again = yield from send_along(party, route, [x, x])
        back = yield from send_back(party, route, there)
        gathered = yield from send_back(party, route, [x])
        return [*none, *there, *again, *back, *gathered]

    run = run_and_open(program, arithmetic(destination), arithmetic(column), seed=seed)
    there, again, once_more, back, gathered = run.value
    assert np.array_equal(there[destination], column)
    assert np.array_equal(there, again)
    assert np.array_equal(there, once_more)
    assert np.array_equal(back, column)
    assert np.array_equal(gathered, column[destination])


@pytest.mark.parametrize("size", SIZES)
def test_shuffle_moves_all_columns_alike(size: int) -> None:
    numbers = np.arange(size, dtype=U32)
    run = run_and_open(shuffle, [arithmetic(numbers), binary(numbers.astype(U16))])
    assert np.array_equal(np.sort(run.value[0]), numbers)
    assert np.array_equal(run.value[0], run.value[1])
    assert_cost(run, rounds=2, bytes_per_element=4 * (4 + 2), elements=size)


def test_a_shuffle_drawn_ahead_serves_once() -> None:
    destination = some_permutation(20)

    def ahead(party: Party, to: Share, times: int) -> Program[Any]:
        drawn = draw_shuffle(party, 20)
        for _ in range(times):
            _, moved = yield from lay_route(party, to, [to], drawn)
        return moved

    run = run_and_open(ahead, arithmetic(destination), 1)
    assert np.array_equal(run.value[0], np.arange(20))
    with pytest.raises(InternalError, match="one opened permutation only"):
        run_and_open(ahead, arithmetic(destination), 2)


def test_opened_positions_are_counted() -> None:
    destination = arithmetic(some_permutation(20))
    run = run_local(lambda party: move_to(party, destination[party.index], []), seeded_random_bytes())
    assert [meter.opened for meter in run.meters] == [{OPENED_KIND: 20}] * 3


def test_what_does_not_fit_is_refused() -> None:
    three, four = arithmetic([2, 0, 1]), arithmetic([0, 1, 2, 3])
    with pytest.raises(ValueError, match="of one length"):
        run_and_open(move_to, three, [four])
    with pytest.raises(ValueError, match="uint32"):
        run_and_open(move_to, arithmetic([1, 0], U64), [])
    with pytest.raises(ValueError, match="one-dimensional"):
        run_and_open(shuffle, [arithmetic(np.zeros((2, 2), U32))])
    with pytest.raises(ValueError, match="3 elements, the destination 4"):
        run_and_open(lambda party, to: lay_route(party, to, [], draw_shuffle(party, 3)), four)

    def along_another(party: Party, to: Share, x: Share) -> Program[Any]:
        route, _ = yield from lay_route(party, to)
        return (yield from send_along(party, route, [x]))

    with pytest.raises(ValueError, match="route has 3 elements"):
        run_and_open(along_another, three, four)
    with pytest.raises(ValueError, match="0 were asked"):
        draw_permutation(Stream(bytes(16)), 0)


@pytest.mark.parametrize("destination", [[0, 0, 1], [0, 1, 3], [2**32 - 1, 0, 1]])
def test_positions_that_are_no_permutation_end_the_job(destination: list[int]) -> None:
    with pytest.raises(JobFailure, match="not a permutation") as caught:
        run_and_open(move_to, arithmetic(destination), [arithmetic([1, 2, 3])])
    assert caught.value.code is JobCode.SHARE_INCONSISTENT


@pytest.mark.parametrize("cheater", [1, 2])
def test_a_wrong_half_ends_the_job_before_the_next_round(cheater: int) -> None:
    rounds_seen: list[int] = []

    def tap(round_number: int, party: int, sent: Round) -> Round:
        rounds_seen.append(round_number)
        if (round_number, party) != (1, cheater):
            return sent
        wrong = [tuple(words + np.uint32(1) for words in side) for side in (sent.to_previous, sent.to_next)]
        return replace(sent, to_previous=wrong[0], to_next=wrong[1])

    with pytest.raises(JobFailure):
        run_and_open(
            move_to, arithmetic(some_permutation(30)), [arithmetic(np.arange(30, dtype=U32))], tap=tap
        )
    assert max(rounds_seen) == 1


# The rest looks at randomness. Bounds are at least five standard deviations wide, seeds are fixed.


def test_permutations_are_uniform() -> None:
    stream = Stream(bytes(range(16)))
    draws = 12_000
    seen = Counter(tuple(draw_permutation(stream, 4).tolist()) for _ in range(draws))
    assert set(seen) == set(permutations(range(4)))
    expected = draws / 24
    statistic = sum((count - expected) ** 2 / expected for count in seen.values())
    assert statistic < 23 + 5 * np.sqrt(2 * 23)


def test_who_is_told_positions_lacks_one_permutation() -> None:
    middle, one, two = (draw_shuffle(party, 50) for party in local_parties(seeded_random_bytes(3)))
    assert (one.second, two.first) == (None, None)
    assert np.array_equal(middle.first, one.first)
    assert np.array_equal(middle.second, two.second)
    assert not np.array_equal(one.first, two.second)


def test_party_0_is_sent_nothing() -> None:
    def tap(_: int, party: int, sent: Round) -> Round:
        assert not (party == 1 and sent.to_previous)
        assert not (party == 2 and sent.to_next)
        return sent

    run_and_open(move_to, arithmetic(some_permutation(30)), [arithmetic(np.arange(30, dtype=U32))], tap=tap)


def opened_positions(destination: Words, runs: int, shuffled: bool = True) -> Counter[tuple[int, ...]]:
    """How often which positions are opened. Args: shuffled: else the parties "draw" the identity."""

    def program(party: Party, to: Share) -> Program[tuple[int, ...]]:
        identity = np.arange(len(to), dtype=np.int32)
        drawn = draw_shuffle(party, len(to)) if shuffled else Shuffle(len(to), identity, identity)
        route, _ = yield from lay_route(party, to, [], drawn)
        return () if route.places is None else tuple(route.places.tolist())

    seen: Counter[tuple[int, ...]] = Counter()
    for seed in range(runs):
        to = arithmetic(destination, seed=2 * seed)
        run = run_local(
            lambda party, to=to: program(party, to[party.index]), seeded_random_bytes(2 * seed + 1)
        )  # type: ignore[misc]
        assert run.results[0] == ()
        assert run.results[1] == run.results[2]
        seen[run.results[1]] += 1
    return seen


def two_sample(first: Counter[tuple[int, ...]], second: Counter[tuple[int, ...]]) -> float:
    """How many standard deviations the two-sample chi-square statistic lies over its mean."""
    cells = set(first) | set(second)
    statistic = sum((first[c] - second[c]) ** 2 / (first[c] + second[c]) for c in cells)
    freedom = max(len(cells) - 1, 1)
    return float((statistic - freedom) / np.sqrt(2 * freedom))


def test_opened_positions_do_not_depend_on_the_permutation() -> None:
    runs = 600
    straight, turned = np.array([0, 1, 2], U32), np.array([2, 0, 1], U32)
    assert two_sample(opened_positions(straight, runs), opened_positions(turned, runs)) < 5
    broken = [opened_positions(destination, runs, shuffled=False) for destination in (straight, turned)]
    assert two_sample(*broken) > 100


class Silent(Stream):
    """A stream of zeros: masks that hide nothing."""

    def words(self, shape: Any, dtype: Any) -> Words:
        return np.zeros(shape, dtype)


def view_counts(value: int, seed: int, masked: bool = True) -> list[Words]:
    """What each party could learn of a constant column that is shuffled: how often every byte value occurs.

    Counted are the received arrays alone and added to each sum of the party's own parts.
    """
    received: list[list[Words]] = [[], [], []]
    column = binary(np.full(4096, value, U8), seed=seed)

    def tap(_: int, party: int, sent: Round) -> Round:
        received[party - 1].extend(sent.to_previous)
        received[(party + 1) % 3].extend(sent.to_next)
        return sent

    def program(party: Party, x: BinaryShare) -> Program[Any]:
        if masked:
            return (yield from shuffle(party, [x]))
        silent = replace(party.prss, previous=Silent(bytes(16)), next=Silent(bytes(16)))
        identity = np.arange(len(x), dtype=np.int32)
        route = Route(Shuffle(len(x), identity, identity), identity)
        return (yield from send_along(replace(party, prss=silent), route, [x]))

    run_local(lambda party: program(party, column[party.index]), seeded_random_bytes(seed + 1), tap)
    counts = []
    for index, arrays in enumerate(received):
        own, following = column[index].own, column[index].next
        seen = [words ^ mine for words in arrays for mine in (0 * own, own, following, own ^ following)]
        counts.extend(np.bincount(bytes_seen, minlength=256) for bytes_seen in seen)
    return counts


def furthest(first: list[Words], second: list[Words]) -> float:
    """The largest of the two-sample statistics, in standard deviations over their mean."""
    statistics = []
    for x, y in zip(first, second, strict=True):
        total = np.maximum(x + y, 1)
        statistics.append(float(((x - y) ** 2 / total).sum() - 255) / np.sqrt(2 * 255))
    return max(statistics)


def test_a_party_s_view_looks_alike_for_very_different_columns() -> None:
    assert furthest(view_counts(0, 10), view_counts(255, 20)) < 5
    assert furthest(view_counts(0, 30, masked=False), view_counts(255, 40, masked=False)) > 100


def test_sizes_and_order_of_messages_do_not_depend_on_values() -> None:
    def sizes(destination: Words, value: int) -> list[tuple[int, int, int]]:
        column = np.full(len(destination), value, U32)
        return run_and_open(move_to, arithmetic(destination), [arithmetic(column)]).run.sent_bytes

    ordered = np.arange(200, dtype=U32)
    assert sizes(ordered, 0) == sizes(ordered[::-1].copy(), 2**32 - 1)
