"""The files beside the predictions, on a machine that loses power and on one whose disk is full."""

from __future__ import annotations

import json
import os
import time
from contextlib import closing
from pathlib import Path

import pytest

from hospital_agent.models import counters
from hospital_agent.models.counters import COUNTERS_FILE, Counters, read_counters
from hospital_agent.models.gauges import Gauge
from hospital_agent.models.names import SERVING
from hospital_agent.models.predictions_log import LOG_FILE, PredictionsLog, read_log
from hospital_agent.models.watching import Watch


def noted(folder: Path) -> list[int]:
    return [entry["records"] for entry in read_log(folder, 10)]


def test_a_line_that_a_power_cut_left_half_takes_no_other_with_it(tmp_path: Path) -> None:
    first = PredictionsLog(tmp_path, lambda: 1.0)
    first.note("ward", "m", None, "only", 1)
    first.close()
    with first.path.open("ab") as file:
        file.write(b'{"time": 2.0, "calle')
    second = PredictionsLog(tmp_path, lambda: 3.0)
    second.note("ward", "m", None, "only", 3)
    second.close()
    assert noted(tmp_path) == [1, 3]


def test_a_disk_that_takes_half_a_line_has_noted_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log, write = PredictionsLog(tmp_path, lambda: 1.0), os.write
    log.note("ward", "m", None, "only", 1)
    with monkeypatch.context() as nearly_full:
        nearly_full.setattr(os, "write", lambda descriptor, line: write(descriptor, line[:10]))
        with pytest.raises(OSError, match="No space left"):
            log.note("ward", "m", None, "only", 2)
    log.note("ward", "m", None, "only", 3)
    log.close()
    assert noted(tmp_path) == [1, 3]
    assert (tmp_path / SERVING / LOG_FILE).read_bytes().count(b"\n") == 2


def watch(since: int) -> Watch:
    return Watch(since, (), Gauge("ill", ("no", "yes"), [0, 0]))


def test_counters_of_a_model_that_is_asked_outlast_those_of_models_that_are_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(counters, "_MOST_MODELS", 2)
    (tmp_path / SERVING).mkdir(mode=0o700)
    kept = {name: watch(1).kept() for name in ("asked", "idle", "newer")}
    (tmp_path / SERVING / COUNTERS_FILE).write_text(json.dumps({"v": 1, "models": kept, "trials": {}}))
    found = Counters(tmp_path, lambda: 10.0)
    found.watch("asked", watch, None).count({}, 1)
    found.touch()
    models = read_counters(tmp_path)["models"]
    assert list(models) == ["newer", "asked"]
    assert models["asked"]["records"] == 1


def test_counters_that_could_not_be_written_are_written_at_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = Counters(tmp_path, lambda: 10.0)
    found.watch("asked", watch, None).count({}, 0)
    with monkeypatch.context() as full:
        full.setattr(counters, "write_file", _full)
        found.touch()
    found.flush()
    assert read_counters(tmp_path)["models"]["asked"]["records"] == 1


def test_what_was_counted_is_written_though_nobody_asks_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(counters, "WRITE_SECONDS", 0.05)
    found = Counters(tmp_path, lambda: 10.0)
    asked = found.watch("asked", watch, None)
    for _ in range(3):
        asked.count({}, 1)
        found.touch()
    assert read_counters(tmp_path)["models"]["asked"]["records"] == 1
    until = time.monotonic() + 10
    while read_counters(tmp_path)["models"]["asked"]["records"] < 3 and time.monotonic() < until:
        time.sleep(0.01)
    assert read_counters(tmp_path)["models"]["asked"]["records"] == 3
    found.close()


def _full(*_arguments: object) -> None:
    raise OSError("No space left on device")


def test_what_commands_note_counts_for_the_room_that_the_log_takes(tmp_path: Path) -> None:
    running = PredictionsLog(tmp_path, lambda: 1.0, 1000)
    running.note("ward", "ab" * 16, None, "only", 1)
    for _ in range(20):
        with closing(PredictionsLog(tmp_path, lambda: 1.0, 1000, rotates=False)) as command:
            command.note("command of ada", "ab" * 16, None, "only", 2)
    assert not running.path.with_name(f"{running.path.name}.1").exists()
    running.note("ward", "ab" * 16, None, "only", 3)
    assert running.path.with_name(f"{running.path.name}.1").exists()
    assert [entry["records"] for entry in read_log(tmp_path, 2)] == [2, 3]
    running.close()
