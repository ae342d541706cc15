"""`make invariants` must not be able to hold by mistake."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.invariants.__main__ import INVARIANTS, ROOT, Invariant, examine, marked

GOOD = "def test_good():\n    pass\n"
BAD = "def test_bad():\n    assert False\n"
SKIPPED = "import pytest\n\n@pytest.mark.skip\ndef test_skipped():\n    pass\n"


@pytest.mark.long
@pytest.mark.parametrize(
    ("text", "holds"),
    [(GOOD, True), (BAD, False), (GOOD + SKIPPED, False), ("", False), ("syntax error", False)],
)
def test_a_check_that_fails_is_skipped_or_missing_breaks_the_invariant(
    tmp_path: Path, text: str, holds: bool
) -> None:
    path = tmp_path / "test_planted.py"
    path.write_text(text)
    assert examine(Invariant("planted", (str(path),)), tmp_path, workers=0).holds is holds


def test_there_are_ten_and_every_file_is_there() -> None:
    assert len(INVARIANTS) == 10
    for invariant in INVARIANTS:
        for check in invariant.checks:
            assert (ROOT / check.split(" ")[0]).is_file()


@pytest.mark.long
@pytest.mark.parametrize("check", [check for invariant in INVARIANTS for check in invariant.checks])
def test_every_check_names_tests_that_are_there(check: str) -> None:
    path, _, chosen = check.partition(" -k ")
    command = [sys.executable, "-m", "pytest", "-q", "--collect-only", *marked(path), path]
    command += ["-k", chosen] if chosen else []
    assert subprocess.run(command, cwd=ROOT, capture_output=True, check=False).returncode == 0
