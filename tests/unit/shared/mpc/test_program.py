"""Programs: rounds shared by `together`, the meter, and parties that fall out of step."""

from __future__ import annotations

import numpy as np
import pytest

from shared.errors import InternalError
from shared.mpc.arithmetic import multiply
from shared.mpc.local import run_local
from shared.mpc.program import Party, Program, Received, Round, Spec, pass_to_previous, together
from shared.mpc.ring import U32, U64, Words
from shared.mpc.sharing import Share
from tests.support.mpc import arithmetic, assert_cost, run_and_open, seeded_random_bytes


def power(party: Party, x: Share, exponent: int) -> Program[Share]:
    """exponent - 1 rounds."""
    result = x
    for _ in range(exponent - 1):
        result = yield from multiply(party, result, x)
    return result


def powers(party: Party, x: Share, exponents: list[int]) -> Program[list[Share]]:
    return (yield from together(*(power(party, x, exponent) for exponent in exponents)))


@pytest.mark.parametrize("exponents", [[1], [4], [1, 1], [1, 3, 2, 5], [5, 4, 3, 2, 1], []])
def test_programs_share_their_rounds_and_end_when_they_like(exponents: list[int]) -> None:
    x = np.array([2, 3, 2**31], U32)
    run = run_and_open(powers, arithmetic(x), exponents)
    for result, exponent in zip(run.value, exponents, strict=True):
        np.testing.assert_array_equal(result, x**exponent)
    steps = [exponent - 1 for exponent in exponents]
    assert_cost(run, rounds=max(steps, default=0), elements=sum(steps), words_per_element=9)


def ring_pass(party: Party, value: int) -> Program[list[int]]:
    """Both directions at once, with two arrays in one and one in the other."""
    mine = np.array([party.index, value], U64)
    spec = Spec.of(mine)
    received = yield Round(
        to_previous=(mine, mine + np.uint64(10)),
        to_next=(mine + np.uint64(20),),
        from_previous=(spec,),
        from_next=(spec, spec),
    )
    return [int(words[0]) for words in (*received.previous, *received.next)]


def test_messages_of_joined_programs_reach_their_own() -> None:
    def joined(party: Party) -> Program[list[list[int]]]:
        return together(ring_pass(party, 1), ring_pass(party, 2))

    for index, results in enumerate(run_local(joined, seeded_random_bytes()).results):
        before, after = (index - 1) % 3, (index + 1) % 3
        assert results == [[before + 20, after, after + 10]] * 2


def test_together_nests() -> None:
    def nested(party: Party, x: Share) -> Program[list[list[Share]]]:
        return together(powers(party, x, [2, 3]), powers(party, x, [4]))

    run = run_and_open(nested, arithmetic(np.array([3], U64)))
    assert [[int(x[0]) for x in group] for group in run.value] == [[9, 27], [81]]
    assert run.rounds == 3


def test_a_party_without_anything_to_say_still_takes_part() -> None:
    def program(party: Party) -> Program[int]:
        if party.index == 0:
            yield Round(to_next=(np.array([7], U32),))
            return 0
        received = yield (Round(from_previous=(Spec((1,), np.dtype(U32)),)) if party.index == 1 else Round())
        return sum(int(words[0]) for words in received.previous)

    run = run_local(program, seeded_random_bytes())
    assert run.results == (0, 7, 0)
    assert run.sent_bytes == [(4, 0, 0)]


def test_parties_that_fall_out_of_step_are_noticed() -> None:
    def program(party: Party) -> Program[None]:
        for _ in range(1 + party.index // 2):
            yield Round()

    with pytest.raises(InternalError, match="after 1 rounds only some of the parties have ended"):
        run_local(program, seeded_random_bytes())


def test_a_message_of_another_shape_is_noticed() -> None:
    def program(party: Party) -> Program[Words]:
        return pass_to_previous(np.zeros(2 + party.index, U32))

    with pytest.raises(InternalError, match="another shape"):
        run_local(program, seeded_random_bytes())


def test_the_meter_books_rounds_and_bytes_by_phase() -> None:
    def program(party: Party, x: Share) -> Program[Share]:
        with party.meter.phase("cube"):
            cube = yield from power(party, x, 3)
        with party.meter.phase("square"):
            square = yield from multiply(party, x, x)
            with party.meter.phase("cube"):
                cube = yield from multiply(party, cube, square)
        return (yield from multiply(party, cube, x))

    run = run_and_open(program, arithmetic(np.arange(10, dtype=U32)))
    for meter in run.run.meters:
        assert {name: cost.rounds for name, cost in meter.by_phase.items()} == {
            "cube": 3,
            "square": 1,
            "other": 1,
        }
        assert meter.by_phase["cube"].sent_bytes == 3 * 40
        assert (meter.total.rounds, meter.total.sent_bytes) == (5, 200)
        assert meter.phase_name == "other"


def test_a_phase_ends_with_an_error_too() -> None:
    party = run_local(_party_itself, seeded_random_bytes()).results[0]
    with pytest.raises(KeyError), party.meter.phase("broken"):
        raise KeyError
    assert party.meter.phase_name == "other"


def _party_itself(party: Party) -> Program[Party]:
    yield from ()
    return party


def test_rounds_and_messages_have_no_text() -> None:
    words = (np.array([123456789], U64),)
    for holder in (Round(to_next=words), Received(previous=words)):
        assert "123456789" not in repr(holder)


def test_the_size_of_a_message_is_known_beforehand() -> None:
    assert Spec((3, 5), np.dtype(U64)).nbytes == 120
    assert Spec((), np.dtype(U32)).nbytes == 4
    assert Spec.of(np.zeros((2, 2), U32)) == Spec((2, 2), np.dtype(U32))
