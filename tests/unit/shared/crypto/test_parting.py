"""Which part a record falls in: HMAC of RFC 2104 by its published cases, and places that are ranges of tags."""

from __future__ import annotations

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.crypto.parting import first_tag, of_patient, of_record, pads, parting_key, place_of
from shared.wire.tally import MAX_PARTS

PUBLISHED = [
    (b"\x0b" * 20, b"Hi There", "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"),
    (
        b"Jefe",
        b"what do ya want for nothing?",
        "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
    ),
]
"""RFC 4231, sections 4.2 and 4.3."""


@pytest.mark.parametrize(("key", "message", "tag"), PUBLISHED)
def test_the_pads_make_the_tags_of_the_published_cases(key: bytes, message: bytes, tag: str) -> None:
    inner, outer = pads(key)
    found = hashlib.sha256(outer + hashlib.sha256(inner + message).digest())
    assert found.hexdigest() == tag
    assert place_of(key, message, 20) == int(tag[:16], 16) * 20 >> 64


@given(st.integers(2, MAX_PARTS), st.binary(min_size=1, max_size=20))
def test_a_place_is_a_range_of_tags(parts: int, message: bytes) -> None:
    key = bytes(32)
    inner, outer = pads(key)
    tag = hashlib.sha256(outer + hashlib.sha256(inner + message).digest()).digest()
    place = place_of(key, message, parts)
    edges = [first_tag(place, parts), first_tag(place + 1, parts)]
    assert edges[0] is not None
    assert edges[0] <= tag
    assert edges[1] is None if place + 1 == parts else edges[1] is not None and tag < edges[1]


def test_what_is_hashed_is_written_in_one_way_only() -> None:
    assert of_record([5, 1 << 40], 12) == b"record:5,1099511627776#12"
    assert of_patient("MRN-0042 ü") == "patient:MRN-0042 ü".encode()
    assert of_record([1, 23], 0) != of_record([12, 3], 0) != of_record([1, 2], 30)


def test_a_key_is_good_for_one_seed_and_number_of_parts() -> None:
    keys = {
        parting_key(secret, seed, parts)
        for secret in (bytes(32), bytes(31) + b"\1")
        for seed in (bytes(16), bytes(15) + b"\1")
        for parts in (2, 3)
    }
    assert len(keys) == 8
    assert {len(key) for key in keys} == {32}
