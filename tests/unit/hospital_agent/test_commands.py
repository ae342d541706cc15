"""The commands as a person meets them: what they print, what they write, and the next step in every error."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import pytest

from hospital_agent.journal import Journal, studies
from hospital_agent.keyring import Keyring
from hospital_agent.models import shelf_of
from hospital_agent.models.predictions_log import PredictionsLog
from hospital_agent.records.sql_ways import BY_THEMSELVES
from privet.__main__ import run
from shared.protocol.enrolment import fingerprint, spoken
from shared.protocol.governing import sign_study, verify_answer
from shared.wire.study import SignedAnswer
from tests.support.clinic import SCHEMA
from tests.support.models import model_of
from tests.support.studies import document
from tests.unit.hospital_agent.test_keyring import PARTIES, ROOT, bundle_file, folder_of

HEADER = "nausea,lumbar pain,urine pushing,micturition pains,burning of urethra,diagnosis\n"
CSV = HEADER + "0,1,1,0,1,nephritis\n0,0,0,0,0,none\n"


def command(capsys: pytest.CaptureFixture[str], *words: object, code: int = 0) -> Any:
    """`privet agent WORDS --json`: the document, once the exit code is as expected."""
    capsys.readouterr()
    assert run(["agent", *map(str, words), "--json"]) == code, capsys.readouterr()
    return json.loads(capsys.readouterr().out)


@pytest.fixture
def member(tmp_path: Path) -> Path:
    """A joined agent with one model and a file of records."""
    folder = tmp_path / "agent"
    folder.mkdir(mode=0o700)
    folder_of(folder, "h1")
    (folder / "records.csv").write_text(CSV)
    (folder / "agent.toml").write_text('id = "h1"\n[data]\npath = "records.csv"\n')
    ring = Keyring.open(folder)
    ring.join(bundle_file(folder), ROOT, "h1")
    shelf_of(folder, ring.identity.public, PARTIES.root).put(model_of(PARTIES), ring.identity)
    return folder


def test_init_makes_everything_and_says_what_to_read_over_the_telephone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert (
        run(["agent", "init", str(tmp_path / "agent"), "--id", "h1", "--cloud", "https://cloud.example"]) == 0
    )
    text = capsys.readouterr().out
    assert spoken(Keyring.open(tmp_path / "agent").request_fingerprint("h1")) in text
    assert "privet agent join" in text
    document = command(capsys, "status", tmp_path / "agent")
    assert (document["agent"], document["cloud"], document["running"]) == (
        "h1",
        "https://cloud.example/",
        False,
    )


@pytest.mark.parametrize("url", ["http://cloud.example", 'https://x"\nid = "h2'])
def test_init_refuses_a_url_that_is_none(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], url: str
) -> None:
    problem = command(capsys, "init", tmp_path / "agent", "--id", "h1", "--cloud", url, code=3)
    assert "https://" in problem["detail"]
    command(capsys, "init", tmp_path / "agent", "--id", "h1", "--cloud", "https://cloud.example")


def test_join_keeps_the_cloud_and_goes_on_without_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "agent"
    folder.mkdir(mode=0o700)
    folder_of(folder, "h1")
    (folder / "agent.toml").write_text('id = "h1"\n# cloud = "https://cloud.example"\n')
    words = ("join", folder, "--bundle", bundle_file(folder), "--root-sha256", ROOT)
    document = command(capsys, *words, "--cloud", "http://127.0.0.1:1")
    assert (document["registered"], document["federation"], document["root_sha256"]) == (
        False,
        "test federation",
        fingerprint(PARTIES.root),
    )
    assert command(capsys, "status", folder)["cloud"] == "http://127.0.0.1:1/"


def test_commands_on_no_agent_name_init(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for words in (
        ("status", tmp_path),
        ("offers", tmp_path),
        ("run", tmp_path),
        ("models", "list", tmp_path),
    ):
        assert "privet agent init" in command(capsys, *words, code=3)["remedy"]


def test_run_before_joining_names_join(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "agent"
    command(capsys, "init", folder, "--id", "h1", "--cloud", "https://cloud.example")
    assert "privet agent join" in command(capsys, "run", folder, code=3)["remedy"]


def test_run_without_a_cloud_names_the_setting(member: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "cloud = " in command(capsys, "run", member, code=3)["remedy"]


def test_check_data_rehearses_a_job(member: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    schema = tmp_path / "schema.json"
    schema.write_text(json.dumps({"schema": SCHEMA}))
    assert command(capsys, "check-data", member, "--schema", schema)["rows"] == 2
    (member / "records.csv").write_text(CSV.replace("0,0,0,0,0", "0,0,7,0,0"))
    problem = command(capsys, "check-data", member, "--schema", schema, code=3)
    assert "line 3" in problem["detail"]
    assert not list(member.glob("check-*"))


@pytest.mark.filterwarnings("ignore:fetch_arrow_table:DeprecationWarning")
def test_check_data_says_where_a_database_is_counted(
    member: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    schema = tmp_path / "schema.json"
    schema.write_text(json.dumps({"schema": SCHEMA}))
    query = f"SELECT * FROM read_csv('{member / 'records.csv'}', all_varchar = true)"
    (member / "agent.toml").write_text(f'id = "h1"\n[data]\nurl = "duckdb://"\nquery = "{query}"\n')
    told = command(capsys, "check-data", member, "--schema", schema)
    there = ["counted where they are, in the database", BY_THEMSELVES]
    assert (told["rows"], told["notes"][-2:]) == (2, there)


@pytest.mark.parametrize("content", ["", "{", "[]", '{"attributes": []}'])
def test_a_schema_that_is_none_is_named(
    member: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], content: str
) -> None:
    schema = tmp_path / "schema.json"
    schema.write_text(content)
    assert "schema" in command(capsys, "check-data", member, "--schema", schema, code=3)["detail"]


def test_models_are_listed_shown_exported_and_removed(
    member: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (found,) = command(capsys, "models", "list", member)["models"]
    assert "lumbar pain?" in command(capsys, "models", "show", member, found["id"][:4])["drawing"]
    target = tmp_path / "model.json"
    words = ("models", "export", member, found["id"], "--to", target)
    command(capsys, *words)
    assert json.loads(target.read_bytes())["model"]["tree_sha256"] == found["tree_sha256"]
    assert "exists already" in command(capsys, *words, code=3)["detail"]
    command(capsys, "models", "remove", member, found["id"])
    assert command(capsys, "models", "list", member)["models"] == []


def test_predict_takes_words_csv_and_json(
    member: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("--set", "lumbar pain=1", "--set", "urine pushing=1", "--set", "nausea=0")
    assert command(capsys, "predict", member, *words)["predictions"][0]["class"] == "nephritis"
    table, listed = tmp_path / "ask.csv", tmp_path / "ask.json"
    table.write_text("lumbar pain,urine pushing,nausea\n1,1,0\n\n0,0,0\n")
    listed.write_text(json.dumps([{"lumbar pain": 1, "urine pushing": 1, "nausea": 0}, {"lumbar pain": 0}]))
    classes = [p["class"] for p in command(capsys, "predict", member, "--file", table)["predictions"]]
    assert classes == ["nephritis", "none"]
    noted = command(capsys, "predict", member, "--file", listed)["predictions"][1]
    assert noted["stop_reason"] == "missing"
    assert run(["agent", "predict", str(member), *words]) == 0
    assert (
        "nephritis: lumbar pain = 1 and urine pushing = 1 and nausea = 0; share 1.00"
        in capsys.readouterr().out
    )


def test_predict_is_noted_beside_what_the_running_agent_notes(
    member: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    table = tmp_path / "ask.csv"
    table.write_text("lumbar pain\n1\n0\n")
    running = PredictionsLog(member, lambda: 1.0)
    running.note("ward", "ab" * 16, None, "only", 7)
    command(capsys, "predict", member, "--file", table)
    running.note("ward", "ab" * 16, None, "only", 8)
    entries = command(capsys, "predictions", "log", member)["predictions"]
    assert [entry["records"] for entry in entries] == [7, 2, 8]
    assert entries[1]["caller"].startswith("command of ")
    assert "lumbar" not in running.path.read_text()
    # A disk that fills up takes the half of a line back, and nothing of others' lines.
    whole, write = running.path.read_bytes(), os.write
    monkeypatch.setattr(os, "write", lambda file, line: write(file, line[:9]))
    with pytest.raises(OSError, match="No space"):
        running.note("ward", "ab" * 16, None, "only", 9)
    problem = command(capsys, "predict", member, "--file", table, code=3)
    assert "log of predictions cannot be written" in problem["detail"]
    monkeypatch.undo()
    assert running.path.read_bytes() == whole
    running.close()


def test_predict_leaves_out_columns_of_a_table_that_the_study_does_not_use(
    member: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "ward.csv"
    names = [attribute["name"] for attribute in SCHEMA["attributes"]]
    path.write_text(",".join(["case", *names]) + "\n" + ",".join(["17", *("0" for _ in names)]) + "\n")
    found = command(capsys, "predict", member, "--file", path)
    assert found["ignored_columns"] == ["case"]
    assert found["predictions"][0]["class"] == "none"
    assert run(["agent", "predict", str(member), "--file", str(path)]) == 0
    assert "Columns that the study does not use: case\n" in capsys.readouterr().out
    path.write_text("case,lumbar pain\n17,0\n")
    assert "no such attribute" in command(capsys, "predict", member, "--file", path, code=3)["detail"]


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ((), "either --set"),
        (("--set", "nausea"), "NAME=VALUE"),
        (("--set", "fever=1"), "no such attribute"),
        (("--set", "nausea=0", "--model", "ff"), "no model has that id"),
    ],
)
def test_a_wrong_question_is_answered_with_the_remedy(
    member: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], text: str
) -> None:
    assert text in command(capsys, "predict", member, *words, code=3)["detail"]


@pytest.mark.parametrize(
    ("name", "content", "text"),
    [
        ("a.csv", "nausea,nausea\n1,1\n", "line 1: a column name repeats"),
        ("a.csv", "nausea,urine pushing\n1\n", "line 2: 2 columns expected, 1 found"),
        ("a.csv", "", "no records"),
        ("a.json", "[1]", "record 1: expected an object"),
        ("a.json", "[[", "not JSON"),
    ],
)
def test_a_wrong_file_is_named_with_its_line(
    member: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, content: str, text: str
) -> None:
    path = tmp_path / name
    path.write_text(content)
    assert text in command(capsys, "predict", member, "--file", path, code=3)["detail"]


def test_a_job_that_is_not_there_is_named(member: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for words in (("approve", member, "ab"), ("decline", member, "ab"), ("forget", member, "ab")):
        problem = command(capsys, *words, code=3)
        assert problem["where"] == "job ab"
        assert "privet agent status" in problem["remedy"]


@pytest.fixture
def shown(member: Path) -> Path:
    """The member's folder after its agent was shown a study."""
    study = document(PARTIES, federation=hashlib.sha256(PARTIES.root).hexdigest(), expires=2**37)
    signed = sign_study(study, PARTIES.identities["cloud"], PARTIES.certificates["cloud"])
    with Journal.open(member) as journal, journal.transaction():
        studies.learn(journal, studies.StudyEntry(study.id, study.sha256, signed.canonical()))
    return member


