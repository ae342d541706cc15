"""Signed requests that are no envelopes: each opens what it names, and nothing else."""

import pytest

from shared.crypto.identity import IdentityKey
from shared.errors import ErrorCode, PeerError
from shared.protocol.polling import (
    MAX_SKEW_SECONDS,
    Poll,
    RelayCall,
    read_call,
    read_poll,
    sign_call,
    sign_poll,
    verify_call,
    verify_poll,
)

KEY, OTHER = IdentityKey.generate(), IdentityKey.generate()
CALL = RelayCall(agent="h1", job="00" * 16, time=10_000)


def refusal(call: RelayCall, signature: bytes, key: bytes, now: int) -> ErrorCode:
    with pytest.raises(PeerError) as refused:
        verify_call(call, signature, key, now)
    return refused.value.code


def test_a_call_is_read_and_verified() -> None:
    call, signature = read_call(sign_call(CALL, KEY))
    assert call == CALL
    for now in (CALL.time - MAX_SKEW_SECONDS, CALL.time, CALL.time + MAX_SKEW_SECONDS):
        verify_call(call, signature, KEY.public, now)


def test_a_call_is_its_signers_and_of_its_time() -> None:
    call, signature = read_call(sign_call(CALL, KEY))
    elsewhere = call.model_copy(update={"job": "11" * 16})
    assert refusal(call, signature, OTHER.public, call.time) is ErrorCode.BAD_SIGNATURE
    assert refusal(elsewhere, signature, KEY.public, call.time) is ErrorCode.BAD_SIGNATURE
    for now in (CALL.time - MAX_SKEW_SECONDS - 1, CALL.time + MAX_SKEW_SECONDS + 1):
        assert refusal(call, signature, KEY.public, now) is ErrorCode.BAD_SIGNATURE


def test_a_poll_is_no_call_and_the_other_way_round() -> None:
    poll = sign_poll(Poll(agent="h1", after=0, time=10_000), KEY)
    with pytest.raises(PeerError):
        read_call(poll)
    with pytest.raises(PeerError):
        read_poll(sign_call(CALL, KEY))
    _, signature = read_poll(poll)
    assert refusal(CALL, signature, KEY.public, CALL.time) is ErrorCode.BAD_SIGNATURE
    _, signature = read_call(sign_call(CALL, KEY))
    with pytest.raises(PeerError):
        verify_poll(Poll(agent="h1", after=0, time=10_000), signature, KEY.public, 10_000)


@pytest.mark.parametrize(
    "header", ["", ".", "{}", "x." + "0" * 127, "{}." + "g" * 128, "a" * 257 + "." + "0" * 128]
)
def test_what_is_no_header_is_malformed(header: str) -> None:
    with pytest.raises(PeerError) as refused:
        read_call(header)
    assert refused.value.code is ErrorCode.MALFORMED
