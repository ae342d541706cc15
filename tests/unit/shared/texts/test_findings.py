"""Every finding of a profile has its two sentences, by its code or the name it gives, and none is left over."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import hospital_agent.records.profile
from shared.texts import texts

ROOM = Path(hospital_agent.records.profile.__file__).parent
SPELLINGS = {f"spelling-{rule}{once}" for rule in ("number", "folded") for once in ("", "-once")}
"""Put together of parts."""


def names_asked_for() -> Iterator[str]:
    """What the rules of the profile call their findings."""
    for path in ROOM.glob("*.py"):
        for call in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "finding":
                keys = [keyword.value for keyword in call.keywords if keyword.arg == "key"]
                # `key="other" if … else None`: the code itself is asked for as well.
                for part in (call.args[0], *(part for key in keys for part in ast.walk(key))):
                    if isinstance(part, ast.Constant) and isinstance(part.value, str):
                        yield part.value


def test_every_finding_has_its_two_sentences_and_none_is_left_over() -> None:
    known = {name.split(".")[1] for name in texts() if name.startswith("finding.")} - {"option"}
    asked = {name for name in names_asked_for() if not name.startswith(("spelling", "-once"))} | SPELLINGS
    assert len(asked) > 25
    assert known == asked
    assert [
        key for key in known if not {f"finding.{key}.says", f"finding.{key}.remedy"} <= set(texts())
    ] == []
