"""Keys in shares: the vectors of a second computation, any t of H decrypt, proofs name who lies."""

from __future__ import annotations

import hashlib
import itertools
import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shared.crypto.paillier import PublicKey, add_plaintext, multiply
from shared.crypto.share_holder import ShareHolder
from shared.crypto.threshold import (
    Partial,
    ThresholdKey,
    coefficient,
    combine,
    decode_partial,
    encode_partial,
    is_proven,
    least_threshold,
)
from shared.crypto.threshold_dealing import deal
from shared.errors import InputError, PeerError
from tests.support.threshold_keys import dealt, safe_primes

VECTORS = json.loads((Path(__file__).parents[3] / "vectors" / "threshold.json").read_text())
CTX = bytes.fromhex(VECTORS["ctx"])
CIPHERTEXTS = [int(text, 16) for text in VECTORS["ciphertexts"]]
PLAINTEXTS = [int(text, 16) for text in VECTORS["plaintexts"]]
KEY = ThresholdKey.create(
    PublicKey(int(VECTORS["p"], 16) * int(VECTORS["q"], 16)),
    VECTORS["threshold"],
    int(VECTORS["v"], 16),
    [int(text, 16) for text in VECTORS["values"]],
)
HOLDERS = [
    ShareHolder.create(KEY, index, int(text, 16)) for index, text in enumerate(VECTORS["shares"], start=1)
]


def partials(ciphertexts: list[int], ctx: bytes = CTX) -> list[Partial]:
    return [holder.partial(ciphertexts, ctx) for holder in HOLDERS]


def test_the_powers_are_those_of_the_second_computation() -> None:
    for partial in partials(CIPHERTEXTS):
        raw = b"".join(int(power).to_bytes(64, "big") for power in partial.powers)
        assert hashlib.sha256(raw).hexdigest() == VECTORS["powers_sha256"][str(partial.index)]
    chosen = VECTORS["chosen"]
    assert [coefficient(KEY.delta, index, chosen) for index in chosen] == VECTORS["coefficients"]


@pytest.mark.parametrize("indices", list(itertools.combinations(range(5), 3)))
def test_any_three_of_five_decrypt(indices: tuple[int, ...]) -> None:
    given_by = partials(CIPHERTEXTS)
    assert combine(KEY, [given_by[place] for place in indices]) == PLAINTEXTS


def test_fewer_than_t_do_not_combine() -> None:
    few = partials(CIPHERTEXTS)[:2]
    with pytest.raises(InputError, match="exactly 3"):
        combine(KEY, few)
    with pytest.raises(InputError, match="exactly 3"):
        combine(KEY, [*few, few[0]])


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(0, 2**200), min_size=1, max_size=4), st.integers(-(2**40), 2**40), st.data())
def test_what_is_encrypted_and_added_is_what_t_holders_open(
    plaintexts: list[int], constant: int, data: st.DataObject
) -> None:
    holders = data.draw(st.integers(3, 6))
    threshold = data.draw(st.integers(least_threshold(holders), holders))
    key = deal(*safe_primes(256), holders, threshold)
    parties = [ShareHolder.create(key.key, i, share) for i, share in enumerate(key.shares, start=1)]
    public = key.key.public
    one = [int.from_bytes(raw, "big") for raw in parties[0].encrypt(plaintexts)]
    two = [int.from_bytes(raw, "big") for raw in parties[1].encrypt(plaintexts)]
    sums = [add_plaintext(public, multiply(public, pair), constant) for pair in zip(one, two, strict=True)]
    order = data.draw(st.permutations(range(holders)))[:threshold]
    raws = {place: encode_partial(key.key, parties[place].partial(sums, b"ctx")) for place in order}
    opened = [decode_partial(key.key, place + 1, len(sums), raw) for place, raw in raws.items()]
    assert all(is_proven(key.key, partial, sums, b"ctx") for partial in opened)
    assert combine(key.key, opened) == [(2 * plaintext + constant) % public.n for plaintext in plaintexts]


def test_each_encryption_is_fresh_and_of_fixed_length() -> None:
    first, second = HOLDERS[0].encrypt([5, 5])
    assert first != second
    assert {len(first), len(second)} == {KEY.public.ciphertext_bytes}


