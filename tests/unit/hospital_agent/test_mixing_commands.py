"""`privet data merger-key`, `seal`, `mix` and `merge --sealed` as people type them, from drafts to one contract."""

from __future__ import annotations

import contextlib
import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from privet.__main__ import run
from tests.unit.shared.contract.test_contract import GRADE, ICD, ILL, PULSE, SEX, contract

ANTHRAX: dict[str, Any] = {**ICD, "values": [{"value": "heart", "prefixes": ["I2"]}, {"value": "anthrax"}]}
HEART: dict[str, Any] = {**ICD, "values": [{"value": "heart", "prefixes": ["I5"]}, {"value": "fracture"}]}
THREE: dict[str, Any] = {**ILL, "values": [*ILL["values"], {"value": "perhaps"}]}
DRAFTS = {
    "st-mary": contract(ANTHRAX, SEX, PULSE, target=THREE),
    "north": contract(HEART, {**SEX, "columns": ["sexe"]}, {**PULSE, "maximum": "250"}),
    "harbour": contract(HEART, SEX, {**PULSE, "missing_codes": ["-1"]}),
}


def data(capsys: pytest.CaptureFixture[str], *words: object, code: int = 0) -> Any:
    capsys.readouterr()
    assert run(["data", *map(str, words), "--json"]) == code
    return json.loads(capsys.readouterr().out)


