"""The log of frames: what was flushed is found again, a torn tail is cut off, another job's log is refused."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hospital_agent.links.frame_log import FrameLog, NoLog
from shared.errors import InputError

CONTEXT = bytes(range(32))
FRAMES = st.lists(st.tuples(st.integers(0, 2000), st.binary(min_size=1, max_size=50)), max_size=20)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "job.frames"


def frames_in(path: Path) -> list[tuple[int, bytes]]:
    log = FrameLog.open(path, CONTEXT)
    try:
        return list(log.replay())
    finally:
        log.close()


@given(FRAMES, st.integers(0, 20))
def test_frames_are_found_again_in_order(
    tmp_path_factory: pytest.TempPathFactory, frames: list[tuple[int, bytes]], first: int
) -> None:
    path = tmp_path_factory.mktemp("log") / "job.frames"
    for part in (frames[:first], frames[first:]):
        log = FrameLog.open(path, CONTEXT)
        for sender, frame in part:
            log.append(sender, frame)
        log.close()
    assert frames_in(path) == frames


@given(FRAMES, st.integers(1, 2000))
def test_a_torn_tail_is_cut_off(
    tmp_path_factory: pytest.TempPathFactory, frames: list[tuple[int, bytes]], torn: int
) -> None:
    path = tmp_path_factory.mktemp("log") / "job.frames"
    log = FrameLog.open(path, CONTEXT)
    for sender, frame in frames:
        log.append(sender, frame)
    log.close()
    os.truncate(path, max(0, path.stat().st_size - torn))
    found = frames_in(path)
    assert found == frames[: len(found)]
    log = FrameLog.open(path, CONTEXT)
    log.append(7, b"more")
    assert list(log.replay()) == [*found, (7, b"more")]
    log.close()


def test_it_counts_starts_and_is_closed_to_others(path: Path) -> None:
    for start in (1, 2, 3):
        log = FrameLog.open(path, CONTEXT)
        assert log.starts == start
        log.append(0, b"frame")
        log.close()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_replay_sees_what_is_appended_meanwhile(path: Path) -> None:
    log = FrameLog.open(path, CONTEXT)
    log.append(1, b"one")
    replay = log.replay()
    assert next(replay) == (1, b"one")
    log.append(2, bytearray(b"two"))
    assert list(replay) == [(2, b"two")]
    log.close()


def test_a_damaged_frame_and_all_behind_it_are_dropped(path: Path) -> None:
    log = FrameLog.open(path, CONTEXT)
    for number in range(5):
        log.append(number, b"frame")
    replay = log.replay()
    assert [next(replay)[0] for _ in range(3)] == [0, 1, 2]
    log.cut()
    log.append(9, b"again")
    log.close()
    log = FrameLog.open(path, CONTEXT)
    assert [sender for sender, _ in log.replay()] == [0, 1, 9]
    assert log.starts > 1
    log.close()


def test_a_large_frame_is_written_whole(path: Path) -> None:
    log = FrameLog.open(path, CONTEXT)
    frame = os.urandom(2**21)
    log.append(0, frame)
    log.append(1, b"small")
    log.flush()
    log.flush()
    assert list(log.replay()) == [(0, frame), (1, b"small")]
    log.close()


def test_the_log_of_another_context_is_refused(path: Path) -> None:
    FrameLog.open(path, CONTEXT).close()
    with pytest.raises(InputError, match="another job or to another version"):
        FrameLog.open(path, bytes(32))
    path.write_bytes(b"x" * 100)
    with pytest.raises(InputError):
        FrameLog.open(path, CONTEXT)


def test_nothing_remains_of_a_deleted_log(path: Path) -> None:
    log = FrameLog.open(path, CONTEXT)
    log.append(0, b"frame")
    log.delete()
    log.delete()
    assert not path.exists()


def test_without_a_log_nothing_is_remembered() -> None:
    log = NoLog()
    log.append(0, b"frame")
    log.flush()
    log.cut()
    assert list(log.replay()) == []
