"""Messages are cut the same way at both ends, and come together as the arrays that were sent."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hospital_agent.links import pieces
from hospital_agent.links.outbox import WINDOW_BYTES
from hospital_agent.links.pieces import Incoming, contents_of
from shared.crypto.frames import FrameSealer, Place
from shared.mpc.program import Spec
from shared.wire.relay import MAX_FRAME_BYTES
from tests.support.wires import NAMES, pair_of

KINDS = (np.uint8, np.uint16, np.uint32, np.uint64)
ARRAYS = st.lists(
    st.tuples(st.sampled_from(KINDS), st.sampled_from([(), (0,), (1,), (7,), (3, 5), (200,), (0, 4)])),
    max_size=5,
)


@pytest.fixture(autouse=True)
def _small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pieces, "PIECE_BYTES", 100)


@given(ARRAYS, st.booleans())
def test_what_is_cut_comes_together(kinds: list[tuple[type, tuple[int, ...]]], directly: bool) -> None:
    arrays = [
        (np.arange(int(np.prod(shape))) * 17 + place).astype(kind).reshape(shape)
        for place, (kind, shape) in enumerate(kinds)
    ]
    contents = [bytes(content) for content in contents_of(arrays)]
    assert b"".join(contents) == b"".join(words.tobytes() for words in arrays)
    assert all(len(content) == 100 for content in contents[:-1])
    assert all(contents)
    incoming = Incoming([Spec.of(words) for words in arrays])
    assert incoming.frames_in_all == len(contents)
    for content in contents:
        assert incoming.next_bytes == len(content)
        target = incoming.next_target
        if directly and target is not None:
            target[:] = content
            incoming.pass_on()
        else:
            incoming.fill(content)
    assert incoming.complete
    for words, came in zip(arrays, incoming.arrays, strict=True):
        assert came.dtype == words.dtype
        assert np.array_equal(came, words)
        came += 1  # a program may write into what it received


def test_arrays_that_are_not_in_one_piece_are_sent_row_by_row() -> None:
    words = np.arange(400, dtype=np.uint32).reshape(20, 20).T[::2]
    assert b"".join(contents_of([words])) == words.tobytes()


def test_a_frame_fits_where_frames_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    frame = FrameSealer(pair_of(NAMES[0], NAMES[1])).seal(Place(0, 0, 0), bytes(pieces.PIECE_BYTES))
    assert len(frame) + 128 < MAX_FRAME_BYTES
    assert len(frame) * 8 < WINDOW_BYTES * 2
