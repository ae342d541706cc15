"""A FHIRPath out of a study's document holds no agent up, whatever it asks for."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, Final

import pytest

from hospital_agent.clinical import bounds
from hospital_agent.clinical.bounds import MAX_SECONDS, one_question
from hospital_agent.clinical.paths import path_compiler
from shared.errors import InputError

ASKED: Final = datetime(2026, 11, 30, tzinfo=UTC)
OBSERVATION: Final = {
    "resourceType": "Observation",
    "valueQuantity": {"value": Decimal("1e999999")},
    "note": [{"text": "a" * 40 + "!"}],
    "component": [{"code": {"coding": [{"code": str(n)} for n in range(6)]}} for _ in range(20)],
}
DOUBLED: Final = ".select($this & $this)"


def evaluated(path: str) -> list[Any]:
    return path_compiler("study x")(path)(OBSERVATION, ASKED)


@pytest.mark.parametrize(
    "path",
    [
        "(1).repeat($this + 1)",
        "(2).repeat($this * $this)",
        f"Observation.note.text{DOUBLED * 40}",
        f"Observation.component{'.select(%context.component)' * 20}",
        f"Observation.component.where({'%context.component.where(' * 6}code.empty(){').exists()' * 6})",
        "10.power(999999).toInteger()",
        "Observation.value.value.toInteger()",
        "now/**/()",
    ],
    ids=lambda path: path[:24],
)
def test_a_path_without_end_is_ended(path: str) -> None:
    began = time.thread_time()
    with pytest.raises(InputError, match="too much"):
        evaluated(path)
    assert time.thread_time() - began < 4 * MAX_SECONDS


@pytest.mark.parametrize("call", ["matches('(a+)+$')", "replaceMatches ('(a+)+$', '')"])
def test_a_regular_expression_is_refused_when_the_mapping_is_read(call: str) -> None:
    with pytest.raises(InputError, match="regular expression"):
        path_compiler("study x")(f"Observation.note.text.{call}")


@pytest.mark.parametrize("call", ["`matches`('(a+)+$')", "matches/**/('(a+)+$')"])
def test_a_hidden_one_is_refused_when_it_is_asked(call: str) -> None:
    began = time.thread_time()
    with pytest.raises(InputError):
        evaluated(f"Observation.note.text.{call}")
    assert time.thread_time() - began < 4 * MAX_SECONDS


def test_paths_together_have_the_time_of_one_question(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounds, "MAX_QUESTION_SECONDS", 0.05)
    path = path_compiler("study x")("Observation.component.code.coding.where(code = '3').code.first()")
    with one_question():
        assert path(OBSERVATION, ASKED) == ["3"]
        with pytest.raises(InputError, match="together for this patient"):
            all(path(OBSERVATION, ASKED) for _ in range(1000))
    assert path(OBSERVATION, ASKED) == ["3"]


def test_a_usual_path_is_answered() -> None:
    assert evaluated("Observation.component.code.coding.where(code = '3').code.first()") == ["3"]
