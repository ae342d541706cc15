"""Where a finished job's result is, in words: for every kind of job, never more than is so."""

from __future__ import annotations

from typing import Any

import pytest

from cloud_service.pages.finished import where_of
from shared.texts import text
from tests.support.clinic import SCHEMA
from tests.support.secret_members import secret_manifest

NAMES = ("h1", "h2", "h3", "h4")
TESTED = SCHEMA | {"attributes": [each | {"treat_as": "equality"} for each in SCHEMA["attributes"]]}
SECRET: dict[str, Any] = {"profile": "secret-gainratio", "criterion": "gain-ratio", "max_depth": 3}
TALLY: dict[str, Any] = {"max_depth": 1, "tally": {"kind": "histogram"}}


def secret(**changes: Any) -> dict[str, Any]:
    return SECRET | {"secret": {"compute_parties": list(NAMES[:3]), "grid": [], **changes}}


@pytest.mark.parametrize(
    ("changes", "is_agreed", "expected"),
    [
        ({}, True, "not_published"),
        ({"publish_tree": True}, True, "published"),
        ({"publish_tree": True}, False, "not_yet"),
        (TALLY, True, "tally"),
        (secret(), True, "not_published"),
        (secret(result="shared"), True, "shared"),
        (secret(result_parties=["h1", "h2"]), True, "some"),
        (secret(purpose="predict", model="cd" * 16, result_parties=["h4"]), True, "predicted"),
    ],
)
def test_it_is_where_the_agreement_says(changes: dict[str, Any], is_agreed: bool, expected: str) -> None:
    assert where_of(secret_manifest(TESTED, NAMES, **changes), is_agreed=is_agreed) == expected
    assert text(f"cloud.result.{expected}", hospitals="h1")