def test_a_study_is_read_and_answered(shown: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (listed,) = command(capsys, "studies", "list", shown)["studies"]
    assert (listed["study"], listed["answer"]) == ("simulation", "pending")
    assert command(capsys, "status", shown)["studies_waiting"] == ["simulation"]
    assert "no terminal" in command(capsys, "studies", "approve", shown, "simul", code=3)["detail"]
    assert "nothing to withdraw" in command(capsys, "studies", "withdraw", shown, "simul", code=3)["detail"]
    assert command(capsys, "studies", "approve", shown, "simul", "--yes")["answer"] == "approved"
    assert command(capsys, "studies", "approve", shown, "simul", "--yes")["answer"] == "approved"
    assert "withdraw" in command(capsys, "studies", "decline", shown, "simul", code=3)["remedy"]
    left = command(capsys, "studies", "withdraw", shown, "simul", "--yes", "--reason", "a new board")
    assert (left["answer"], left["code"], left["reason"]) == ("withdrawn", "other", "a new board")
    assert command(capsys, "studies", "approve", shown, "simul", "--yes")["answer"] == "approved"
    said = command(capsys, "studies", "show", shown, listed["sha256"][:10])["said"]
    assert [one["answer"]["answer"] for one in said] == ["approve", "withdraw", "approve"]
    times = [one["answer"]["time"] for one in said]
    assert times == sorted(set(times))
    for one in said:
        signed = SignedAnswer.model_validate({name: one[name] for name in ("answer", "signature")})
        verify_answer(signed, Keyring.open(shown).identity.public)


@pytest.mark.parametrize("reason", ["x" * 201, "two\nlines"])
def test_a_reason_is_one_short_line(shown: Path, capsys: pytest.CaptureFixture[str], reason: str) -> None:
    told = command(capsys, "studies", "decline", shown, "simulation", "--reason", reason, code=3)
    assert told["where"] == "--reason"
    assert command(capsys, "studies", "list", shown)["studies"][0]["answer"] == "pending"


def test_a_study_that_was_not_shown_is_named(shown: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for word in ("show", "approve", "decline", "withdraw"):
        remedy = command(capsys, "studies", word, shown, "another", code=3)["remedy"]
        assert "studies list" in remedy
        assert "has fetched it" in remedy, "a study that was created just now is there a little later"


def test_a_consent_needs_a_hash(shown: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = command(capsys, "consent", shown, "simulation", "--other", "12", "--yes", code=3)
    assert told["where"] == "--other"
    given = command(capsys, "consent", shown, "simulation", "--other", "AB" * 32, "--yes")
    assert given["without_sha256"] == "ab" * 32
