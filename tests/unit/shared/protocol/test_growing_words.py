"""What a steward reads of a job's rules of growth: each shows, and that nobody learns more by it."""

from __future__ import annotations

from typing import Any

import pytest

from shared.ids import AgentId
from shared.protocol.disclosure import entries_of, terms_of
from shared.protocol.growing_words import growing_words
from shared.protocol.plain_words import words_of
from shared.protocol.report_facts import rule_words
from shared.texts import text
from tests.support.clinic import SCHEMA
from tests.support.studies import document
from tests.support.world import Parties

NOTHING_MORE = text("growing.nothing_more")
NOTHING_MORE_SHARED = text("growing.nothing_more_shared")
PARTIES = Parties([AgentId("h1"), AgentId("h2"), AgentId("h3")])
LABELS = SCHEMA["class"]["labels"]
RULES: list[tuple[dict[str, Any], str]] = [
    ({"min_gain": "0.01"}, "at least 0.01 bits"),
    ({"class_weights": [1, *[7] * (len(LABELS) - 1)]}, f"{LABELS[1]} 7"),
    ({"pruning": {"method": "majority", "share": "0.9"}}, "most frequent class has 0.9 of their records"),
    ({"pruning": {"method": "collapse"}}, "save no training error"),
    ({"pruning": {"method": "pessimistic"}}, "confidence 0.25, as C4.5 reckons"),
    (
        {"pruning": {"method": "pessimistic", "confidence": "0.1", "bound": "binomial"}},
        "0.1, by the exact binomial",
    ),
    ({"pruning": {"method": "cost-complexity", "alpha": "0.02"}}, "training errors, alpha 0.02"),
    ({"pruning": {"method": "cost-complexity", "alpha": "0.02", "cost": "gini"}}, "Gini impurity"),
]


@pytest.mark.parametrize(("rule", "told"), RULES)
def test_a_rule_shows(rule: dict[str, Any], told: str) -> None:
    words = growing_words(PARTIES.manifest(SCHEMA, **rule))
    assert told in words[0]
    assert words[-1] == NOTHING_MORE


@pytest.mark.parametrize(("rule", "told"), RULES)
def test_the_ledger_is_the_same_with_and_without(rule: dict[str, Any], told: str) -> None:
    plain, ruled = (tuple(entries_of(terms_of(PARTIES.manifest(SCHEMA, **more)))) for more in ({}, rule))
    assert plain == ruled, told


SECRET: dict[str, Any] = {
    "profile": "secret-id3",
    "secret": {"compute_parties": ["h1", "h2", "h3"]},
    "max_shrinks": 0,
    "skip_known": False,
    "disclosure": "class",
}
SECRET_RULES: list[tuple[dict[str, Any], str]] = [
    *RULES[:2],
    (
        {"pruning": {"method": "majority", "share": "0.9"}},
        "Growth ends where the most frequent class has 0.9",
    ),
    ({"pruning": {"method": "collapse"}}, "whoever learns the tree has seen those leaves"),
]


@pytest.mark.parametrize(("rule", "told"), SECRET_RULES)
def test_a_rule_of_a_secret_job_shows_and_changes_no_ledger(rule: dict[str, Any], told: str) -> None:
    manifests = [PARTIES.manifest(SCHEMA, **SECRET, **more) for more in ({}, rule)]
    words = growing_words(manifests[1])
    assert told in words[0]
    assert words[-1] == NOTHING_MORE_SHARED
    assert growing_words(manifests[0]) == []
    plain, ruled = (tuple(entries_of(terms_of(manifest))) for manifest in manifests)
    assert plain == ruled


def test_without_rules_there_is_nothing_to_say() -> None:
    assert growing_words(PARTIES.manifest(SCHEMA)) == []


def test_a_study_says_it_where_jobs_open_sums() -> None:
    assert NOTHING_MORE in " ".join(words_of(document(PARTIES)))
    shared = " ".join(words_of(document(PARTIES, profiles=["secret-id3"])))
    assert NOTHING_MORE not in shared
    assert NOTHING_MORE_SHARED in shared
    assert "(C4.5)" in " ".join(words_of(document(PARTIES, criteria=["c45"])))


ORDERED = SCHEMA | {"attributes": [{"name": "age", "values": ["<= 40", "> 40"], "cuts": ["40"]}]}


def test_thresholds_tell_what_is_opened_for_them() -> None:
    plain, ruled = (PARTIES.manifest(ORDERED, **rule) for rule in ({}, {"thresholds": "gain"}))
    words = growing_words(ruled)
    assert "(age) are split in two" in words[0]
    assert "every hospital opens at each node how many records of each class" in words[1]
    assert NOTHING_MORE not in words
    assert "penalty" in growing_words(PARTIES.manifest(ORDERED, thresholds="gain-mdl"))[0]
    before, after = (tuple(entries_of(terms_of(manifest))) for manifest in (plain, ruled))
    assert before != after
    both = growing_words(PARTIES.manifest(ORDERED, thresholds="gain", min_gain="0.01"))
    assert both[1:2] == [NOTHING_MORE]
    assert rule_words(ruled)["thresholds"].startswith("of greatest information gain")
    assert "thresholds" not in rule_words(plain)
