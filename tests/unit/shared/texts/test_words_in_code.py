"""Modules whose sentences pages show have none of their own: what they say stands in the one file of sentences.

What a check raises is not looked at: its words stand beside the check (docs/errors is made of them).
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[4]
TELLING = (
    *(
        f"shared/protocol/{name}.py"
        for name in (
            "plain_words",
            "growing_words",
            "contract_words",
            "derived_words",
            "fhir_words",
            "noise_words",
            "key_mode_words",
            "tallies",
            "expiry",
            "waiting",
            "phases",
            "disclosure",
            "disclosure_words",
            "disclosure_facts",
            "report_facts",
            "model_card",
            "audit_check",
            "audit_cross",
            "figures",
        )
    ),
    *(f"shared/advice/{name}.py" for name in ("words", "advising", "fitting")),
    *(
        f"shared/evaluation/{name}.py"
        for name in (
            "report_words",
            "report_sentences",
            "report_content",
            "report_tables",
            "confusion",
            "measures",
            "floors",
            "ranking",
            "probabilities",
            "calibration",
            "comparing",
        )
    ),
    "shared/tree/answering.py",
    "shared/tree/prediction.py",
    *(
        f"hospital_agent/people/{name}.py"
        for name in ("narrowing", "standings", "offers", "ledgers", "budgets")
    ),
    *(
        f"hospital_agent/records/profile/{name}.py"
        for name in (
            "column_rules",
            "table_rules",
            "leaks",
            "finding",
            "shown",
            "page",
        )
    ),
    *(
        f"hospital_agent/records/{name}.py"
        for name in ("remarks", "reading", "decimal_marks", "contract_check")
    ),
    "hospital_agent/daemon/approvals.py",
    "hospital_agent/computing/standing.py",
    "cloud_service/service/dossiers.py",
    *sorted(str(path.relative_to(ROOT)) for path in (ROOT / "shared" / "web").glob("*.py")),
    *sorted(str(path.relative_to(ROOT)) for path in (ROOT / "cloud_service" / "pages").glob("*.py")),
    *sorted(str(path.relative_to(ROOT)) for path in (ROOT / "hospital_agent" / "pages").glob("*.py")),
)
WORDS = re.compile(r"[A-Za-z]{2,}")
MARKUP = re.compile(r"<[^>]*>|\{[^}]*\}|[a-z-]+\s*:\s*[^;{}]+;?")
"""Of templates and style sheets in a module."""
OTHER = re.compile(r"[\\|;]|^/|^privet |^body ")
"""Patterns, media types, addresses, commands and style sheets are in no language."""


def sentences_in(source: str) -> Iterator[str]:
    """Strings of four words or more that are no docstring and not raised."""
    tree = ast.parse(source)
    skipped = {id(part) for node in ast.walk(tree) for part in _not_told(node)}
    for node in ast.walk(tree):
        if id(node) in skipped:
            continue
        if isinstance(node, ast.JoinedStr):
            parts = [str(part.value) for part in node.values if isinstance(part, ast.Constant)]
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            parts = [node.value]
        else:
            continue
        told = MARKUP.sub(" ", " ".join(parts))
        if len(WORDS.findall(told)) >= 4 and " " in told.strip() and not OTHER.search(" ".join(parts)):
            yield told.strip()


def _not_told(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.Raise):
        yield from ast.walk(node)
    elif isinstance(node, ast.JoinedStr):
        yield from (part for part in ast.walk(node) if part is not node)
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        yield node.value  # a docstring


@pytest.mark.parametrize("path", TELLING)
def test_a_module_that_tells_has_no_sentence_of_its_own(path: str) -> None:
    assert list(sentences_in((ROOT / path).read_text("utf-8"))) == []


def test_this_test_can_fail() -> None:
    planted = (
        '"""A docstring."""\nraise ValueError("this is not looked at")\nx = f"here is a sentence of {n}"'
    )
    assert list(sentences_in(planted)) == ["here is a sentence of"]
