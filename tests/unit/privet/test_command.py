from __future__ import annotations

import json
import subprocess
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import pytest
import typer

from privet import programs
from privet.__main__ import run
from privet.programs import PROGRAMS, Program
from shared.errors import (
    ErrorCode,
    InputError,
    InternalError,
    JobCode,
    JobFailure,
    PeerError,
    TemporaryError,
)
from shared.reports import Report
from tests.support.members import Party, cloud

Start = Callable[..., int]


@pytest.fixture
def start(monkeypatch: pytest.MonkeyPatch) -> Start:
    """Run `privet stand-in go` with a command that does as told."""

    def with_command(does: Callable[[], object], *words: str) -> int:
        app = typer.Typer()

        @app.command()
        def go(number: Annotated[int, typer.Option("--number")] = 1) -> object:
            return does()

        @app.command()
        def other() -> None:
            """So that `go` is a command of a group."""

        module = types.ModuleType("stand_in")
        module.app = app  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, "stand_in", module)
        monkeypatch.setattr(programs, "PROGRAMS", {"stand-in": Program("stand_in", "A stand-in.")})
        return run(["stand-in", "go", *words])

    return with_command


def raising(error: BaseException) -> Callable[[], object]:
    def does() -> object:
        raise error

    return does


def test_a_report_is_printed_as_text(start: Start, capsys: pytest.CaptureFixture[str]) -> None:
    assert start(lambda: Report({"a": 1}, "One.")) == 0
    assert capsys.readouterr() == ("One.\n", "")


def test_no_name_or_value_of_a_file_steers_the_terminal(
    start: Start, capsys: pytest.CaptureFixture[str]
) -> None:
    evil = "\x1b[2Jall fine\r\x9b1A\u202e"
    start(lambda: Report({}, f"ward:\t{evil}\nsecond line, naïve 女"))
    start(raising(InputError("no such column", where=evil)))
    out, err = capsys.readouterr()
    shown = r"\x1b[2Jall fine\r\x9b1A\u202e"
    assert out == f"ward:\t{shown}\nsecond line, naïve 女\n"
    assert shown in err
    assert err.count("\n") == 1


def test_a_report_is_printed_as_json_and_nothing_else(
    start: Start, capsys: pytest.CaptureFixture[str]
) -> None:
    document = {"a": [1, 2.5, None, True], "b": {"ä": "x"}}
    assert start(lambda: Report(document, "One."), "--json") == 0
    out, err = capsys.readouterr()
    assert json.loads(out) == document
    assert err == ""


def test_a_command_may_have_nothing_to_report(start: Start, capsys: pytest.CaptureFixture[str]) -> None:
    assert start(lambda: None) == 0
    assert capsys.readouterr() == ("", "")


ENDS = [
    (InputError("no class column", where="data.csv, line 1", remedy="Name it with --class."), 3, "input"),
    (FileNotFoundError(2, "No such file or directory", "data.csv"), 3, "input"),
    (PeerError(ErrorCode.POLICY_PROFILE, "profile paper is not allowed"), 4, "policy_profile"),
    (TemporaryError("the cloud does not answer"), 5, "later"),
    (ConnectionRefusedError(111, "Connection refused"), 5, "later"),
    (TimeoutError("too slow"), 5, "later"),
    (JobFailure(JobCode.DIVERGED, "two trees"), 6, "diverged"),
    (InternalError("impossible state"), 1, "internal"),
    (KeyError("patient 17"), 1, "internal"),
]


@pytest.mark.parametrize(("error", "code", "kind"), ENDS)
def test_an_error_ends_with_its_code(
    start: Start, capsys: pytest.CaptureFixture[str], error: Exception, code: int, kind: str
) -> None:
    assert start(raising(error)) == code
    out, err = capsys.readouterr()
    assert out == ""
    assert err.endswith("\n")
    assert "Traceback" not in err


@pytest.mark.parametrize(("error", "code", "kind"), ENDS)
def test_with_json_an_error_is_a_problem_object(
    start: Start, capsys: pytest.CaptureFixture[str], error: Exception, code: int, kind: str
) -> None:
    assert start(raising(error), "--json") == code
    out, err = capsys.readouterr()
    problem = json.loads(out)
    assert problem["exit_code"] == code
    assert problem["type"] == f"urn:privet:problem:{kind}"
    assert problem["detail"]
    assert err == ""


def test_an_input_error_names_place_and_remedy(start: Start, capsys: pytest.CaptureFixture[str]) -> None:
    start(raising(ENDS[0][0]), "--json")
    problem = json.loads(capsys.readouterr().out)
    assert problem["where"] == "data.csv, line 1"
    assert problem["remedy"] == "Name it with --class."
    assert problem["detail"] == "data.csv, line 1: no class column. Name it with --class."


def test_the_text_of_an_unexpected_error_is_never_shown(
    start: Start, capsys: pytest.CaptureFixture[str]
) -> None:
    start(raising(KeyError("patient 17")))
    start(raising(KeyError("patient 17")), "--json")
    out, err = capsys.readouterr()
    assert "patient" not in out + err
    assert "KeyError at test_command.py" in err


def test_ctrl_c_ends_with_130(start: Start) -> None:
    assert start(raising(KeyboardInterrupt())) == 130


def test_a_command_may_choose_its_exit_code(start: Start) -> None:
    assert start(raising(typer.Exit(6))) == 6


