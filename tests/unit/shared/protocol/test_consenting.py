"""The difference rule over seen and sent rosters, and the consent that lifts it for one hospital and one pair."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from shared.errors import ErrorCode, PeerError
from shared.ids import AgentId
from shared.protocol.consenting import (
    SeenRoster,
    differing_hospital,
    sign_consent,
    valid_consents,
    verify_consent,
)
from shared.wire.consent import Consent
from tests.support.clinic import SCHEMA
from tests.support.world import Parties

PARTIES = Parties([AgentId("h1"), AgentId("h2"), AgentId("h3"), AgentId("h4")])
WIDE, NARROW = ("h1", "h2", "h3", "h4"), ("h1", "h2", "h3")
WITH, WITHOUT = "aa" * 32, "bb" * 32


def consent(hospital: str = "h4", with_sha256: str = WITH, without_sha256: str = WITHOUT) -> Consent:
    return Consent(hospital=hospital, with_sha256=with_sha256, without_sha256=without_sha256, time=5)


def test_the_same_and_very_different_rosters_are_no_difference() -> None:
    seen = [SeenRoster(NARROW, "one"), SeenRoster(("h1", "h2", "h3", "h4", "h5"), "two")]
    assert differing_hospital(NARROW, None, seen) is None
    assert differing_hospital(("h1", "h2", "h6"), None, seen[1:]) is None
    assert differing_hospital(WIDE, None, seen) in {"h4", "h5"}


@pytest.mark.parametrize(
    ("roster", "study", "earlier"), [(WIDE, WITH, (NARROW, WITHOUT)), (NARROW, WITHOUT, (WIDE, WITH))]
)
def test_a_consent_lifts_it_in_both_orders(roster: Any, study: str, earlier: Any) -> None:
    seen = [SeenRoster(earlier[0], "one", earlier[1])]
    assert differing_hospital(roster, study, seen) == "h4"
    assert differing_hospital(roster, study, seen, [consent()]) is None


@pytest.mark.parametrize(
    "given",
    [
        consent(hospital="h3"),
        consent(with_sha256=WITHOUT, without_sha256=WITH),
        consent(without_sha256=WITH),
        consent(with_sha256="cc" * 32),
    ],
)
def test_another_consent_does_not(given: Consent) -> None:
    seen = [SeenRoster(NARROW, "one", WITHOUT)]
    assert differing_hospital(WIDE, WITH, seen, [given]) == "h4"


def test_a_roster_of_before_documents_takes_no_consent() -> None:
    assert differing_hospital(WIDE, WITH, [SeenRoster(NARROW, "one")], [consent()]) == "h4"
    assert differing_hospital(WIDE, None, [SeenRoster(NARROW, "one")], [consent()]) == "h4"


def test_what_was_only_sent_counts_too() -> None:
    """A job that ended after the contributions of round 0 and begins anew with one hospital less."""
    sent = SeenRoster(WIDE, "ended", WITH, seen=False)
    assert differing_hospital(NARROW, WITH, [sent]) == "h4"
    assert differing_hospital(WIDE, WITH, [sent]) is None
    assert differing_hospital(NARROW, WITH, [sent], [consent(without_sha256=WITH)]) is None


def test_a_job_that_shrank_and_went_on_settles_what_it_had_sent_before() -> None:
    shrunk = [SeenRoster(WIDE, "job", seen=False), SeenRoster(NARROW, "job", seen=True)]
    assert differing_hospital(NARROW, None, shrunk) is None
    assert differing_hospital(WIDE, None, shrunk) == "h4"
    assert differing_hospital(NARROW, None, [replace(one, seen=False) for one in shrunk]) == "h4"
    other_job = [shrunk[0], replace(shrunk[1], job="another")]
    assert differing_hospital(NARROW, None, other_job) == "h4"
    assert differing_hospital(NARROW, None, [replace(shrunk[0], seen=True), shrunk[1]]) == "h4"


def test_a_consent_is_the_hospitals_own() -> None:
    signed = sign_consent(consent(), PARTIES.identities["h4"], PARTIES.certificates["h4"])
    assert verify_consent(signed, PARTIES.trust) == consent()
    wrong = [
        sign_consent(consent(), PARTIES.identities["h3"], PARTIES.certificates["h4"]),
        sign_consent(consent(), PARTIES.identities["h3"], PARTIES.certificates["h3"]),
        sign_consent(consent(), PARTIES.identities["cloud"], PARTIES.certificates["cloud"]),
        signed.model_copy(update={"consent": consent(without_sha256="cc" * 32)}),
    ]
    for one in wrong:
        with pytest.raises(PeerError) as refused:
            verify_consent(one, PARTIES.trust)
        assert refused.value.code in (ErrorCode.BAD_SIGNATURE, ErrorCode.UNKNOWN_AGENT)
    manifest = PARTIES.manifest(SCHEMA, study_sha256=WITHOUT, consents=[*wrong, signed])
    assert valid_consents(manifest, PARTIES.trust) == (consent(),)
