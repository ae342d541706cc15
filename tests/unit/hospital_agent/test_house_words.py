"""Whatever a hospital's page can have to say, there are words for."""

from __future__ import annotations

from decimal import Decimal
from typing import Any, get_args

import pytest

from hospital_agent.journal import JobStatus
from hospital_agent.journal.studies import StudyState
from hospital_agent.pages.policy_words import rules_in_words
from hospital_agent.policy import Policy
from hospital_agent.records.profile.finding import Weight
from shared.export.files import FILES
from shared.texts import texts
from shared.wire.envelope import MessageType
from shared.wire.study import ReasonCode

PROFILES = ["hardened", "paper", "secret-id3", "secret-gainratio"]
NARROW = Policy(
    approval="ask",
    max_depth=3,
    max_shrinks=0,
    disclosure="class",
    studies=["one", "two"],
    compute_parties=["h1", "h2"],
    may_compute=False,
    max_epsilon=Decimal(0),
    budget_for="all",
    require_noise=True,
)
OPEN = Policy(
    approval="automatic",
    max_depth=0,
    disclosure="probability",
    allow_publish_tree=True,
    allow_paper_profile=True,
    allow_secret_modes=True,
    allow_shared_result=False,
    allow_evaluation=False,
    allow_histogram=False,
    allow_publish_quality=False,
    allow_fractional=True,
)


@pytest.mark.parametrize(
    ("table", "names"),
    [
        ("house.job_status", list(JobStatus)),
        ("house.answer", [*StudyState, "by_rules"]),
        ("house.code", get_args(ReasonCode)),
        ("house.weight", list(Weight)),
        ("house.profile", PROFILES),
        ("house.message.contribution", PROFILES),
        ("house.form", [*FILES, "signed"]),
        ("house.home.approval", ["study", "ask", "automatic"]),
        ("house.model.disclosure", ["class", "probability", "counts"]),
    ],
)
def test_every_word_of_a_kind_has_a_text(table: str, names: Any) -> None:
    assert [name for name in names if f"{table}.{name}" not in texts()] == []


def test_every_message_has_a_name() -> None:
    assert [kind for kind in MessageType if f"house.message.{kind}.name" not in texts()] == []


@pytest.mark.parametrize("policy", [Policy(), NARROW, OPEN], ids=["default", "narrow", "open"])
def test_every_rule_says_what_it_means_here(policy: Policy) -> None:
    rules = rules_in_words(policy)
    assert [rule.name for rule in rules] == list(Policy.model_fields)
    assert all(rule.words.endswith(".") and "{" not in rule.words for rule in rules)
    assert [rule.name for rule in rules if not rule.is_default] == sorted(
        policy.model_fields_set, key=list(Policy.model_fields).index
    )
