"""Schemathesis over a running server: requests drawn from the server's own description, and all of its checks."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

RULES_BEYOND_SCHEMA = "positive_data_acceptance"
"""The one check that is left out where a rule cannot be said in JSON Schema, such as a signature."""


@dataclass(frozen=True)
class Found:
    """What a run came to. `text`: everything that schemathesis had to say."""

    report: Mapping[str, Any]
    text: str

    @property
    def requests(self) -> int:
        """How many were sent."""
        return int(self.report["test_cases"]["generated"])

    @property
    def faults(self) -> list[str]:
        """Each kind of failure with its operations, and errors of the run itself."""
        failures = [f"{one['title']}: {', '.join(one['operations'])}" for one in self.report["failures"]]
        skipped = self.report["warnings"].get("unresolvable_reference", [])
        return (
            failures
            + [str(error) for error in self.report["errors"]]
            + [f"not read: {one}" for one in skipped]
        )


def check(
    folder: Path,
    base_url: str,
    *,
    parameters: Mapping[str, str],
    beyond_schema: Sequence[str] = (),
    token: str | None = None,
    phases: str = "fuzzing",
    examples: int = 2,
    seed: int = 1,
) -> Found:
    """Run it. `parameters`: values of path parameters, so that requests reach what is there.

    Args: beyond_schema: paths some of whose rules JSON Schema cannot say. examples: requests an operation and phase.
    """
    folder.mkdir(exist_ok=True)
    lines = ["[parameters]", *(f'"{name}" = "{value}"' for name, value in parameters.items())]
    for path in beyond_schema:
        lines += [f'[[operations]]\ninclude-path = "{path}"', f"checks.{RULES_BEYOND_SCHEMA}.enabled = false"]
    (folder / "schemathesis.toml").write_text("\n".join(lines) + "\n")
    report = folder / "report.json"
    program = [sys.executable, "-m", "schemathesis.cli", "--config-file", "schemathesis.toml", "run"]
    options = ["--phases", phases, "-n", str(examples), "--seed", str(seed), "--no-shrink"]
    outputs = ["--continue-on-failure", "--report", "json", "--report-json-path", str(report)]
    bearer = [] if token is None else ["-H", f"Authorization: Bearer {token}"]
    ran = subprocess.run(
        [*program, f"{base_url}/openapi.json", *options, *outputs, *bearer],
        cwd=folder,
        env={**os.environ, "NO_PROXY": "127.0.0.1", "COLUMNS": "200"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert report.exists(), ran.stdout + ran.stderr
    return Found(json.loads(report.read_text()), ran.stdout)
