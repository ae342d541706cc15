"""Parts of the hospital's pages by themselves: the list of stewards, what commands printed, long work."""

from __future__ import annotations

import io
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from hospital_agent.journal import JobEntry, JobStatus, Journal
from hospital_agent.pages.background import Background, Work, end_children
from hospital_agent.pages.jobs import answer_offer
from hospital_agent.pages.problems import PageProblem
from hospital_agent.pages.sessions import Doorkeeper, Throttle
from hospital_agent.people.stewards import STEWARDS_FILE, Stewards
from hospital_agent.protection import KEY_FILE, Protection
from machine.files import write_file
from privet.__main__ import run
from shared.errors import InputError
from shared.web.rendering import render

PASSWORD = "four words in a row"
FRAME: dict[str, Any] = {
    "csrf": "",
    "own": "h1",
    "active": "",
    "may_sign_out": False,
    "state_seen": "",
    "study": "s",
}
RECORDS = "age,smoker,ill\n" + "".join(
    f"{20 + n % 60},{'yes' if n % 3 else 'no'},{n % 2}\n" for n in range(120)
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    assert run(["agent", "init", str(tmp_path / "agent"), "--id", "h1"]) == 0
    return tmp_path / "agent"


def test_a_steward_is_added_by_command_and_known_by_password(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(f"{PASSWORD}\n"))
    assert run(["agent", "stewards", "add", str(folder), "ada", "--password-stdin"]) == 0
    stewards = Stewards.of(folder)
    assert (
        stewards.is_one("ada", PASSWORD),
        stewards.is_one("ada", "x"),
        stewards.is_one("eve", PASSWORD),
    ) == (
        True,
        False,
        False,
    )
    assert PASSWORD not in (folder / STEWARDS_FILE).read_text()
    assert (folder / STEWARDS_FILE).stat().st_mode & 0o777 == 0o600
    monkeypatch.setattr("sys.stdin", io.StringIO("short\n"))
    assert run(["agent", "stewards", "add", str(folder), "eve", "--password-stdin"]) == 3
    assert run(["agent", "stewards", "remove", str(folder), "ada"]) == 0
    capsys.readouterr()
    assert run(["agent", "stewards", "list", str(folder), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"stewards": []}


def test_in_an_encrypted_folder_a_list_that_is_not_sealed_counts_for_nothing(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Stewards.of(folder).with_one("ada", PASSWORD).save()
    forged = (folder / STEWARDS_FILE).read_bytes()
    key = tmp_path / "key"
    write_file(key, os.urandom(32).hex().encode())
    assert run(["agent", "protect", str(folder), "--key-file", str(key)]) == 0
    monkeypatch.setenv(KEY_FILE, str(key))
    assert Protection.of(folder).is_on
    assert Stewards.of(folder).is_one("ada", PASSWORD)
    write_file(folder / STEWARDS_FILE, forged)
    with pytest.raises(InputError, match="not sealed"):
        Stewards.of(folder)


def test_tries_are_counted_before_they_are_looked_at() -> None:
    now = [0.0]
    throttle = Throttle(lambda: now[0])
    right = throttle.begin("ada")
    throttle.forgive(right)
    for _ in range(5):
        throttle.begin("ada")
    with pytest.raises(PageProblem, match="too_many_tries"):
        throttle.begin("ada")
    throttle.forgive(throttle.begin("ben"))  # whom nobody keeps out
    for name in range(25):
        throttle.begin(f"made up {name}")
    with pytest.raises(PageProblem, match="too_many_tries"):
        throttle.begin("ben")
    now[0] = 61.0
    throttle.begin("ada")


def test_a_session_ends_unused_and_at_last() -> None:
    now = [0.0]
    door = Doorkeeper("t" * 32, lambda: now[0])
    idle, busy = door.sign_in("t" * 32, "::1"), door.sign_in("t" * 32, "::1")
    for now[0] in range(0, 36_000, 1000):
        assert door.is_in(busy)
        door.is_in(idle, by_itself=True)
    assert not door.is_in(idle)
    now[0] = 36_001
    assert not door.is_in(busy)


def test_what_the_commands_print_is_shown_with_the_floor(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "records.csv"
    path.write_text(RECORDS)
    assert run(["data", "inspect", str(path), "--floor", "50", "--json"]) in (0, 1)
    work = Work("done", 1, 2, json.loads(capsys.readouterr().out))
    shown = render("hospital_agent.pages", "records_now.html", work=work, most=20, source="x", **FRAME)
    assert "120 rows, 3 columns." in shown
    assert "Values of fewer than 50 rows are held back." in shown
    assert "0 (60), 1 (60)" in shown
    assert "2 held back" in shown  # of 80 and 40 the greater one too, since it would tell the other
    assert "(80)" not in shown


def test_a_contract_that_does_not_fit_names_column_and_rule(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "records.csv").write_text(RECORDS)
    contract = {
        "name": "ward",
        "attributes": [{"name": "smoker", "kind": "category", "values": [{"value": "yes"}]}],
        "class": {"name": "ill", "values": [{"value": "0"}, {"value": "1"}]},
    }
    (tmp_path / "contract.json").write_text(json.dumps(contract))
    words = ["data", "check", str(tmp_path / "contract.json"), str(tmp_path / "records.csv"), "--json"]
    assert run(words) == 1
    work = Work("done", 1, 2, json.loads(capsys.readouterr().out))
    shown = render("hospital_agent.pages", "study_check.html", check=work, **FRAME)
    assert ">smoker</th>" in shown
    assert "<code>unknown-value</code>" in shown


@pytest.mark.long
def test_long_work_runs_in_a_process_of_its_own_and_tells_what_went_wrong(
    folder: Path, tmp_path: Path
) -> None:
    (tmp_path / "records.csv").write_text(RECORDS)
    settings = folder / "agent.toml"
    before = settings.read_text()
    settings.write_text(before.replace("[data]", f'[data]\npath = "{tmp_path / "records.csv"}"'))
    looks = Background(folder)
    looks.begin("records", ["data", "inspect"])
    looks.begin("records", ["data", "inspect"])
    with pytest.raises(PageProblem, match="busy"):
        looks.begin("other", ["data", "inspect"])
    found = done(looks, "records")
    assert (found.outcome, found.document and found.document["rows"]) == ("done", 120)
    (tmp_path / "records.csv").unlink()
    looks.begin("records", ["data", "inspect"])
    found = done(looks, "records")
    assert found.outcome == "failed"
    assert found.fault


def test_work_ends_with_the_agent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    endless = tmp_path / "endless"
    endless.write_text("#!/bin/sh\nexec sleep 300\n")
    endless.chmod(0o700)
    monkeypatch.setattr(sys, "executable", str(endless))
    looks, end = Background(tmp_path), time.monotonic() + 20
    looks.begin("records", ["data", "inspect"])
    while (work := looks.of("records")) is not None and work.outcome == "running":
        assert time.monotonic() < end
        end_children()
        time.sleep(0.02)
    assert work is not None
    assert work.outcome == "failed"


def done(looks: Background, name: str) -> Work:
    end = time.monotonic() + 60
    while (work := looks.of(name)) is None or work.outcome == "running":
        assert time.monotonic() < end
        time.sleep(0.1)
    return work


def test_of_two_words_on_an_offer_the_first_counts(folder: Path) -> None:
    offered = JobEntry("ab" * 16, "00" * 32, "s", "q", b"offer", JobStatus.AWAITING)
    with Journal.open(folder) as journal:
        journal.put_job(offered)
        with pytest.raises(PageProblem, match="changed"):
            answer_offer(journal, offered.job, "approve", {"mh": "11" * 32}, "Ada")
        answer_offer(journal, offered.job, "decline", {"mh": offered.mh, "reason": "no"}, "Ada")
        with pytest.raises(PageProblem, match="answered"):
            answer_offer(journal, offered.job, "approve", {"mh": offered.mh}, "Bob")
        assert [(word.approve, word.reason) for word in journal.answers()] == [(False, "no")]


def test_long_work_can_be_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sleeper = tmp_path / "sleeper"
    sleeper.write_text("#!/bin/sh\nexec sleep 60\n")
    sleeper.chmod(0o700)
    monkeypatch.setattr(sys, "executable", str(sleeper))
    works = Background(tmp_path)
    works.stop("records")  # nothing runs
    works.begin("records", ["data", "inspect"])
    deadline = time.monotonic() + 10
    while (work := works.of("records")) is not None and work.outcome == "running":
        assert time.monotonic() < deadline
        works.stop("records")
        time.sleep(0.01)
    assert work is not None
    assert (work.outcome, work.fault) == ("failed", "it was stopped before it was done")
