"""Which key mode a job gets, what is refused, and what a person is told of it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from cloud_service.service.key_modes import KeyRules, key_rules
from cloud_service.service.planning import JobPlan
from shared.errors import InputError, PeerError
from shared.ids import AgentId
from shared.protocol.key_mode_words import key_mode_words
from shared.protocol.key_shares import threshold_key
from shared.wire.enrolment import Federation
from shared.wire.manifest import Manifest
from tests.support.cloud_server import federation_of
from tests.support.threshold_keys import dealt
from tests.support.toy_keys import fixed_key
from tests.support.world import Parties

NAMES = [AgentId("h1"), AgentId("h2"), AgentId("h3"), AgentId("h4")]
PLAN = JobPlan()
SCHEMA = {
    "attributes": [{"name": "a", "values": ["0", "1"]}],
    "class": {"name": "class", "labels": ["no", "yes"]},
}


@pytest.fixture(scope="module")
def whole() -> Federation:
    return federation_of(Parties(NAMES, fixed_key(2048)))


@pytest.fixture(scope="module")
def in_shares() -> Federation:
    return federation_of(Parties(NAMES, fixed_key(2048), dealt=dealt(2048, 4, 3)))


def test_the_key_of_the_federation_decides(whole: Federation, in_shares: Federation) -> None:
    assert key_rules(whole, PLAN) == KeyRules()
    assert key_rules(whole, replace(PLAN, key_mode="shared")) == KeyRules()
    asked = key_rules(in_shares, replace(PLAN, key_mode="threshold"))
    assert asked == key_rules(in_shares, PLAN) == KeyRules("threshold", 3, frozenset(NAMES))
    assert asked.least == 3


def test_what_the_key_cannot_do_is_refused(whole: Federation, in_shares: Federation) -> None:
    for federation, changes, words in (
        (whole, {"key_mode": "threshold"}, "in key mode shared, not threshold"),
        (in_shares, {"key_mode": "shared"}, "in key mode threshold, not shared"),
        (in_shares, {"profile": "paper"}, "every hospital holds whole"),
        (in_shares, {"mode": "id3", "key_mode": "threshold"}, "uses no Paillier key"),
    ):
        with pytest.raises(InputError, match=words):
            key_rules(federation, replace(PLAN, **changes))  # type: ignore[arg-type]


def test_jobs_on_secret_shares_do_not_mind(in_shares: Federation) -> None:
    assert key_rules(in_shares, replace(PLAN, mode="id3")) == KeyRules()


def test_a_document_with_a_changed_holder_or_value_is_inconsistent(in_shares: Federation) -> None:
    spec = in_shares.threshold
    assert spec is not None
    for holders in (spec.holders[::-1], spec.holders[:3] + spec.holders[2:3], spec.holders[1:]):
        changed = spec.model_copy(update={"holders": holders})
        with pytest.raises(PeerError, match="holders of the key"):
            threshold_key(in_shares.model_copy(update={"threshold": changed}))
    few = spec.model_copy(update={"threshold": 2})
    with pytest.raises(PeerError, match="the threshold of 4 holders is 3 to 4, not 2"):
        threshold_key(in_shares.model_copy(update={"threshold": few}))


def manifest(parties: Parties) -> Manifest:
    return parties.manifest(SCHEMA)


def test_a_person_is_told_what_it_means_and_costs() -> None:
    assert key_mode_words(manifest(Parties(NAMES)), 2048, 0) == ()
    some = key_mode_words(manifest(Parties(NAMES, dealt=dealt(512, 4, 3))), 2048, 4)
    text = " ".join(some)
    assert "3 of the 4 that hold a share" in text
    assert "opens without up to 1 slow ones" in text
    assert "fewer than 2 hospitals work against the others" in text
    assert "about 4 times the bytes" in text
    everyone = " ".join(key_mode_words(manifest(Parties(NAMES, dealt=dealt(512, 4, 4))), 2048, 4))
    assert "All of them must be online in every round" in everyone


@pytest.mark.parametrize(
    "changes",
    [
        {"key_mode": "threshold"},
        {"threshold": 3},
        {"key_mode": "threshold", "threshold": 3, "profile": "paper"},
        {"key_mode": "threshold", "threshold": 4, "min_hospitals": 3},
    ],
)
def test_a_manifest_that_contradicts_itself_is_refused(changes: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="threshold"):
        Parties(NAMES).manifest(SCHEMA, **changes)


def test_a_manifest_of_the_shared_mode_has_the_bytes_it_always_had() -> None:
    raw = manifest(Parties(NAMES)).canonical()
    assert b'"key_mode":"shared"' in raw
    assert b'"threshold"' not in raw
