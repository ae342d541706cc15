from __future__ import annotations

import pytest

from shared.crypto.agreement import agree, check_public, generate_private, public_of
from shared.errors import ErrorCode, PeerError

ALICE = "77076d0a7318a57d3c16c17251b26645df4c2f87ebc0992ab177fba51db92c2a"
ALICE_PUBLIC = "8520f0098930a754748b7ddcb43ef75a0dbf3a0d26381af4eba4a98eaa9b4e6a"
BOB_PUBLIC = "de9edb7d7b7dc1b4d35b61c2ece435373f8343c85b78674dadfc7e146f882b4f"
SHARED = "4a5d9d5ba4ce2de1728e3bf480350f25e07e21c947d19e3376f09b3c1e161742"


def test_rfc_7748_section_6_1() -> None:
    alice = bytes.fromhex(ALICE)
    assert public_of(alice).hex() == ALICE_PUBLIC
    assert agree(alice, bytes.fromhex(BOB_PUBLIC)).hex() == SHARED


def test_both_sides_agree_and_a_third_does_not() -> None:
    one, other, third = (generate_private() for _ in range(3))
    assert agree(one, public_of(other)) == agree(other, public_of(one))
    assert agree(one, public_of(third)) != agree(one, public_of(other))


@pytest.mark.parametrize("key", [bytes(32), b"\x01" + bytes(31), b"", b"x" * 31, b"x" * 33])
def test_keys_of_small_order_or_wrong_length_are_refused(key: bytes) -> None:
    with pytest.raises(PeerError) as caught:
        agree(generate_private(), key)
    assert caught.value.code is ErrorCode.MALFORMED
    with pytest.raises(PeerError):
        check_public(key)
    check_public(bytes.fromhex(BOB_PUBLIC))
