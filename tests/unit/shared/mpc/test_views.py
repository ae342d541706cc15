"""What one compute party knows after a primitive: nothing that depends on inputs, by a test that notices what does.

`tests.support.views` tells how it looks. Every primitive is tried as it is, and with the masks of one pair of parties
switched off, which the third must notice. Seeds are fixed; bounds are seven standard deviations and more.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from shared.errors import JobFailure
from shared.mpc.arithmetic import conjunction, multiply
from shared.mpc.comparison import equal_words, is_zero, less_than, less_than_choosing, less_than_words
from shared.mpc.conversion import binary_to_arithmetic, bits_to_arithmetic, sign_bits, to_binary, widen
from shared.mpc.first_maximum import first_maximum, ready
from shared.mpc.fractions import wide_fraction_greater
from shared.mpc.halves import halves_of_products
from shared.mpc.lookup import LookupTable, sums_by_unit_vectors
from shared.mpc.matrices import SecretMatrix, lifted
from shared.mpc.maximum import index_of_maximum
from shared.mpc.permutation import Shuffle, draw_shuffle, gather, lay_route, move_to, shuffle
from shared.mpc.program import Party, Program, Round
from shared.mpc.ring import U8, U16, U32, U64, Words
from shared.mpc.rotation import rotated_tables
from shared.mpc.sharing import PARTIES, BinaryShare, Share
from shared.mpc.sorted_lookup import entries_by_sorting
from shared.mpc.sorting import digit_destination, digit_indicators, stable_sort
from tests.support.mpc import arithmetic, binary, run_and_open
from tests.support.views import ALL, BOUND, Break, Case, Input, distance, hears_nothing

N = 1024
BROKEN = 25


def numbers(*columns: tuple[int, int], dtype: Any = U32, count: int = N) -> tuple[Input, Input]:
    """Constant columns. Args: columns: of each its number in the first and in the second input."""
    first, second = (
        [
            arithmetic(np.full(count, column[which]), dtype, seed=10 * which + turn)
            for turn, column in enumerate(columns)
        ]
        for which in range(2)
    )
    return first, second


def words(*columns: tuple[int, int], dtype: Any, count: int = N) -> tuple[Input, Input]:
    """The same of XOR-shared words."""
    first, second = (
        [
            binary(np.full(count, column[which], dtype), seed=10 * which + turn)
            for turn, column in enumerate(columns)
        ]
        for which in range(2)
    )
    return first, second


def orders() -> tuple[Input, Input]:
    """A permutation that moves nothing, and one that turns everything round."""
    straight = np.arange(N, dtype=U32)
    return [arithmetic(straight, seed=1)], [arithmetic(straight[::-1].copy(), seed=2)]


def keys() -> tuple[Input, Input]:
    """Keys in a period of 16, and in falling order."""
    rows = np.arange(N, dtype=U16)
    return [binary(rows % 16, seed=3)], [binary(rows[::-1] // (N // 16), seed=4)]


def candidates() -> tuple[Input, Input]:
    """Eight rows of equal numbers, and eight rising ones."""
    rising = np.repeat(np.arange(8, dtype=U32), N // 8)
    return [arithmetic(np.zeros(N, U32), seed=5)], [arithmetic(rising, seed=6)]


def times_matrix(party: Party, x: Share, y: Share) -> Program[Share]:
    matrix = SecretMatrix.of([y.reshape(32, -1)], 12)
    return matrix.multiplied(party, x.reshape(32, -1), np.arange(32))


def looked_up(party: Party, x: Share) -> Program[Share]:
    table = LookupTable.of(np.arange(256, dtype=np.uint64) ** 2)
    return sums_by_unit_vectors(party, table, x, np.ones(len(x), U64), np.arange(len(x)))


def destination(party: Party, given: BinaryShare) -> Program[Share]:
    return (yield from digit_destination(party, (yield from digit_indicators(party, given, 0, 2))))


CASES = {
    "multiply": Case(multiply, numbers((0, 2**32 - 1), (0, 2**32 - 1))),
    "conjunction": Case(conjunction, words((0, 255), (0, 255), dtype=U8)),
    "halves of products": Case(
        lambda party, x, y: halves_of_products(party, [(x, y)]), numbers((0, 3), (0, 3), dtype=U64)
    ),
    "matrix product": Case(times_matrix, numbers((0, 1), (0, 1))),
    "lifted": Case(lambda party, x: lifted(party, x, 12, U64), numbers((0, 2047))),
    "bits to numbers": Case(bits_to_arithmetic, words((0, 1), dtype=U8)),
    "words to numbers": Case(
        lambda party, x: binary_to_arithmetic(party, x, 16, U32), words((0, 2**16 - 1), dtype=U16)
    ),
    "widen": Case(widen, numbers((0, 2**31 - 1))),
    "sign, 32 bits": Case(sign_bits, numbers((0, 2**32 - 1))),
    "sign, 64 bits": Case(sign_bits, numbers((0, 2**64 - 1), dtype=U64)),
    "sign, 6 bits": Case(lambda party, x: sign_bits(party, x, 6), numbers((0, 63))),
    "bits of numbers": Case(lambda party, x: to_binary(party, x, 32), numbers((0, 2**32 - 1))),
    "less than": Case(less_than, numbers((0, 1), (1, 0))),
    "less than, choosing": Case(
        lambda party, x, y: less_than_choosing(party, x, y, (y - x).reshape(1, -1)), numbers((0, 1), (1, 0))
    ),
    "zero": Case(is_zero, numbers((0, 2**32 - 1))),
    "words, less": Case(
        lambda party, x, y: less_than_words(party, x, y, 16), words((0, 2**16 - 1), (2**16 - 1, 0), dtype=U16)
    ),
    "words, equal": Case(lambda party, x, y: equal_words(party, x, y, 16), words((7, 7), (7, 0), dtype=U16)),
    "fractions": Case(wide_fraction_greater, numbers((1, 2), (1, 1), (2, 1), (1, 1), dtype=U64)),
    "maximum": Case(lambda party, x: index_of_maximum(party, x.reshape(8, -1)), candidates()),
    "first maximum": Case(
        lambda party, x: first_maximum(party, (8, N // 8), ready(x.reshape(8, -1)), 24), candidates()
    ),
    "look-up": Case(looked_up, numbers((0, 255), dtype=U64, count=256)),
    "look-up by sorting": Case(
        lambda party, x: entries_by_sorting(party, np.arange(64, dtype=U64), x),
        numbers((0, 63), count=N - 64),
    ),
    "rotation": Case(
        lambda party, x: rotated_tables(party, np.arange(64, dtype=U32), x, 64), numbers((0, 37), count=64)
    ),
    "digits of keys": Case(destination, words((0, 3), dtype=U8)),
    "shuffle": Case(lambda party, x: shuffle(party, [x]), numbers((0, 2**32 - 1))),
    "move": Case(lambda party, x: move_to(party, x, [x]), orders()),
    "gather": Case(lambda party, x: gather(party, x, [x]), orders()),
    "sort": Case(lambda party, x: stable_sort(party, x, 4, [x]), keys()),
}


MOVES = ("move", "gather", "sort")


@pytest.mark.parametrize("name", CASES)
def test_no_party_can_tell_the_inputs_apart(name: str) -> None:
    assert distance(CASES[name]) < BOUND


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("key", sorted(ALL))
def test_who_is_sent_anything_could_without_the_masks_of_the_other_two(name: str, key: int) -> None:
    """Key i is common to parties i - 1 and i, so its masks are against party i + 1."""
    case = CASES[name]
    if hears_nothing(case, (key + 1) % PARTIES):
        assert distance(case, Break(silent=frozenset([key]))) < BOUND
    else:
        assert distance(case, Break(silent=frozenset([key]))) > BROKEN


@pytest.mark.parametrize("name", ["lifted", "look-up by sorting", "sort"])
def test_one_mask_for_two_messages_is_noticed(name: str) -> None:
    assert distance(CASES[name], Break(repeating=True)) > BROKEN


@pytest.mark.parametrize("name", MOVES)
@pytest.mark.parametrize("key", [0, 1])
def test_who_is_told_positions_can_without_the_permutation_of_the_other_two(name: str, key: int) -> None:
    """p_02 is drawn from key 0 and hides from party 1, p_01 from key 1 and hides from party 2."""
    assert distance(CASES[name], Break(still=frozenset([key]))) > BROKEN


@pytest.mark.parametrize("same", [False, True])
def test_two_openings_under_one_shuffle_are_noticed(same: bool) -> None:
    def program(party: Party, first: Share, second: Share) -> Program[Any]:
        drawn = draw_shuffle(party, N)
        yield from lay_route(party, first, [], drawn)
        again = Shuffle(N, drawn.first, drawn.second) if same else draw_shuffle(party, N)
        yield from lay_route(party, second, [], again)

    [straight], [turned] = orders()
    [third], _ = orders()
    found = distance(Case(program, ([straight, third], [straight, turned])))
    assert found > BROKEN if same else found < BOUND


def test_a_deviating_party_learns_an_order_and_ends_the_job() -> None:
    """What docs/threat-model.md admits: errors that party 1 adds to destinations name the elements it then sees."""
    order = np.random.default_rng(0).permutation(N).astype(U32)
    errors = np.arange(N, dtype=U32) * np.uint32(N)
    half: list[Words] = []

    def program(party: Party, to: Share) -> Program[Any]:
        # An error in what party 1 sends when it shares again: parties 1 and 0 both hold the part that has it.
        wrong = Share(
            to.own + errors if party.index == 1 else to.own, to.next + errors if party.index == 0 else to.next
        )
        return lay_route(party, wrong)

    def tap(number: int, party: int, sent: Round) -> Round:
        if (number, party) in ((0, 0), (1, 2)):
            half.extend(words.copy() for words in (sent.to_next if party == 0 else sent.to_previous))
        return sent

    with pytest.raises(JobFailure):
        run_and_open(program, arithmetic(order), tap=tap)
    seen = half[0] + half[1]
    assert np.array_equal(order[seen // N], seen % N)
