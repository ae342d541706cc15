"""`privet cloud advise`, as a person and as a program call it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from privet.__main__ import run

SCHEMA = {
    "attributes": [
        {"name": "stage", "values": ["I", "II"], "treat_as": "ordered"},
        {"name": "temperature", "values": ["<= 37.5", "> 37.5"], "cuts": ["37.5"]},
    ],
    "class": {"name": "outcome", "labels": ["home", "ward"]},
}


@pytest.fixture
def schema(tmp_path: Path) -> str:
    """A file with a schema."""
    path = tmp_path / "schema.json"
    path.write_text(json.dumps(SCHEMA), encoding="utf-8")
    return str(path)


def test_modes_side_by_side(schema: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["cloud", "advise", "--schema", schema, "--hospitals", "5"]) == 0
    told = capsys.readouterr().out
    assert "Advised: mode ppsdt." in told
    assert told.count("At most:") == 3
    assert run(["cloud", "advise", "--schema", schema, "--hide-sums", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["best"] == "id3"
    modes = {mode["mode"]: mode for mode in document["modes"]}
    assert modes["ppsdt"]["rank"] == "unwished"
    assert modes["ppsdt"]["costs_at_most"]["rounds"] == 2
    assert {"party", "learned", "amount"} <= set(modes["ppsdt"]["learned_at_most"][0])


def test_what_is_refused(schema: str, tmp_path: Path) -> None:
    assert run(["cloud", "advise"]) == 3
    assert run(["cloud", "advise", "--schema", schema, "--hospitals", "2"]) == 3
    (tmp_path / "no.json").write_text("{}", encoding="utf-8")
    assert run(["cloud", "advise", "--schema", str(tmp_path / "no.json")]) == 3
    assert run(["cloud", "advise", "--schema", schema, "--key-bits", "1024"]) == 2