def refused(capsys: pytest.CaptureFixture[str], *words: object) -> str:
    capsys.readouterr()
    assert run(["data", *map(str, words)]) == 3
    return capsys.readouterr().err


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A key, the three drafts, sealed, and their batch."""
    folder = tmp_path_factory.mktemp("mix")
    with contextlib.redirect_stdout(io.StringIO()):
        assert run(["data", "merger-key", "-o", str(folder / "key")]) == 0
        for name, draft in DRAFTS.items():
            path = folder / f"{name}.json"
            path.write_bytes(draft.canonical())
            sealing = ("--to", f"{folder / 'key'}.pub", "-o", f"{path}.sealed")
            assert run(["data", "seal", str(path), *sealing]) == 0
        sealed = [f"{folder / name}.json.sealed" for name in DRAFTS]
        assert run(["data", "mix", *sealed, "-o", str(folder / "batch.json")]) == 0
    return folder


@pytest.fixture
def drafts(folder: Path) -> list[Path]:
    return [folder / f"{name}.json" for name in DRAFTS]


@pytest.fixture
def batch(folder: Path) -> Path:
    return folder / "batch.json"


@pytest.fixture
def key(folder: Path) -> Path:
    return folder / "key"


def test_a_sealed_merge_is_the_plain_one(
    batch: Path, key: Path, drafts: Sequence[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plain, mixed = tmp_path / "plain.json", tmp_path / "mixed.json"
    data(capsys, "merge", *drafts, "-o", plain)
    told = data(capsys, "merge", "--sealed", batch, "--key", key, "-o", mixed)
    assert mixed.read_bytes() == plain.read_bytes()
    assert told["hospitals_by_value"]["diagnosis"] == {"anthrax": 1, "fracture": 2, "heart": 3}
    assert told["drafts"] == 3
    assert key.stat().st_mode & 0o077 == 0
    assert not any(name.encode() in batch.read_bytes() for name in (*DRAFTS, "anthrax", "diagnosis"))


def test_rare_values_are_left_out_unseen_or_become_another(
    batch: Path, key: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    merging = ("merge", "--sealed", batch, "--key", key, "--at-least", 2)
    capsys.readouterr()
    assert run(["data", *map(str, merging), "-o", str(tmp_path / "two.json")]) == 0
    said = capsys.readouterr().out
    assert "diagnosis: 1 value of fewer than 2 hospitals left out" in said
    assert "ill: 1 value" in said
    assert "anthrax" not in said + (tmp_path / "two.json").read_text()
    assert "perhaps" not in said
    told = data(capsys, *merging, "--other", "else", "-o", tmp_path / "other.json")
    assert told["left_out"] == {"diagnosis": 1, "ill": 1}
    assert "else takes them" in told["remarks"][0]
    values = json.loads((tmp_path / "other.json").read_text())["attributes"][0]["values"]
    assert [(one["value"], one.get("other", False)) for one in values] == [
        ("fracture", False),
        ("heart", False),
        ("else", True),
    ]
    too_many = refused(capsys, *merging[:-1], 4, "-o", tmp_path / "four.json")
    assert "no label is listed by 4 hospitals" in too_many
    assert not (tmp_path / "four.json").exists()


@pytest.mark.long
def test_a_key_under_a_passphrase_opens_with_it_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from hospital_agent.commands.merger_keys import VARIABLE, read_secret
    from shared.errors import InputError

    monkeypatch.setenv(VARIABLE, "five words are too few")
    assert data(capsys, "merger-key", "-o", tmp_path / "key")["passphrase"]
    assert b"private" not in (tmp_path / "key").read_bytes()
    assert "private" not in repr(read_secret(tmp_path / "key"))
    monkeypatch.setenv(VARIABLE, "five words are too many")
    with pytest.raises(InputError, match="passphrase does not open"):
        read_secret(tmp_path / "key")
    monkeypatch.setenv(VARIABLE, "short")
    assert "12 characters" in refused(capsys, "merger-key", "-o", tmp_path / "other")


def test_what_is_refused_says_the_next_step(
    batch: Path, key: Path, drafts: Sequence[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out.json"
    sealed = [Path(f"{path}.sealed") for path in drafts]
    data(capsys, "merger-key", "-o", tmp_path / "foreign")
    cut, odd = tmp_path / "cut.json", tmp_path / "odd.json"
    cut.write_bytes(batch.read_bytes()[:-900])
    lines = json.loads(batch.read_text())
    odd.write_text(json.dumps({**lines, "blocks": lines["blocks"][:-1]}))
    differing = tmp_path / "differing.json"
    differing.write_bytes(contract(ANTHRAX, SEX, {**PULSE, "unit": "Hz"}).canonical())
    data(capsys, "seal", differing, "--to", f"{key}.pub", "-o", tmp_path / "differing.sealed")
    data(capsys, "mix", *sealed[1:], tmp_path / "differing.sealed", "-o", tmp_path / "differing.batch")
    opening = ("--key", key, "-o", out)
    for words, says in [
        (("mix", *sealed[:2], "-o", out), "wait for a third one's draft"),
        (("mix", *sealed, sealed[0], "-o", out), "one file for each hospital"),
        (("mix", *sealed[:2], drafts[2], "-o", out), "Name a file that privet data seal wrote"),
        (("seal", drafts[0], "--to", key, "-o", out), "privet-merger-key"),
        (("seal", key, "--to", f"{key}.pub", "-o", out), "draft"),
        (("merge", "--sealed", batch, "--key", tmp_path / "foreign", "-o", out), "sealed to another key"),
        (("merge", "--sealed", batch, "--key", f"{key}.pub", "-o", out), "Name the private key"),
        (("merge", "--sealed", cut, *opening), "Name a file that privet data mix wrote"),
        (("merge", "--sealed", odd, *opening), "192 blocks were sealed, and 191 came"),
        (("merge", "--sealed", tmp_path / "differing.batch", *opening), "/min in 2 of 3; Hz in 1 of 3"),
        (("merge", "--sealed", sealed[0], *opening), "privet-sealed-batch"),
        (("merge", "--sealed", batch, "-o", out), "belong together"),
        (("merge", drafts[0], "--sealed", batch, *opening), "either drafts or one sealed batch"),
        (("merge", *drafts, "--other", "else", "-o", out), "Add --at-least"),
        (("merger-key", "-o", key), "exists already"),
    ]:
        assert says in refused(capsys, *words).replace("\n", " "), words
    assert not out.exists()


def test_an_envelope_opens_for_the_mixer_alone(
    key: Path, drafts: Sequence[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mixer, out = tmp_path / "mixer", tmp_path / "batch.json"
    data(capsys, "merger-key", "-o", mixer)
    sealed = [tmp_path / f"{path.name}.sealed" for path in drafts]
    sealing = ("--to", f"{key}.pub", "--through", f"{mixer}.pub", "-o")
    for path, file in zip(drafts, sealed, strict=True):
        data(capsys, "seal", path, *sealing, file)
    assert "mix needs --key" in refused(capsys, "mix", *sealed, "-o", out)
    assert "another mixer's key" in refused(capsys, "mix", *sealed, "--key", key, "-o", out)
    same = ("--to", f"{key}.pub", "--through", f"{key}.pub", "-o", tmp_path / "no")
    assert "whoever does both" in refused(capsys, "seal", drafts[0], *same)
    data(capsys, "mix", *sealed, "--key", mixer, "-o", out)
    merged = data(capsys, "merge", "--sealed", out, "--key", key, "-o", tmp_path / "contract.json")
    assert merged["hospitals_by_value"]["diagnosis"]["heart"] == 3
    changed = json.loads(sealed[0].read_text())
    flipped = "B" if changed["content"][50] == "A" else "A"
    sealed[0].write_text(
        json.dumps({**changed, "content": changed["content"][:50] + flipped + changed["content"][51:]})
    )
    assert "seal it again" in refused(capsys, "mix", *sealed, "--key", mixer, "-o", tmp_path / "no")


def test_a_list_with_an_order_of_its_own_is_remarked(
    key: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "ordered.json"
    risk = {"name": "risk", "kind": "category", "values": [{"value": v} for v in ("low", "high")]}
    path.write_bytes(contract(risk, GRADE).canonical())
    told = data(capsys, "seal", path, "--to", f"{key}.pub", "-o", tmp_path / "sealed")
    assert told["remarks"][0].startswith("N.B. risk: the list has an order of its own")
