"""Addresses before sealed frames, and batches of them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.errors import ErrorCode, PeerError
from shared.ids import ID_PATTERN, RESERVED_IDS, AgentId
from shared.wire.relay import (
    MAX_FRAME_BYTES,
    MAX_PARCEL_BYTES,
    as_parcel,
    pack,
    packed_bytes,
    read_parcel,
    unpack,
)

ids = st.from_regex(ID_PATTERN, fullmatch=True).filter(lambda name: name not in RESERVED_IDS).map(AgentId)
frames = st.binary(min_size=1, max_size=300)


@given(agent=ids, frame=frames)
def test_what_is_wrapped_comes_out_again(agent: AgentId, frame: bytes) -> None:
    for kind in (bytes, bytearray, memoryview):
        name, content = read_parcel(kind(as_parcel(agent, kind(frame))))
        assert (name, bytes(content)) == (agent, frame)


@given(st.lists(frames, max_size=10))
def test_what_is_packed_comes_out_again(parcels: list[bytes]) -> None:
    batch = pack(parcels)
    assert [bytes(parcel) for parcel in unpack(batch)] == parcels
    assert len(batch) == sum(map(packed_bytes, parcels))


@given(st.binary(max_size=200))
def test_any_bytes_are_a_parcel_or_malformed(noise: bytes) -> None:
    try:
        back: bytes | ErrorCode = as_parcel(*read_parcel(noise))
    except PeerError as error:
        back = error.code
    assert back in (noise, ErrorCode.MALFORMED)


@given(st.binary(max_size=200))
def test_any_bytes_are_a_batch_or_malformed(noise: bytes) -> None:
    try:
        back: bytes | ErrorCode = pack(map(bytes, unpack(noise)))
    except PeerError as error:
        back = error.code
    assert back in (noise, ErrorCode.MALFORMED)


@pytest.mark.parametrize("name", [b"", b"cloud", b"all", b"H1", b"h 1", b"\xc3\xa9", b"h" * 65])
def test_an_address_is_an_agents_id(name: bytes) -> None:
    with pytest.raises(PeerError) as refused:
        read_parcel(bytes((len(name),)) + name + b"frame")
    assert refused.value.code is ErrorCode.MALFORMED


def test_a_frame_has_a_greatest_length() -> None:
    longest = as_parcel(AgentId("h" * 64), bytes(MAX_FRAME_BYTES))
    assert len(longest) == MAX_PARCEL_BYTES
    assert len(read_parcel(longest)[1]) == MAX_FRAME_BYTES
    for parcel in (as_parcel(AgentId("h"), bytes(MAX_FRAME_BYTES + 1)), longest + b"!"):
        with pytest.raises(PeerError) as refused:
            read_parcel(parcel)
        assert refused.value.code is ErrorCode.TOO_LARGE
