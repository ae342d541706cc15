"""Resources held against FHIR R4 (4.0.1), if `make judges` has brought the judges."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import pytest

INTERPRETER: Final = Path(__file__).parents[2] / ".venv" / "fhir-r4" / "bin" / "python"
_PROGRAM: Final = Path(__file__).with_name("fhir_judge.py")
needs_judges = pytest.mark.skipif(
    not INTERPRETER.exists(), reason="no judges of FHIR R4 4.0.1 here; fetch them with: make judges"
)


def faults_of(resources: Mapping[str, Mapping[str, Any]]) -> dict[str, list[str]]:
    """What two judges do not accept, by the resources' names; those that both accept are left out."""
    done = subprocess.run(
        [INTERPRETER, _PROGRAM],
        input="".join(json.dumps(one) + "\n" for one in resources.values()),
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    told = [json.loads(line) for line in done.stdout.splitlines()]
    return {name: found for name, found in zip(resources, told, strict=True) if found}