def test_a_proof_holds_for_its_own_powers_ciphertexts_context_and_holder_only() -> None:
    honest = HOLDERS[1].partial(CIPHERTEXTS, CTX)
    assert is_proven(KEY, honest, CIPHERTEXTS, CTX)
    n_squared = KEY.public.n_squared
    changed = [*honest.powers[:2], honest.powers[2] * 3 % n_squared, honest.powers[3]]
    forged = [
        replace(honest, powers=tuple(changed)),
        replace(honest, powers=honest.powers[::-1]),
        replace(honest, index=3),
        replace(honest, response=honest.response + 1),
        replace(honest, challenge=bytes(32)),
    ]
    assert not any(is_proven(KEY, partial, CIPHERTEXTS, CTX) for partial in forged)
    assert not is_proven(KEY, honest, CIPHERTEXTS[::-1], CTX)
    assert not is_proven(KEY, honest, CIPHERTEXTS, CTX + b"x")


def test_a_power_of_another_share_has_no_proof() -> None:
    liar = ShareHolder(KEY, 2, HOLDERS[1].share + 1)
    lie = liar.partial(CIPHERTEXTS, CTX)
    assert not is_proven(KEY, lie, CIPHERTEXTS, CTX)
    assert combine(KEY, [HOLDERS[0].partial(CIPHERTEXTS, CTX), lie, partials(CIPHERTEXTS)[2]]) != PLAINTEXTS


def test_errors_that_cancel_in_a_plain_product_do_not_pass_the_batch() -> None:
    """c_0 u and c_1 / u: the product of all is right, the weighted one is not."""
    honest = HOLDERS[0].partial(CIPHERTEXTS, CTX)
    n_squared, u = KEY.public.n_squared, 12345
    powers = [honest.powers[0] * u % n_squared, honest.powers[1] * pow(u, -1, n_squared) % n_squared]
    assert not is_proven(KEY, replace(honest, powers=(*powers, *honest.powers[2:])), CIPHERTEXTS, CTX)


def test_another_share_than_the_dealt_one_is_refused() -> None:
    for index, share in ((1, HOLDERS[1].share), (1, HOLDERS[0].share + 1), (0, 1), (6, 1), (1, 0)):
        with pytest.raises(InputError, match="vouches for"):
            ShareHolder.create(KEY, index, share)


@pytest.mark.parametrize(("holders", "threshold"), [(2, 2), (4, 2), (5, 2), (3, 4), (4, 0), (257, 200)])
def test_a_threshold_that_keeps_no_promise_is_refused(holders: int, threshold: int) -> None:
    with pytest.raises(InputError):
        ThresholdKey.create(KEY.public, threshold, KEY.base, [KEY.base] * holders)


def test_primes_that_are_not_safe_are_refused() -> None:
    p, q = safe_primes(512)
    for pair in ((p, p), (p, 2**255 + 95), (p, safe_primes(256)[0])):
        with pytest.raises(InputError, match="safe primes"):
            deal(*pair, 3, 3)
    assert deal(p, q, 3, 3).key.threshold == 3


def test_bytes_that_are_no_partial_decryption_are_refused() -> None:
    raw = encode_partial(KEY, HOLDERS[0].partial(CIPHERTEXTS, CTX))
    count, width = len(CIPHERTEXTS), KEY.public.ciphertext_bytes
    multiple = KEY.public.n.to_bytes(width, "big")
    for wrong in (raw[:-1], raw + b"x", b"", bytes(width) + raw[width:], multiple + raw[width:]):
        with pytest.raises(PeerError):
            decode_partial(KEY, 1, count, wrong)
    with pytest.raises(PeerError):
        decode_partial(KEY, 1, count + 1, raw)


def test_nothing_shows_a_share() -> None:
    holder = HOLDERS[0]
    text = repr(holder) + repr(dealt(256, 3, 3)) + repr(holder.partial(CIPHERTEXTS, CTX))
    assert str(holder.share) not in text
    assert not any(str(share) in text for share in dealt(256, 3, 3).shares)
