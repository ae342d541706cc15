"""What a person reads of a job in one line."""

from __future__ import annotations

from typing import Any

import pytest

from cloud_service.job_texts import line_of


@pytest.mark.parametrize(
    ("failure", "declined", "end"),
    [
        (None, {}, "FAILED"),
        ("deadline", {}, "FAILED (deadline)"),
        ("deadline", {"h1": "policy", "h2": "policy"}, "FAILED (deadline, declined by h1, h2)"),
    ],
)
def test_a_failed_job_names_who_declined_it(failure: str | None, declined: dict[str, str], end: str) -> None:
    document: dict[str, Any] = {
        "job": "ab",
        "study": "s",
        "profile": "hardened",
        "state": "FAILED",
        "failure": failure,
        "declined": declined,
        "paused": False,
        "waiting_for": [],
    }
    assert line_of(document) == f"ab  s  hardened  {end}"
