"""Sealed frames: only the pair's receiver opens them, at their place, unchanged; what is strange is told apart."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.crypto.agreement import agree, public_of
from shared.crypto.derivation import hk, lp
from shared.crypto.frames import (
    Control,
    FrameOpener,
    FrameSealer,
    Pair,
    Place,
    Refusal,
    RefusedFrameError,
    prss_key,
)
from shared.errors import ErrorCode
from shared.ids import AgentId, JobId

JOB, MH = JobId("ab" * 16), bytes(range(32))
A, B, C = AgentId("h1"), AgentId("h2"), AgentId("h-three")
KEYS = {A: b"\x11" * 32, B: b"\x22" * 32, C: b"\x33" * 32}
PLACE = Place(5, 3, 2)


def pair(sender: AgentId = A, receiver: AgentId = B, *, job: JobId = JOB, mh: bytes = MH) -> Pair:
    return Pair(job, mh, sender, receiver, agree(KEYS[sender], public_of(KEYS[receiver])))


def refusal(opener: FrameOpener, frame: bytes | bytearray) -> Refusal:
    with pytest.raises(RefusedFrameError) as caught:  # noqa: PT012 - as a link does it
        place = opener.place(frame)
        assert place is not None
        opener.open(frame, place)
    return caught.value.reason


@given(
    st.binary(max_size=300),
    st.integers(0, 2**64 - 1),
    st.integers(0, 2**64 - 1),
    st.integers(0, 2**32 - 1),
)
def test_the_receiver_opens_what_the_sender_sealed(
    content: bytes, number: int, taken: int, place: int
) -> None:
    frame = FrameSealer(pair()).seal(Place(number, taken, place), content)
    opener = FrameOpener(pair())
    assert opener.place(frame) == Place(number, taken, place)
    assert opener.content_bytes(frame) == len(content)
    assert opener.open(frame, Place(number, taken, place)) == content
    assert content not in bytes(frame) or len(content) < 8


def test_the_same_place_and_content_give_the_same_frame() -> None:
    frames = [FrameSealer(pair()).seal(PLACE, memoryview(b"content")) for _ in range(2)]
    assert frames[0] == frames[1]


def test_both_ends_derive_the_same_keys_and_each_direction_has_its_own() -> None:
    frame = FrameSealer(pair()).seal(PLACE, b"content")
    mirrored = Pair(JOB, MH, A, B, agree(KEYS[B], public_of(KEYS[A])))
    assert FrameOpener(mirrored).open(frame, PLACE) == b"content"
    assert refusal(FrameOpener(pair().reversed()), frame) is Refusal.STRANGER
    back = FrameSealer(pair().reversed()).seal(PLACE, b"content")
    assert frame[-23:] != back[-23:]


def test_the_key_is_the_one_of_the_protocol() -> None:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    frame = bytes(FrameSealer(pair()).seal(PLACE, b"content"))
    key = hk(agree(KEYS[A], public_of(KEYS[B])), b"relay" + lp("h1") + lp("h2"), mh=MH)
    end = len(frame) - 16 - 7
    assert AESGCM(key).decrypt((5).to_bytes(12, "big"), frame[end:], frame[:end]) == b"content"


@given(st.integers(0, 10_000), st.integers(1, 255))
def test_any_changed_byte_is_refused(where: int, change: int) -> None:
    frame = FrameSealer(pair()).seal(PLACE, b"some content")
    frame[where % len(frame)] ^= change
    assert refusal(FrameOpener(pair()), frame) in set(Refusal) - {Refusal.REPEATED, Refusal.OUT_OF_ORDER}


@given(st.binary(max_size=200))
def test_arbitrary_bytes_are_refused(raw: bytes) -> None:
    assert refusal(FrameOpener(pair()), raw) is Refusal.MALFORMED


def test_strange_frames_are_told_apart() -> None:
    opener = FrameOpener(pair())

    def sealed(of: Pair) -> bytearray:
        return FrameSealer(of).seal(PLACE, b"content")

    assert refusal(opener, sealed(pair(job=JobId("cd" * 16)))) is Refusal.OTHER_JOB
    assert refusal(opener, sealed(pair(mh=bytes(32)))) is Refusal.OTHER_MANIFEST
    assert refusal(opener, sealed(pair(C, B))) is Refusal.STRANGER
    assert refusal(opener, sealed(pair(A, C))) is Refusal.STRANGER
    assert refusal(opener, sealed(replace(pair(), agreement=bytes(32)))) is Refusal.FORGED
    assert refusal(opener, sealed(pair())[:40]) is Refusal.MALFORMED


def test_a_frame_opens_at_its_own_place_only() -> None:
    frame = FrameSealer(pair()).seal(PLACE, b"content")
    with pytest.raises(RefusedFrameError):
        FrameOpener(pair()).open(frame, replace(PLACE, number=6))


@given(st.integers(0, 2**32 - 1), st.integers(0, 2**64 - 1), st.tuples(*[st.booleans()] * 5))
def test_control_frames(number: int, expected: int, said: tuple[bool, ...]) -> None:
    control = Control(number, 7, expected, *said)
    frame = FrameSealer(pair()).seal_control(control, bytes(12))
    opener = FrameOpener(pair())
    assert opener.place(frame) is None
    assert opener.open_control(frame) == control


def test_spoilt_control_frames_are_refused() -> None:
    frame = FrameSealer(pair()).seal_control(Control(1, 1, 0), bytes(12))
    opener = FrameOpener(pair())
    for spoilt, reason in (
        (frame[:-1] + b"?", Refusal.FORGED),
        (frame + b"?", Refusal.MALFORMED),
        (frame[:-1], Refusal.MALFORMED),
    ):
        with pytest.raises(RefusedFrameError) as caught:
            opener.open_control(spoilt)
        assert caught.value.reason is reason
        assert caught.value.code is (
            ErrorCode.BAD_SIGNATURE if reason is Refusal.FORGED else ErrorCode.MALFORMED
        )


def test_the_keys_of_a_pair_have_nothing_in_common() -> None:
    agreement = agree(KEYS[A], public_of(KEYS[B]))
    keys = [
        prss_key(agreement, A, B, mh=MH),
        prss_key(agreement, A, B, mh=bytes(32)),
    ]
    assert len(set(keys)) == len(keys)
    assert {len(key) for key in keys} == {16}
    assert prss_key(agreement, B, A, mh=MH) == keys[0]


def test_no_key_is_printed() -> None:
    text = repr(pair()) + repr(FrameSealer(pair())) + repr(FrameOpener(pair()))
    assert "agreement" not in text
