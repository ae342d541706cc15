"""The folder of the computing room: after a kill nothing stays there but the logs of jobs that go on."""

from __future__ import annotations

from pathlib import Path

from hospital_agent.computing.room import FOLDER, Room


def test_what_a_kill_left_is_deleted_at_the_next_start(tmp_path: Path) -> None:
    folder = tmp_path / FOLDER
    folder.mkdir()
    for name in ("running.frames", "over.frames", ".tls-abc123"):
        (folder / name).write_bytes(b"x")
    Room(tmp_path).discard_all_but({"running"})
    assert [path.name for path in folder.iterdir()] == ["running.frames"]
