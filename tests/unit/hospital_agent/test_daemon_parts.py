"""The daemon's small parts: one a folder, and words that cannot leak."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from hospital_agent.daemon.lock import is_running, locked
from hospital_agent.daemon.progress import Progress
from hospital_agent.daemon.steps import Stopwatch
from shared.errors import InputError


def test_one_daemon_a_folder(tmp_path: Path) -> None:
    assert not is_running(tmp_path)
    with locked(tmp_path):
        assert is_running(tmp_path)
        with pytest.raises(InputError, match="another agent runs in this folder"), locked(tmp_path):
            pass
    assert not is_running(tmp_path)
    with locked(tmp_path):
        pass


def test_a_log_line_has_only_fields_that_are_allowed() -> None:
    stream = io.StringIO()
    Progress("h1", stream=stream, terminal=False).tell(
        "counted", job="ab" * 16, round=2, counts=[3, 5], rows=7
    )
    line = json.loads(stream.getvalue())
    assert line["event"] == "counted"
    assert (line["agent"], line["job"], line["round"], line["level"]) == ("h1", "ab" * 16, 2, "info")
    assert not {"counts", "rows"} & set(line)


def test_a_person_reads_a_short_line() -> None:
    stream = io.StringIO()
    Progress("h1", stream=stream, terminal=True).warn("declined: too small", job="ab" * 16, code="declined")
    assert stream.getvalue().endswith("  job abababab  ! declined: too small\n")


def test_a_stopwatch_adds_up_parts_even_when_they_fail() -> None:
    watch = Stopwatch()
    with watch.part("count"):
        pass
    with pytest.raises(RuntimeError), watch.part("count"):
        raise RuntimeError
    assert set(watch.seconds) == {"count"}
