"""The table of openings in `docs/threat-model.md` against the code: each row exists, and nothing else opens."""

from __future__ import annotations

import ast
import importlib
import re
from pathlib import Path

HOUSE = Path(__file__).parents[2]
ROW = re.compile(r"^\| [^|]+ \| [^|]+ \| `([a-z_.A-Z]+)` \| [^|]+ \|$", re.MULTILINE)
OPENERS = {
    "open_aggregate": {"shared.protocol.profiles"},
    "open_partials": {"shared.protocol.opening"},
    "open_matrix": {"shared.protocol.profiles"},
    "unwrap": {"shared.protocol.sums"},
    "unwrap_nonce": {"shared.protocol.sums"},
    "_open_places": {"shared.mpc.permutation"},
    "swap_halves": {"shared.mpc.permutation", "shared.mpc.walking"},
    "_masked": {"shared.mpc.masked_bits"},
    "open_share": {"shared.secure_tree.decisions"},
    "open_binary": {"shared.secure_tree.decisions"},
    "open_choices": {"shared.secure_tree.secret_id3"},
    "open_leaf_classes": {"shared.secure_tree.secret_id3_labels"},
    "open_emptiness": {"shared.secure_tree.secret_id3"},
    "combine_sealed": {"hospital_agent.computing.giving"},
}
"""What makes a hidden value readable, and the modules that may call it."""


def rows() -> list[str]:
    text = (HOUSE / "docs" / "threat-model.md").read_text()
    section = text[text.index("## What is opened") : text.index("## Who learns what")]
    return ROW.findall(section)


def calls() -> dict[str, set[str]]:
    found: dict[str, set[str]] = {name: set() for name in OPENERS}
    for package in ("shared", "machine", "cloud_service", "hospital_agent", "trusted_authority", "privet"):
        for path in (HOUSE / package).rglob("*.py"):
            module = ".".join(path.relative_to(HOUSE).with_suffix("").parts)
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.Call):
                    name = getattr(node.func, "attr", getattr(node.func, "id", ""))
                    found.get(name, set()).add(module)
    return found


def test_every_row_names_a_function_that_is_there() -> None:
    assert len(rows()) >= 9
    for name in rows():
        module, _, attribute = name.rpartition(".")
        assert callable(getattr(importlib.import_module(module), attribute)), name


def test_nothing_is_opened_elsewhere() -> None:
    assert calls() == OPENERS
    named = {name.rpartition(".")[2] for name in rows()}
    assert {"open_aggregate", "open_matrix", "check_contribution", "lay_route"} <= named
