"""What a member may tell of where it stands: nothing that a terminal or a log would take for more than a word."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from shared.wire.secret import Progress

REPORT = {"agent": "h1", "job": "ab" * 16, "time": 1, "part": "compute", "phase": "sort", "channel": "direct"}


@pytest.mark.parametrize(
    "changes",
    [
        {"channel": "\x1b[2Jdirect"},
        {"channel": "pigeon"},
        {"phase": "sort\n"},
        {"phase": "\x1b[2J"},
        {"phase": "s" * 41},
        {"waiting_for": ["H 2"]},
        {"layer": -1},
        {"waiting_seconds": 2**53},
    ],
)
def test_a_report_is_made_of_known_words_and_numbers(changes: dict[str, object]) -> None:
    Progress.model_validate(REPORT)
    with pytest.raises(ValidationError):
        Progress.model_validate(REPORT | changes)
