"""What a policy declines though a study's document allows it, as who approves reads it."""

from __future__ import annotations

from typing import Any

import pytest

from hospital_agent.people.narrowing import narrower
from hospital_agent.policy import Policy
from shared.ids import AgentId
from tests.support.studies import document
from tests.support.world import Parties

PARTIES = Parties([AgentId("h1"), AgentId("h2"), AgentId("h3"), AgentId("h4")])
FRACTIONAL = {
    "attributes": [{"name": "ward", "values": ["a", "b", "missing"], "missing": "fractional"}],
    "class": {"name": "class", "labels": ["no", "yes"]},
}
SECRET: dict[str, Any] = {"profiles": ["secret-id3"], "compute_parties": ["h1", "h2", "h3"]}


def test_a_document_of_the_defaults_is_allowed_by_the_default_policy() -> None:
    assert narrower(Policy(), document(PARTIES, disclosure="counts", max_depth=12), "h1") == []


@pytest.mark.parametrize(
    ("policy", "change", "told"),
    [
        ({"min_hospitals": 4}, {}, "fewer than 4 hospitals (min_hospitals)"),
        ({"min_node": 11}, {}, "fewer than 11 records (min_node)"),
        ({"min_child": 6}, {}, "fewer than 6 records (min_child)"),
        ({"max_depth": 7}, {}, "deeper than 7"),
        ({}, {"max_depth": None}, "deeper than 12"),
        ({"max_shrinks": 0}, {}, "more than 0 times (max_shrinks)"),
        ({"disclosure": "class"}, {}, "show a class and its probability"),
        ({}, {"publish_tree": True}, "published"),
        ({"studies": ["another"]}, {}, "does not name this study"),
        ({"allow_evaluation": False}, {"tallies": ["evaluation"]}, "how good a tree is"),
        ({"allow_histogram": False}, {"tallies": ["histogram"]}, "how often values occur"),
        ({}, {"profiles": ["hardened", "paper"], "synthetic": True}, "profile paper"),
        ({}, SECRET, "jobs on secret shares"),
        ({"allow_secret_modes": True, "may_compute": False}, SECRET, "may not compute"),
        ({"allow_secret_modes": True, "compute_parties": ["h2"]}, SECRET, "does not name h3"),
        ({"require_noise": True}, {}, "without noise"),
        ({"allow_shared_result": False}, {"shared_result": True}, "keep their tree shared"),
        ({}, {"schema": FRACTIONAL}, "missing values are counted apart"),
    ],
)
def test_a_narrower_rule_is_told(policy: dict[str, Any], change: dict[str, Any], told: str) -> None:
    (sentence,) = narrower(Policy(**policy), document(PARTIES, **change), "h1")
    assert told in sentence
