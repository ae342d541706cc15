from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.crypto import certificates
from shared.crypto.certificates import Certificate, Role, Validity
from shared.crypto.identity import IdentityKey
from shared.errors import ErrorCode, PeerError
from shared.ids import CLOUD, AgentId
from shared.protocol.expiry import NOTICE_SECONDS, check_time, day_of, ends, is_over, notice
from shared.protocol.polling import MAX_SKEW_SECONDS
from shared.protocol.trust import Trust

ROOT = IdentityKey.from_raw(b"\x01" * 32)
PARTY = IdentityKey.from_raw(b"\x02" * 32)
BEGIN, END = datetime(2026, 1, 1, tzinfo=UTC), datetime(2028, 1, 1, tzinfo=UTC)
VALIDITY = Validity(BEGIN, END)
ROOT_DER = certificates.create_root(ROOT, "Test", VALIDITY, 1)
FIRST, LAST = int(BEGIN.timestamp()), int(END.timestamp())


def issued(party: str = "h1", serial: int = 2) -> Certificate:
    role = Role.CLOUD if party == CLOUD else Role.AGENT
    request = certificates.create_request(PARTY, AgentId(party), role, "ab" * 32)
    subject = certificates.parse_request(request)
    return certificates.verify(certificates.issue(ROOT, ROOT_DER, subject, VALIDITY, serial), ROOT_DER)


CERTIFICATE = issued()


@given(st.integers(FIRST - MAX_SKEW_SECONDS, LAST + MAX_SKEW_SECONDS))
def test_it_holds_from_its_first_to_its_last_second_give_or_take_the_skew(now: int) -> None:
    check_time(CERTIFICATE, now)
    assert not is_over(CERTIFICATE, now)


@pytest.mark.parametrize(
    ("now", "day"),
    [(FIRST - MAX_SKEW_SECONDS - 1, "2026-01-01"), (LAST + MAX_SKEW_SECONDS + 1, "2028-01-01")],
)
def test_outside_its_time_it_is_refused_with_the_day(now: int, day: str) -> None:
    with pytest.raises(PeerError, match=day) as caught:
        check_time(CERTIFICATE, now)
    assert caught.value.code is ErrorCode.UNKNOWN_AGENT


def test_the_refusal_names_the_commands() -> None:
    with pytest.raises(PeerError, match=r"certify DIR h1\.csr.*privet agent join DIR --bundle h1\.bundle"):
        check_time(CERTIFICATE, LAST + 86_400)
    with pytest.raises(
        PeerError, match=r"certify DIR cloud\.csr.*privet cloud join DIR --bundle cloud\.bundle"
    ):
        check_time(issued(CLOUD), LAST + 86_400)


def test_people_are_told_thirty_days_ahead_and_then_that_it_is_over() -> None:
    assert notice(CERTIFICATE, LAST - NOTICE_SECONDS - 1) is None
    assert "ends on 2028-01-01" in str(notice(CERTIFICATE, LAST - NOTICE_SECONDS))
    assert "expired on 2028-01-01" in str(notice(CERTIFICATE, LAST + MAX_SKEW_SECONDS + 1))
    assert (ends(CERTIFICATE), day_of(ends(CERTIFICATE))) == (LAST, "2028-01-01")


def test_trust_asks_for_the_time_only_where_it_is_given_one() -> None:
    late, members = LAST + 86_400, {"h1": CERTIFICATE.sha256}
    assert Trust(ROOT_DER, members).certificate(CERTIFICATE.der, role=Role.AGENT) == CERTIFICATE
    assert Trust(ROOT_DER, members, LAST).certificate(CERTIFICATE.der, role=Role.AGENT) == CERTIFICATE
    with pytest.raises(PeerError, match="expired"):
        Trust(ROOT_DER, members, late).certificate(CERTIFICATE.der, role=Role.AGENT)


def test_a_renewed_certificate_is_told_from_a_stranger() -> None:
    renewed = issued(serial=3)
    trust = Trust(ROOT_DER, {"h1": renewed.sha256})
    with pytest.raises(PeerError, match="certified anew"):
        trust.certificate(CERTIFICATE.der, role=Role.AGENT)
    with pytest.raises(PeerError, match="not a present member"):
        Trust(ROOT_DER, {}).certificate(CERTIFICATE.der, role=Role.AGENT)
