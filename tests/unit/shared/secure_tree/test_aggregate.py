"""What a hospital accepts as the sum of a round, and every way a cloud may try to pass something else."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shared.crypto.agreement import public_of
from shared.crypto.key_holder import KeyHolder
from shared.crypto.paillier import add_plaintext, encode_ciphertext
from shared.errors import ErrorCode, InternalError, JobCode, JobFailure, PeerError
from shared.ids import AgentId
from shared.secure_tree.aggregate import open_aggregate, sum_contributions
from shared.secure_tree.context import RoundContext
from shared.secure_tree.contribution import build_contribution
from shared.secure_tree.masks import self_mask_sums
from shared.secure_tree.packing import MAX_COUNT, MAX_SUM, SLOT_BITS, pack
from shared.secure_tree.tag import coefficients, tag
from tests.support.toy_keys import fixed_key, t4_key

AGENTS = [AgentId(name) for name in ("h1", "h2", "h3", "h4")]
SECRET = b"G" * 32
HOLDER = KeyHolder(fixed_key(512))
PUBLIC = HOLDER.public
N, N2 = PUBLIC.n, PUBLIC.n_squared
CELLS = 13
"""Two data plaintexts of ten slots at 512 bits, the second a sparse one."""
EPHEMERAL = {agent: bytes([number + 1]) * 32 for number, agent in enumerate(AGENTS)}
SEEDS = {agent: bytes([number + 65]) * 32 for number, agent in enumerate(AGENTS)}


def context_of(agents: Sequence[AgentId] = AGENTS) -> RoundContext:
    roster = tuple((agent, agent.encode().ljust(32, b"c")) for agent in agents)
    return RoundContext(b"m" * 32, 2, 0, roster, b"s" * 32)


CONTEXT = context_of()


def contribute(
    own: AgentId, counts: Sequence[int], context: RoundContext = CONTEXT, cipher: KeyHolder = HOLDER
) -> list[bytes]:
    peers = {peer: public_of(EPHEMERAL[peer]) for peer in context.agents if peer != own}
    return build_contribution(cipher, context, own, SECRET, counts, EPHEMERAL[own], peers, SEEDS[own])


def counts_of(number: int) -> list[int]:
    return [(number + 1) * (cell + 1) for cell in range(CELLS)]


HONEST = {agent: contribute(agent, counts_of(number)) for number, agent in enumerate(AGENTS)}
WANTED = [10 * (cell + 1) for cell in range(CELLS)]
SUMS = sum_contributions(PUBLIC, CONTEXT, HONEST, SEEDS)


def opened(sums: Sequence[bytes], context: RoundContext = CONTEXT) -> list[int]:
    return open_aggregate(HOLDER, context, SECRET, CELLS, sums)


def failure(sums: Sequence[bytes], context: RoundContext = CONTEXT) -> JobCode:
    with pytest.raises(JobFailure) as caught:
        opened(sums, context)
    return caught.value.code


def integers(sums: Sequence[bytes]) -> list[int]:
    return [int.from_bytes(raw, "big") for raw in sums]


def raws(values: Sequence[int]) -> list[bytes]:
    return [encode_ciphertext(PUBLIC, value % N2) for value in values]


def test_the_honest_sum_opens_to_the_summed_cells() -> None:
    assert opened(SUMS) == WANTED


def test_the_sum_is_deterministic_whatever_the_order() -> None:
    backwards = dict(reversed(HONEST.items()))
    assert sum_contributions(PUBLIC, CONTEXT, backwards, dict(reversed(SEEDS.items()))) == SUMS


@given(
    st.lists(
        st.lists(st.one_of(st.just(MAX_COUNT), st.integers(0, MAX_COUNT)), min_size=7, max_size=7),
        min_size=3,
        max_size=4,
    )
)
@settings(max_examples=15, deadline=None)
def test_any_counts_come_back_as_their_sums(rows: list[list[int]]) -> None:
    context = context_of(AGENTS[: len(rows)])
    parts = {agent: contribute(agent, row, context) for agent, row in zip(context.agents, rows, strict=True)}
    sums = sum_contributions(PUBLIC, context, parts, {agent: SEEDS[agent] for agent in parts})
    assert open_aggregate(HOLDER, context, SECRET, 7, sums) == [sum(c) for c in zip(*rows, strict=True)]


@pytest.mark.parametrize(("bits", "cells"), [(2048, 42), (2048, 43), (2048, 21), (3072, 64), (4096, 90)])
def test_allowed_key_sizes(bits: int, cells: int) -> None:
    holder = KeyHolder(fixed_key(bits))
    context = context_of(AGENTS[:3])
    parts = {agent: contribute(agent, range(cells), context, holder) for agent in context.agents}
    sums = sum_contributions(holder.public, context, parts, {agent: SEEDS[agent] for agent in parts})
    assert open_aggregate(holder, context, SECRET, cells, sums) == [3 * cell for cell in range(cells)]


def combined(weights: dict[AgentId, int]) -> list[bytes]:
    """A dishonest cloud's product: each contribution as often as it likes, its self masks taken off as often."""
    total = [1] * len(SUMS)
    for agent, weight in weights.items():
        cleaned = _without_self_mask(agent)
        total = [t * pow(c, weight, N2) % N2 for t, c in zip(total, cleaned, strict=True)]
    return raws(total)


