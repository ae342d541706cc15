"""What a person reads of a job in one line."""

from __future__ import annotations

from typing import Any

import pytest

from cloud_service.job_texts import line_of, paragraph_of


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


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("tree", ["privet agent models show DIR abababab", "--study s --evaluate abababab"]),
        ("counts", ["privet agent evaluation DIR abababab"]),
        ("classes", ["privet agent classes DIR abababab"]),
        ("shared", ["nobody holds the tree"]),
    ],
)
def test_a_job_that_is_done_says_who_took_part_what_came_out_and_what_is_next(
    kind: str, said: list[str]
) -> None:
    told = paragraph_of(done(kind, {"h1": "cd" * 32, "h2": "cd" * 32}))
    assert "took part: h1, h2; 4 rounds; 12 seconds" in told
    assert f"all 2 hospitals hold the same result, SHA-256 {'cd' * 32}" in told
    assert all(words in told for words in said)
    assert ("--evaluate" in told) == (kind == "tree")


def test_results_that_differ_are_not_recommended() -> None:
    assert "use none of them" in paragraph_of(done("tree", {"h1": "cd" * 32, "h2": "ef" * 32}))
    assert "have not told yet what they hold: h2" in paragraph_of(done("tree", {"h1": "cd" * 32}))


def done(kind: str, attested: dict[str, str]) -> dict[str, Any]:
    """A finished job of two hospitals."""
    hashes = set(attested.values())
    return {
        "job": "ab" * 16,
        "study": "s",
        "profile": "hardened",
        "state": "DONE",
        "failure": None,
        "declined": {},
        "paused": False,
        "waiting_for": [],
        "waiting": None,
        "growing": [],
        "noise": None,
        "counts": None,
        "progress": {},
        "members": ["h1", "h2"],
        "rounds": 4,
        "created": 100,
        "finished": 112,
        "result": {
            "sha256": hashes.pop() if len(hashes) == 1 and len(attested) == 2 else None,
            "attested": attested,
            "missing": [name for name in ("h1", "h2") if name not in attested],
            "published": False,
            "kind": kind,
        },
    }
