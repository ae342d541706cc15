"""What a steward reads: each rule of a document shows, and what is dangerous is said."""

from __future__ import annotations

from typing import Any

import pytest

from shared.ids import AgentId
from shared.protocol.plain_words import words_of
from shared.wire.noise import NoiseSpec
from tests.support.studies import document
from tests.support.world import Parties

PARTIES = Parties([AgentId("h1"), AgentId("h2"), AgentId("h3"), AgentId("h4")])


def text(own: str = "h1", **changes: Any) -> str:
    return "\n".join(words_of(document(PARTIES, **changes), own))


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"question": "who is ill?"}, "The question: who is ill?"),
        ({"purpose": "bedside rules"}, "Purpose: bedside rules."),
        ({"legal_basis": "consent forms of 2026"}, "Legal basis: consent forms of 2026."),
        ({}, "Legal basis: not stated."),
        ({"synthetic": True}, "decline it if yours are real"),
        ({"members": ["h1", "h2", "h3"]}, "h1, h2 and h3"),
        ({"min_hospitals": 4}, "at least 4 of them"),
        ({"start": "approved"}, "No job begins before"),
        ({}, "No record leaves"),
        ({}, "small counts included"),
        ({"profiles": ["secret-id3"], "criteria": ["information-gain"]}, "put every record together"),
        ({"profiles": ["secret-gainratio"], "criteria": ["gain-ratio"]}, "is a value of some record"),
        ({"profiles": ["secret-gainratio"], "result_parties": ["h2"]}, "h2 learn the tree"),
        ({"profiles": ["secret-gainratio"], "shared_result": True}, "nobody where a job keeps it shared"),
        ({"profiles": ["secret-id3"]}, "The compute parties are not fixed"),
        ({"profiles": ["secret-id3"], "compute_parties": ["h1", "h2", "h3"]}, "This hospital is one of them"),
        ({"publish_tree": True}, "shows it to people with access"),
        ({"disclosure": "class"}, "show only a class"),
        ({"key_mode": "threshold"}, "no hospital can open a sum alone"),
        ({"max_shrinks": 2}, "silent hospitals, at most so many times: 2."),
        ({}, "Noise: none"),
        ({"noise": NoiseSpec(sigma_squared=400)}, "standard deviation 20"),
        ({"noise": NoiseSpec(sigma_squared=400)}, "epsilon"),
        ({"min_node": 17}, "from 17 records on"),
        ({"min_child": 13}, "at least 13"),
        ({"max_depth": None}, "any depth"),
        ({"max_jobs": 3}, "at most 3 jobs"),
        ({"tallies": ["evaluation"]}, "how good a tree is"),
        ({"tallies": ["evaluation", "histogram"]}, "from which cut points can be chosen"),
        ({}, "Cannot be undone"),
        ({}, "policy file"),
    ],
)
def test_a_rule_shows(change: dict[str, Any], told: str) -> None:
    assert told in text(**change)


def test_every_attribute_and_class_is_named() -> None:
    names = [f"sign {number}" for number in range(40)]
    schema = {
        "attributes": [{"name": name, "values": ["no", "yes"]} for name in names],
        "class": {"name": "ill", "labels": [f"kind {number}" for number in range(15)]},
    }
    told = text(schema=schema)
    assert f"{', '.join(names[:-1])} and sign 39; and the class ill (kind 0, " in told
    assert "kind 13 and kind 14)" in told


def test_only_a_compute_party_is_told_that_it_computes() -> None:
    secret = {"profiles": ["secret-id3"], "compute_parties": ["h1", "h2", "h3"]}
    assert "This hospital is one of them" not in text("h4", **secret)


def test_keys_are_explained_where_there_are_some() -> None:
    assert "The key" not in text(profiles=["secret-id3"])
    assert "begin anew without silent hospitals" in text(max_shrinks=1)
    assert "begin anew" not in text(max_shrinks=0)