def _without_self_mask(agent: AgentId) -> list[int]:
    masks = self_mask_sums(CONTEXT, {agent: SEEDS[agent]}, len(SUMS), N)
    return [add_plaintext(PUBLIC, c, -m) for c, m in zip(integers(HONEST[agent]), masks, strict=True)]


def test_combined_with_weights_one_is_the_honest_sum() -> None:
    assert combined(dict.fromkeys(AGENTS, 1)) == SUMS


@pytest.mark.parametrize("weights", [(0, 1, 1, 1), (2, 1, 1, 1), (1, 1, 1, -1), (2, 0, 1, 1), (1, 0, 0, 0)])
def test_dropped_and_repeated_contributions_do_not_match_the_tag(weights: tuple[int, ...]) -> None:
    assert failure(combined(dict(zip(AGENTS, weights, strict=True)))) is JobCode.TAG_MISMATCH


def test_everything_scaled_passes_the_tag_and_fails_the_roster() -> None:
    assert failure(combined(dict.fromkeys(AGENTS, 3))) is JobCode.ROSTER_DIGITS


def test_a_sum_of_nothing_fails_the_roster() -> None:
    assert failure(raws([1] * len(SUMS))) is JobCode.ROSTER_DIGITS


@pytest.mark.parametrize("place", range(len(SUMS)))
@pytest.mark.parametrize("constant", [1, -1, 1 << SLOT_BITS, N // 2])
def test_added_constants_do_not_match_the_tag(place: int, constant: int) -> None:
    changed = integers(SUMS)
    changed[place] = add_plaintext(PUBLIC, changed[place], constant)
    assert failure(raws(changed)) is JobCode.TAG_MISMATCH


@pytest.mark.parametrize(("one", "other"), [(0, 1), (1, 2), (2, 3), (0, 3)])
def test_swapped_ciphertexts_do_not_match_the_tag(one: int, other: int) -> None:
    changed = list(SUMS)
    changed[one], changed[other] = changed[other], changed[one]
    assert failure(changed) is JobCode.TAG_MISMATCH


CONTEXTS = [
    replace(CONTEXT, round=3),
    replace(CONTEXT, attempt=1),
    replace(CONTEXT, state=b"t" * 32),
    replace(CONTEXT, mh=b"n" * 32),
]


@pytest.mark.parametrize("context", CONTEXTS, ids=["round", "attempt", "state", "manifest"])
def test_a_sum_of_another_context_does_not_match_the_tag(context: RoundContext) -> None:
    assert failure(SUMS, context) is JobCode.TAG_MISMATCH


def test_one_stale_contribution_spoils_the_sum() -> None:
    stale = HONEST | {AGENTS[1]: contribute(AGENTS[1], counts_of(1), replace(CONTEXT, round=1))}
    assert failure(sum_contributions(PUBLIC, CONTEXT, stale, SEEDS)) is JobCode.TAG_MISMATCH


def test_ciphertexts_added_up_within_the_sum_do_not_match_the_tag() -> None:
    changed = integers(SUMS)
    changed[2] = changed[1] * changed[2] % N2
    assert failure(raws(changed)) is JobCode.TAG_MISMATCH


HOSTILE: list[Callable[[list[bytes]], list[bytes]]] = [
    lambda sums: sums[:-1],
    lambda sums: [*sums, sums[0]],
    lambda sums: [],
    lambda sums: [bytes(128), *sums[1:]],
    lambda sums: [N.to_bytes(128, "big"), *sums[1:]],
    lambda sums: [*sums[:-1], (N2 + 1).to_bytes(128, "big")],
    lambda sums: [*sums[:-1], fixed_key(512).p.to_bytes(128, "big")],
    lambda sums: [*sums[:-1], sums[-1][1:]],
]


@pytest.mark.parametrize("change", HOSTILE)
def test_sums_of_a_wrong_form_count_as_wrong_sums(change: Callable[[list[bytes]], list[bytes]]) -> None:
    assert failure(change(SUMS)) is JobCode.TAG_MISMATCH


def insider(plaintexts: list[int]) -> list[bytes]:
    """A sum made by someone who knows the federation secret: the tag is right whatever the plaintexts are."""
    return HOLDER.encrypt([*plaintexts, tag(CONTEXT, SECRET, plaintexts, N)])


ROSTER = sum(1 << (SLOT_BITS * t) for t in range(4))
FORGED = [
    ([ROSTER, 5, 7], None),
    ([ROSTER, 5, MAX_SUM], None),
    ([ROSTER - 1, 5, 7], JobCode.ROSTER_DIGITS),
    ([ROSTER + (1 << (SLOT_BITS * 4)), 5, 7], JobCode.ROSTER_DIGITS),
    ([2 * ROSTER, 5, 7], JobCode.ROSTER_DIGITS),
    ([ROSTER, 5, -1], JobCode.RANGE_VIOLATION),
    ([ROSTER, -1, 0], JobCode.RANGE_VIOLATION),
    ([ROSTER, MAX_SUM + 1, 0], JobCode.RANGE_VIOLATION),
    ([ROSTER, 5, 1 << (SLOT_BITS * 3)], JobCode.RANGE_VIOLATION),
    ([ROSTER, 5, fixed_key(512).q], JobCode.RANGE_VIOLATION),
    ([ROSTER, 5, fixed_key(512).q * 3 + 7], JobCode.RANGE_VIOLATION),
    ([ROSTER, N // 3, 7], JobCode.RANGE_VIOLATION),
    ([ROSTER - 1, N // 3, 7], JobCode.RANGE_VIOLATION),
    ([ROSTER - 1, -1, 7], JobCode.ROSTER_DIGITS),
]


@pytest.mark.parametrize(("plaintexts", "code"), FORGED)
def test_codes_follow_the_order_of_the_specification(plaintexts: list[int], code: JobCode | None) -> None:
    """Leftovers stand before roster digits, and these before ranges (protocol section 6.3)."""
    if code is None:
        assert opened(insider(plaintexts))[0] == 5
    else:
        assert failure(insider(plaintexts)) is code


def test_a_tag_that_is_right_modulo_one_prime_only_is_wrong() -> None:
    key = fixed_key(512)
    for prime in (key.p, key.q):
        changed = integers(SUMS)
        changed[-1] = add_plaintext(PUBLIC, changed[-1], prime)
        assert failure(raws(changed)) is JobCode.TAG_MISMATCH


def test_a_tag_for_what_one_prime_shows_of_the_data_is_wrong() -> None:
    """The sparse plaintext is read modulo one prime, so an insider may try to make it look like another."""
    shown = [ROSTER, 5, 7]
    for prime in (HOLDER.private.p, HOLDER.private.q):
        sums = HOLDER.encrypt([ROSTER, 5, 7 + prime, tag(CONTEXT, SECRET, shown, N)])
        assert failure(sums) is JobCode.TAG_MISMATCH


def test_known_coefficients_would_be_needed_to_forge() -> None:
    alpha = coefficients(CONTEXT, SECRET, len(SUMS) - 1, N)
    changed = integers(SUMS)
    changed[1] = add_plaintext(PUBLIC, changed[1], 1)
    changed[-1] = add_plaintext(PUBLIC, changed[-1], alpha[1])
    assert opened(raws(changed))[0] == WANTED[0] + 1


@dataclass(slots=True)
class Ledger:
    """A key holder that counts what it is asked for."""

    inner: KeyHolder
    decrypted: int = 0
    halves: int = 0
    public: object = field(init=False)

    def __post_init__(self) -> None:
        self.public = self.inner.public

    def encrypt(self, plaintexts: Sequence[int]) -> list[bytes]:
        return self.inner.encrypt(plaintexts)

    def decrypt(self, ciphertexts: Sequence[bytes]) -> list[int]:
        self.decrypted += len(ciphertexts)
        return self.inner.decrypt(ciphertexts)

    def decrypt_small(self, ciphertexts: Sequence[bytes]) -> list[int]:
        self.halves += len(ciphertexts)
        return self.inner.decrypt_small(ciphertexts)

    def all_zero(self, ciphertexts: Sequence[int]) -> bool:
        return self.inner.all_zero(ciphertexts)


@pytest.mark.parametrize(
    ("cells", "whole", "halves"), [(3, 0, 1), (5, 0, 1), (6, 1, 0), (10, 1, 0), (13, 1, 1)]
)
def test_an_honest_sum_costs_its_data_and_half_of_that_when_sparse(
    cells: int, whole: int, halves: int
) -> None:
    plaintexts = [ROSTER, *pack([MAX_SUM] * cells, 10)]
    ledger = Ledger(HOLDER)
    assert open_aggregate(ledger, CONTEXT, SECRET, cells, insider(plaintexts)) == [MAX_SUM] * cells  # type: ignore[arg-type]
    assert (ledger.decrypted, ledger.halves) == (whole, halves)


@pytest.mark.parametrize("bad", [-1, MAX_COUNT + 1])
def test_counts_out_of_range_never_reach_the_encryption(bad: int) -> None:
    with pytest.raises(InternalError, match="outside") as caught:
        contribute(AGENTS[0], [1, bad])
    assert str(bad) not in str(caught.value)


def test_the_peers_are_the_rest_of_the_roster() -> None:
    peers = {peer: public_of(EPHEMERAL[peer]) for peer in AGENTS}
    for wrong in (peers, {AGENTS[1]: peers[AGENTS[1]]}, {}):
        with pytest.raises(InternalError, match="peers"):
            build_contribution(
                HOLDER, CONTEXT, AGENTS[0], SECRET, [1], EPHEMERAL[AGENTS[0]], wrong, b"z" * 32
            )


@pytest.mark.parametrize("fault", ["missing", "extra", "ragged", "seeds"])
def test_the_cloud_sums_exactly_the_roster(fault: str) -> None:
    parts, seeds = dict(HONEST), dict(SEEDS)
    if fault == "missing":
        del parts[AGENTS[0]]
    elif fault == "extra":
        parts[AgentId("h5")] = parts[AGENTS[0]]
    elif fault == "ragged":
        parts[AGENTS[0]] = parts[AGENTS[0]][:-1]
    else:
        del seeds[AGENTS[0]]
    with pytest.raises(PeerError) as caught:
        sum_contributions(PUBLIC, CONTEXT, parts, seeds)
    assert caught.value.code is ErrorCode.CONTRIBUTION_REJECTED


def test_more_members_than_slots_take_several_roster_plaintexts() -> None:
    holder = KeyHolder(t4_key())
    agents = [AgentId(f"m{number}") for number in range(7)]
    context = context_of(agents)
    private = {agent: bytes([number + 1]) * 32 for number, agent in enumerate(agents)}
    parts = {
        own: build_contribution(
            holder,
            context,
            own,
            SECRET,
            [number, 1],
            private[own],
            {peer: public_of(private[peer]) for peer in agents if peer != own},
            own.encode().ljust(32, b"z"),
        )
        for number, own in enumerate(agents)
    }
    assert len(parts[agents[0]]) == 4
    seeds = {agent: agent.encode().ljust(32, b"z") for agent in agents}
    sums = sum_contributions(holder.public, context, parts, seeds)
    assert open_aggregate(holder, context, SECRET, 2, sums) == [21, 7]
