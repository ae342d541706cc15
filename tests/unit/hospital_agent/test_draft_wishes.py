"""What a steward wishes of a draft, a merge or a grid: kept, or refused with the option and what it expects."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from privet.__main__ import run


def asked(capsys: pytest.CaptureFixture[str], *words: object, code: int = 0) -> Any:
    capsys.readouterr()
    assert run(["data", *map(str, words), "--json"]) == code
    return json.loads(capsys.readouterr().out)


@pytest.fixture
def ward(tmp_path: Path) -> Path:
    """Measured pulses with gaps, sexes, and a class."""
    path = tmp_path / "ward.csv"
    rows = [f"{'' if n % 5 == 0 else 40 + n},{'mf'[n % 2]},{n % 2}" for n in range(60)]
    path.write_text("\n".join(["pulse,sex,ill", *rows]) + "\n")
    return path


def draft_words(ward: Path, *words: object) -> tuple[object, ...]:
    return ("draft", ward, "--class", "ill", *words, "-o")


@pytest.mark.parametrize("wish", ["category", "pulse=category"])
def test_a_wish_for_gaps_is_told_of_and_kept_by_the_grid(
    wish: str, ward: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    draft, refusing, gridded = (tmp_path / f"{name}.json" for name in ("draft", "refusing", "gridded"))
    made = asked(capsys, *draft_words(ward, "--missing-policy", wish), draft)
    assert "privet data grid --missing-policy pulse=category" in "".join(made["remarks"])
    assert run(["data", "grid", str(draft), "-o", str(refusing)]) == 0
    assert "Empty fields of pulse are refused" in capsys.readouterr().out
    asked(capsys, "check", refusing, ward, code=1)
    asked(capsys, "grid", draft, "--missing-policy", wish, "-o", gridded)
    asked(capsys, "check", gridded, ward)


def test_a_grid_decides_of_its_own_attributes_alone(
    ward: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    draft, gridded = tmp_path / "draft.json", tmp_path / "gridded.json"
    asked(capsys, *draft_words(ward), draft)
    refused = asked(capsys, "grid", draft, "--missing-policy", "sex=category", "-o", gridded, code=3)
    assert (refused["where"], "pulse" in refused["remedy"]) == ("attribute 'sex'", True)


def test_a_grid_has_every_number_where_they_are_few_enough(
    ward: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    draft, every, coarse = (tmp_path / f"{name}.json" for name in ("draft", "every", "coarse"))
    asked(capsys, *draft_words(ward, "--range", "pulse=40,99"), draft)
    words = ("grid", draft, "--every-number", "--missing-policy", "category", "--edges")
    assert asked(capsys, *words, 60, "-o", every)["cuts"]["pulse"] == [str(n) for n in range(40, 100)]
    asked(capsys, "check", every, ward)
    rounded = asked(capsys, *words, 59, "-o", coarse)["cuts"]["pulse"]
    assert (rounded[0], rounded[1], len(rounded)) == ("41", "42", 58)


def test_no_file_is_overwritten(ward: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kept = tmp_path / "kept.json"
    kept.write_text("edited by hand")
    for words in (draft_words(ward), ("inspect", ward, "--html")):
        refused = asked(capsys, *words, kept, code=3)
        assert (refused["where"], "exists already" in refused["detail"]) == (str(kept), True)
    assert kept.read_text() == "edited by hand"


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("--cuts", "pulse=80,60"), "cut points that rise"),
        (("--cuts", "pulse=60,60.0"), "cut points that rise"),
        (("--cuts", "sex=a,b"), "expected a number"),
        (("--name", "Ward 1"), "expected 1 to 64 of a-z"),
    ],
)
def test_an_option_that_cannot_be_is_refused_by_its_name(
    words: tuple[str, str], expected: str, ward: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    draft = tmp_path / "draft.json"
    refused = asked(capsys, *draft_words(ward, *words), draft, code=3)
    assert refused["where"].startswith(" ".join(words)[:11])
    assert expected in refused["detail"]
    assert not draft.exists()


def test_a_merge_of_one_hospitals_draft_says_so(
    ward: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    draft = tmp_path / "draft.json"
    asked(capsys, *draft_words(ward), draft)
    (alone,) = asked(capsys, "merge", draft, "-o", tmp_path / "alone.json")["remarks"]
    assert "one hospital's draft alone" in alone
    (twice,) = asked(capsys, "merge", draft, draft, "-o", tmp_path / "twice.json")["remarks"]
    assert f"more than once: {draft}, {draft}" in twice


def test_drafts_that_differ_are_named_by_their_files(
    ward: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = [tmp_path / f"h{number}.json" for number in (1, 2, 3)]
    for words, file in zip(((), ("--category", "pulse"), ()), files, strict=True):
        asked(capsys, *draft_words(ward, *words), file)
    refused = asked(capsys, "merge", *files, "-o", tmp_path / "merged.json", code=3)
    assert refused["where"] == "attribute 'pulse'"
    told = f"differ in kind: number in {files[0]}, {files[2]}; category in {files[1]}"
    assert told in refused["detail"]


def test_a_code_list_is_the_values_of_its_column(
    ward: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    codes, short, draft, lacking = (
        tmp_path / name for name in ("codes.csv", "short.csv", "d.json", "l.json")
    )
    codes.write_text("code,display,version\nf,female,7\nm,male,7\nu,unknown,7\n")
    made = asked(capsys, *draft_words(ward, "--drop", "pulse", "--code-list", f"sex={codes}"), draft)
    assert made["remarks"] == []
    (sex,) = json.loads(draft.read_text())["attributes"]
    assert [(value["value"], value["meaning"]) for value in sex["values"]] == [
        ("f", "female"), ("m", "male"), ("u", "unknown"),
    ]  # fmt: skip
    assert sex["code_list"]["version"] == "7"
    asked(capsys, "check", draft, ward)
    short.write_text("code\nf\n")
    made = asked(capsys, *draft_words(ward, "--drop", "pulse", "--code-list", f"sex={short}"), lacking)
    assert "sex: 1 text of the records is not on its code list" in made["remarks"][0]
    asked(capsys, "check", lacking, ward, code=1)
    both = draft_words(ward, "--code-list", f"sex={codes}", "--values", "sex=f,m")
    assert "Leave out one" in asked(capsys, *both, tmp_path / "b.json", code=3)["remedy"]
