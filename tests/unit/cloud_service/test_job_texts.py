"""Lines of `privet cloud job show`."""

from __future__ import annotations

from typing import Any

import pytest

from cloud_service.job_texts import standing

_COMPUTES: dict[str, Any] = {
    "part": "compute",
    "phase": "split",
    "layer": 2,
    "layers": 5,
    "rounds": 301,
    "sent_bytes": 8_183_776,
    "remaining_seconds": 8,
    "waiting_for": [],
    "channel": "direct",
}
_SHARES = {**_COMPUTES, "part": "contributor", "layer": 0, "rounds": 0, "sent_bytes": 0, "channel": "relayed"}


@pytest.mark.parametrize(
    ("progress", "text"),
    [
        (_COMPUTES, "layer 2 of 5: split; 301 rounds, 8.2 MB sent directly, about 8 s left"),
        (
            {
                **_COMPUTES,
                "layers": 0,
                "channel": "relayed",
                "remaining_seconds": None,
                "waiting_for": ["h2"],
            },
            "split; 301 rounds, 8.2 MB sent through the cloud, waits for h2",
        ),
        ({**_COMPUTES, "phase": "done", "channel": None}, "done; 301 rounds, 8.2 MB sent"),
        ({**_SHARES, "phase": "sharing records"}, "is sharing its records"),
        (
            {**_SHARES, "phase": "giving out the result", "waiting_for": ["h2"]},
            "has shared its records, waits for h2",
        ),
        ({**_SHARES, "phase": "done"}, "done; has shared its records"),
    ],
)
def test_where_a_member_stands(progress: dict[str, Any], text: str) -> None:
    assert standing(progress) == text
