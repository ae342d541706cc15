"""CDS Hooks asked by a client that others wrote (HealthChain's sandbox), over a real connection."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from hospital_agent.local_api import serving
from hospital_agent.settings import LocalSection
from tests.integration.test_cds_hooks import opened
from tests.support import cds_client_program, ward

PYTHON = cds_client_program.INTERPRETER
pytestmark = pytest.mark.skipif(not PYTHON.exists(), reason="no outside client of CDS Hooks: run make judges")


def told(tmp_path: Path) -> dict[str, Any]:
    # At the hook order-select this client leaves out the orders that the specification asks for.
    asked = {key: ward.question()[key] for key in ("hook", "context", "prefetch")}
    with serving(opened(tmp_path).client.app, LocalSection(port=0)) as url:  # type: ignore[arg-type]
        done = subprocess.run(
            [PYTHON, cds_client_program.PROGRAM],
            input=json.dumps({"base": url, "questions": {"bladder-patient-view": asked}}),
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
    assert done.returncode == 0, done.stderr
    assert "ERROR" not in done.stderr, done.stderr
    return dict(json.loads(done.stdout))


def test_another_houses_client_discovers_asks_and_reads_the_cards(tmp_path: Path) -> None:
    answer = told(tmp_path)
    assert answer["services"] == ["bladder-patient-view", "bladder-order-select"]
    found = answer["answers"]["bladder-patient-view"]
    (card,) = found["cards"]
    assert card["indicator"] == "info"
    assert card["source"]["label"]
    assert card["overrideReasons"]
    # Its model wants a member of a link that the specification leaves to the service (a ballot's, for version 3.0).
    assert {place.rpartition(".")[2] for place in found["refused"]} <= {"autoLaunchable"}
