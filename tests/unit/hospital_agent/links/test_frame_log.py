"""The log of frames: what was flushed is found again, a torn tail is cut off, another job's log is refused."""

from __future__ import annotations

import os
import resource
import signal
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hospital_agent.links.frame_log import FrameLog, NoLog
from shared.errors import InputError, TemporaryError

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


def open_descriptors() -> set[str]:
    return set(os.listdir("/dev/fd"))


@pytest.fixture
def full_disk() -> Iterator[Callable[[int], None]]:
    """Files may grow up to so many bytes, as on a disk that is full; more is refused."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    yield lambda size: resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    resource.setrlimit(resource.RLIMIT_FSIZE, before)
    signal.signal(signal.SIGXFSZ, handler)


def test_a_disk_that_fills_is_told_of_and_the_file_let_go(
    path: Path, full_disk: Callable[[int], None]
) -> None:
    before = open_descriptors()
    log = FrameLog.open(path, CONTEXT)
    log.append(1, b"a" * 400)
    log.flush()
    full_disk(600)
    log.append(2, b"b" * 400)
    for say in (log.flush, log.close):
        with pytest.raises(TemporaryError, match="make room on the disk"):
            say()
    assert open_descriptors() == before
    full_disk(10_000)
    assert frames_in(path) == [(1, b"a" * 400)]


@pytest.mark.parametrize("size", [0, 20, len(b"privet frame log 1\n") + 32, 55])
def test_a_log_that_cannot_be_begun_is_an_error_with_a_remedy(
    path: Path, full_disk: Callable[[int], None], size: int
) -> None:
    before = open_descriptors()
    full_disk(size)
    with pytest.raises(InputError, match="cannot be begun"):
        FrameLog.open(path, CONTEXT)
    assert open_descriptors() == before
    full_disk(10_000)
    assert frames_in(path) == []


def test_without_a_log_nothing_is_remembered() -> None:
    log = NoLog()
    log.append(0, b"frame")
    log.flush()
    log.cut()
    assert list(log.replay()) == []