def test_a_result_that_is_no_report_is_a_bug(start: Start, capsys: pytest.CaptureFixture[str]) -> None:
    assert start(lambda: "text") == 1
    assert "expected a report" in capsys.readouterr().err


@pytest.mark.parametrize("words", [["--nonsense"], ["--number", "many"], ["surplus"]])
def test_wrong_words_end_with_2(start: Start, capsys: pytest.CaptureFixture[str], words: list[str]) -> None:
    assert start(lambda: None, *words) == 2
    assert "See: privet stand-in go --help" in capsys.readouterr().err
    assert start(lambda: None, *words, "--json") == 2
    assert json.loads(capsys.readouterr().out)["type"] == "urn:privet:problem:usage"


def test_a_word_that_is_none_of_those_offered_is_told_without_the_parsers_own_words(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(["demo", "--mode", "gainratio"]) == 2
    told = capsys.readouterr().err
    assert "'gainratio' is not one of 'ppsdt', 'id3', 'gain-ratio'" in told
    assert "Value error" not in told


def test_json_after_a_lone_dash_pair_is_an_argument(start: Start, capsys: pytest.CaptureFixture[str]) -> None:
    assert start(lambda: None, "--", "--json") == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err


def test_every_command_offers_json(start: Start, capsys: pytest.CaptureFixture[str]) -> None:
    assert start(lambda: None, "--help") == 0
    assert "--json" in capsys.readouterr().out


def test_a_part_that_is_not_there_is_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["nonsense"]) == 2
    assert "No such command 'nonsense'" in capsys.readouterr().err
    assert run(["data", "inspcet"]) == 2
    assert "Did you mean 'inspect'? See: privet data --help" in capsys.readouterr().err


# What follows runs the command as its users do.


def privet(*words: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "privet", *words],
        cwd=folder,
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        check=False,
    )


def document(result: subprocess.CompletedProcess[str], code: int = 0) -> Any:
    assert result.returncode == code, result.stderr
    return json.loads(result.stdout)


def test_the_ceremony_from_the_command_line(tmp_path: Path) -> None:
    """Founding, certifying, removing, rotating with real keys; what a consortium types."""
    founded = document(
        privet("authority", "init", "ta", "--name", "Test", "--key-bits", "2048", "--json", folder=tmp_path)
    )
    assert (founded["epoch"], founded["key_bits"], founded["members"]) == (1, 2048, [])

    requests = [
        party.write_request(tmp_path).name for party in (cloud(), Party("h1"), Party("h2"), Party("h3"))
    ]
    unasked = privet("authority", "certify", "ta", *requests, folder=tmp_path)
    assert unasked.returncode == 3
    assert "--yes" in unasked.stderr

    certified = document(privet("authority", "certify", "ta", *requests, "--yes", "--json", folder=tmp_path))
    assert sorted(certified["bundles"]) == ["cloud", "h1", "h2", "h3"]
    assert all((tmp_path / path).is_file() for path in certified["bundles"].values())

    removed = document(privet("authority", "remove", "ta", "h2", "--json", folder=tmp_path))
    assert removed["rotation_due"] is True

    rotated = document(privet("authority", "rotate", "ta", "--out", "new", "--json", folder=tmp_path))
    assert (rotated["epoch"], rotated["rotation_due"]) == (2, False)
    assert rotated["key_id"] != founded["key_id"]
    assert sorted(path.name for path in (tmp_path / "new").iterdir()) == [
        "cloud.bundle", "federation.json", "h1.bundle", "h3.bundle",
    ]  # fmt: skip

    shown = privet("authority", "show", "ta", folder=tmp_path)
    assert shown.returncode == 0
    assert "epoch 2" in shown.stdout
    assert (
        document(privet("authority", "init", "ta", "--name", "Test", "--json", folder=tmp_path), 3)["where"]
        == "ta"
    )


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["authority", "init", "x", "--name", "T", "--key-bits", "1024"], "2048, 3072 or 4096"),
        (["authority", "init", "x", "--name", "no/slash"], "federation's name"),
        (["authority", "show", "nowhere"], "no federation in this folder"),
    ],
)
def test_refused_input_says_what_and_how(words: list[str], message: str, tmp_path: Path) -> None:
    result = privet(*words, folder=tmp_path)
    assert result.returncode == 3
    assert message in result.stderr
    assert result.stdout == ""
    assert list(tmp_path.iterdir()) == []


def test_the_version_is_told(tmp_path: Path) -> None:
    assert privet("--version", folder=tmp_path).stdout.startswith("privet ")


def test_the_help_names_every_program(tmp_path: Path) -> None:
    result = privet("--help", folder=tmp_path)
    assert result.returncode == 0
    assert all(name in result.stdout for name in PROGRAMS)
    assert "130 interrupted" in " ".join(result.stdout.split())


def test_the_authority_loads_no_other_program_and_no_network() -> None:
    code = (
        "import sys; from privet.__main__ import run; run(['--help']); run(['authority', 'show', '/nowhere'])\n"
        "loaded = {name.partition('.')[0] for name in sys.modules}\n"
        "others = {'cloud_service', 'hospital_agent', 'fastapi', 'httpx', 'duckdb', 'sqlalchemy'}\n"
        "sys.exit(', '.join(loaded & others) or 0)"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
