"""`privet data inspect` as people type it: what it prints, where it ends, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import duckdb
import pytest

from privet.__main__ import run

pytestmark = pytest.mark.filterwarnings("ignore:fetch_arrow_table:DeprecationWarning")


def inspected(capsys: pytest.CaptureFixture[str], *words: object, code: int = 0) -> Any:
    capsys.readouterr()
    assert run(["data", "inspect", *map(str, words), "--json"]) == code
    return json.loads(capsys.readouterr().out)


def ward(tmp_path: Path, classes: str = "no yes") -> Path:
    path = tmp_path / "ward.csv"
    words = classes.split()
    rows = [f"p{n},{'?' if n % 9 == 0 else n % 3},{words[n % len(words)]}" for n in range(60)]
    path.write_text("\n".join(["case id,grade,ill", *rows]) + "\n")
    return path


def test_what_was_found_and_how_it_was_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = inspected(capsys, ward(tmp_path), "--class", "ill")
    assert (found["rows"], found["class"], found["floor"]) == (60, "ill", 5)
    assert [finding["code"] for finding in found["findings"][:2]] == ["identifier", "missing-code"]
    assert found["findings"][0]["options"] == [["--drop", "case id"]]
    assert found["reading"]["format"] == "text"
    assert [column["name"] for column in found["columns"]] == ["case id", "grade", "ill"]


def test_the_setting_names_the_column_of_patients(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """So nobody who has set it is told to leave the column out, or to name it."""
    found = inspected(capsys, ward(tmp_path), "--class", "ill", "--set", 'patient="case id"')
    assert "identifier" not in [finding["code"] for finding in found["findings"]]
    wrong = inspected(capsys, ward(tmp_path), "--set", "patient=mrn", code=3)
    assert "mrn" in str(wrong)


def test_a_page_is_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "page.html"
    inspected(capsys, ward(tmp_path), "--class", "3", "--html", page)
    assert "identifier" in page.read_text()
    assert page.stat().st_mode & 0o077 == 0


def test_records_that_make_no_study_end_with_code_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    labels = " ".join(str(n) for n in range(300))
    path = tmp_path / "ids.csv"
    path.write_text(
        "\n".join(["grade,ill", *(f"{n % 3},{label}" for n, label in enumerate(labels.split()))]) + "\n"
    )
    found = inspected(capsys, path, "--class", "ill", code=1)
    assert found["findings"][0]["code"] == "class-of-numbers"
    alone = inspected(capsys, ward(tmp_path, "no"), "--class", "ill")
    assert [(one["code"], one["weight"]) for one in alone["findings"] if "class" in one["code"]] == [
        ("single-class", "look")
    ]


def test_one_hospitals_only_value_does_not_take_a_column_from_the_others(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`--apply` keeps a constant column; the drafts of all hospitals merge, and all their records fit."""
    rows = {"h1": [("a", "no")] * 30, "h2": [("a", "no"), ("b", "yes")] * 15}
    drafts = []
    for name, found in rows.items():
        path = tmp_path / f"{name}.csv"
        path.write_text("\n".join(["kind,ill", *map(",".join, found)]) + "\n")
        drafts.append(tmp_path / f"{name}.json")
        assert run(["data", "draft", str(path), "--class", "ill", "--apply", "-o", str(drafts[-1])]) == 0
    merged = tmp_path / "merged.json"
    assert run(["data", "merge", *map(str, drafts), "-o", str(merged)]) == 0
    assert "not every draft has yes" in capsys.readouterr().out
    assert all(run(["data", "check", str(merged), str(tmp_path / f"{name}.csv")]) == 0 for name in rows)
    capsys.readouterr()


@pytest.mark.parametrize(
    ("content", "line"),
    [("a,b\n1,2\n3\n", "line 3"), ("a,b\n1,2\nx,y,z\n", "line 3")],
)
def test_what_is_not_one_table_of_cases_is_refused_by_line(
    content: str, line: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "odd.csv"
    path.write_text(content)
    assert line in inspected(capsys, path, code=3)["where"]


def test_a_setting_for_this_time(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = inspected(capsys, ward(tmp_path), "--set", "header=false", "--class", "3")
    assert [column["name"] for column in found["columns"]] == ["column 1", "column 2", "column 3"]
    refused = inspected(capsys, ward(tmp_path), "--set", "delimeter=tab", code=3)
    assert "delimeter" in refused["detail"]
    assert "no records" in inspected(capsys, code=3)["detail"]


@pytest.mark.long
def test_a_database(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with duckdb.connect(str(tmp_path / "ward.duckdb")) as connection:
        connection.execute(f"CREATE TABLE ward AS SELECT * FROM read_csv('{ward(tmp_path)}')")
    words = ("--set", f"url=duckdb://{tmp_path / 'ward.duckdb'}", "--set", "table=ward", "--class", "ill")
    found = inspected(capsys, *words)
    assert [finding["code"] for finding in found["findings"][:2]] == ["identifier", "missing-code"]


def test_columns_of_a_file_without_header_go_by_the_studys_names(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Or by position, or by what inspect calls them; and the remarks use the study's."""
    records, drafts = tmp_path / "records.csv", [tmp_path / f"{n}.json" for n in range(2)]
    records.write_text("".join(f"{n},{n % 3},{40 + n},{n % 2}\n" for n in range(24)))
    common = ["data", "draft", str(records), "--names", "mrn,stage,pulse,ill", "--floor", "1", "--json"]
    named = ["--class", "ill", "--drop", "mrn", "--cuts", "pulse=50", "--recode", "stage:2=1"]
    placed = ["--class", "4", "--drop", "1", "--cuts", "3=50", "--recode", "column 2:2=1"]
    for words, draft in zip((named, placed), drafts, strict=True):
        assert run([*common, *words, "-o", str(draft)]) == 0, capsys.readouterr().out
    assert drafts[0].read_bytes() == drafts[1].read_bytes()
    capsys.readouterr()
    assert run([*common, *named[:4], "-o", str(tmp_path / "uncut.json")]) == 0
    (remark,) = json.loads(capsys.readouterr().out)["remarks"]
    assert remark.startswith("pulse: modes PPSDT and id3 need its cut points: --cuts pulse=")
    assert run([*common, "--class", "ill", "--cuts", "puls=50", "-o", str(drafts[0])]) == 3
