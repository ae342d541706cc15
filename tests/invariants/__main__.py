"""Run the ten invariants one after the other and say of each whether it holds. Exit code 0: all hold; 1: one does not.

An invariant is held by several checks, and by controls: checks that plant a violation, or look where the secret may be,
and see that it is found. All of them must pass, and none may be skipped. What is marked long elsewhere runs with
`make test-long`.
"""

from __future__ import annotations

import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, slots=True)
class Invariant:
    """One sentence, and the checks that hold it: paths of tests, with `-k` after a blank where only some count."""

    sentence: str
    checks: tuple[str, ...]


INVARIANTS: Final = (
    Invariant(
        "no count on the wire, at the cloud, in logs or in its memory",
        (
            "tests/integration/test_leak_scan.py",
            "tests/integration/test_secret_leaks.py",
            "tests/unit/test_leak_scanner.py",
        ),
    ),
    Invariant(
        "the cloud never holds p, q or G",
        ("tests/integration/test_leak_scan.py -k nothing_secret or holds_the_key or cloud_holds",),
    ),
    Invariant(
        "no ciphertext comes twice", ("tests/invariants/test_single_contribution.py -k twice or obfuscator",)
    ),
    Invariant(
        "what was sent before is answered alike or refused, and changes nothing",
        (
            "tests/integration/test_cloud_refusals.py -k repeat or late or chain",
            "tests/integration/test_hostile_input.py -k stale or unauthentic",
            "tests/protocol/test_simulation.py -k schedule",
        ),
    ),
    Invariant(
        "a single contribution is uniform",
        ("tests/invariants/test_single_contribution.py -k uniform or masks",),
    ),
    Invariant(
        "the sum is over the roster, each once, or nobody decides",
        (
            "tests/protocol/test_active_cloud.py",
            "tests/protocol/test_model_check.py -k dishonest or sums_are_opened or outlive",
        ),
    ),
    Invariant(
        "the same tree everywhere, the one of the pooled records",
        (
            "tests/protocol/test_simulation.py -k pooled",
            "tests/protocol/test_model_check.py -k lies or compares",
            "tests/integration/test_secret_jobs.py -k tree",
        ),
    ),
    Invariant(
        "one sum a round",
        (
            "tests/integration/test_cloud_jobs.py -k two_workers",
            "tests/protocol/test_model_check.py -k lost or late_sums",
        ),
    ),
    Invariant(
        "what is sent depends on the records only where the protocol says so",
        (
            "tests/invariants/test_single_contribution.py -k sizes or open_nodes",
            "tests/unit/shared/secure_tree/test_secret_transcripts.py",
        ),
    ),
    Invariant(
        "a refusal comes before any work with big numbers",
        ("tests/integration/test_hostile_input.py -k big_number or not_parsed or before_the_private_key",),
    ),
)


@dataclass(frozen=True, slots=True)
class Outcome:
    """How many checks passed, and which did not (failed, with an error, or skipped)."""

    passed: int
    others: tuple[str, ...]

    @property
    def holds(self) -> bool:
        """Whether something was checked and all of it passed."""
        return self.passed > 0 and not self.others


def marked(path: str) -> list[str]:
    """Of tests that are there for invariants all count, of others those of the default run."""
    return [] if path.startswith("tests/invariants/") else ["-m", "not long"]


def examine(invariant: Invariant, folder: Path, workers: int = 2) -> Outcome:
    """Run every check of an invariant."""
    passed, others = 0, []
    for number, check in enumerate(invariant.checks):
        path, _, chosen = check.partition(" -k ")
        report = folder / f"{number}.xml"
        command = [sys.executable, "-m", "pytest", "-q", "-n", str(workers), "--dist", "loadgroup", path]
        command += marked(path)
        command += ["-k", chosen] if chosen else []
        subprocess.run([*command, f"--junit-xml={report}"], cwd=ROOT, capture_output=True, check=False)
        cases = list(ElementTree.parse(report).iter("testcase")) if report.exists() else []
        bad = [f"{case.get('classname')}.{case.get('name')}" for case in cases if len(case)]
        passed += len(cases) - len(bad)
        others += bad or ([] if cases else [f"{check}: no check was found"])
    return Outcome(passed, tuple(others))


def main() -> int:
    """Ten lines; every check that did not pass is named."""
    broken = 0
    for number, invariant in enumerate(INVARIANTS, start=1):
        began = time.monotonic()
        with TemporaryDirectory() as folder:
            outcome = examine(invariant, Path(folder))
        word = "holds" if outcome.holds else "BROKEN"
        seconds = time.monotonic() - began
        sys.stdout.write(
            f"{number:2} {word:6} {outcome.passed:4} checks {seconds:5.0f} s  {invariant.sentence}\n"
        )
        for name in outcome.others:
            sys.stdout.write(f"          did not pass: {name}\n")
        sys.stdout.flush()
        broken += not outcome.holds
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
