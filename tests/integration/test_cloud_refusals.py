"""What a cloud refuses at its message door, with which code, and that nothing has changed after it."""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select, text

from cloud_service.service.doorway import SMALL_BYTES
from cloud_service.store import jobs, messages
from cloud_service.store.tables import Evidence, table_of
from shared.crypto.identity import IdentityKey
from shared.errors import JobCode
from shared.ids import CLOUD
from shared.protocol.envelopes import Address, Chain, seal, unseal
from shared.wire.base import encode_base64url
from shared.wire.envelope import MessageType
from shared.wire.rounds import Abort
from tests.support.clinic import SCHEMA, dealt
from tests.support.cloud_server import CloudUnderTest, running_cloud
from tests.support.http_hospital import JSON, HttpHospital, hospitals_of
from tests.support.world import MAX_BYTES, TOY_KEY, RawBody

NAMES = ("h1", "h2", "h3")
Change = Callable[[dict[str, Any]], None]


@pytest.fixture
def cloud(tmp_path: Path, database_url: str) -> Iterator[CloudUnderTest]:
    with running_cloud(tmp_path, database_url, bits=512) as running:
        running.study(SCHEMA)
        yield running


@pytest.fixture
def hospitals(cloud: CloudUnderTest) -> Iterator[list[HttpHospital]]:
    """Three hospitals that have accepted a job; h1's contribution to round 0 waits in its outbox."""
    with hospitals_of(cloud, dealt(*NAMES)) as found:
        cloud.job()
        for hospital in found:
            hospital.fetch(wait=5)
            hospital.send_all()
        found[0].fetch(wait=5)
        yield found


def forged(
    cloud: CloudUnderTest, raw: bytes, change: Change, *, by: IdentityKey | None = None, **header: Any
) -> bytes:
    """The message with another body or header, signed again by its sender (or by another key)."""
    envelope = unseal(raw, max_bytes=MAX_BYTES).envelope
    body = json.loads(json.dumps(envelope.body))
    change(body)
    fields = {"seq": envelope.seq, "prev": envelope.prev, **header}
    address = Address(
        fields.get("type", envelope.type),
        fields.get("job", envelope.job),
        fields.get("mh", envelope.mh),
        fields.get("round", envelope.round),
        fields.get("attempt", envelope.attempt),
        fields.get("sender", envelope.sender),
        fields.get("to", CLOUD),
    )
    key = by or cloud.parties.identities[address.sender]
    return seal(key, address, Chain(fields["seq"], fields["prev"]), RawBody(body)).raw  # type: ignore[arg-type]


def same(_body: dict[str, Any]) -> None:
    """Leave the body as it is."""


def state_of(cloud: CloudUnderTest, job: str) -> dict[str, Any]:
    """All of a job but the place of its members' messages, the log and the count of them."""
    with cloud.services.database.read() as connection:
        stored = jobs.load(connection, job)
    assert stored is not None
    found = asdict(stored.job)
    for name in ("chain", "head", "manifest", "members", "prompts"):
        del found[name]
    members = stored.job.members.values()
    found["members"] = [(m.id, m.accept, m.declined, m.contributed, m.decision, m.attested) for m in members]
    return found


def job_of(raw: bytes) -> str:
    return unseal(raw, max_bytes=MAX_BYTES).envelope.job


def refused(
    cloud: CloudUnderTest, hospital: HttpHospital, raw: bytes, status: int, code: str
) -> dict[str, Any]:
    """Send it; it must be refused so, and change nothing."""
    own = hospital.host.outbox[0]
    before = state_of(cloud, job_of(own))
    answer = hospital.post(raw)
    assert (answer.status_code, answer.json()["code"]) == (status, code), answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    assert state_of(cloud, job_of(own)) == before
    with cloud.services.database.read() as connection:
        assert messages.contributions(connection, job_of(own)) == {}
    return dict(answer.json())


def test_what_is_not_a_message(cloud: CloudUnderTest, hospitals: list[HttpHospital]) -> None:
    first = hospitals[0]
    own = first.host.outbox[0]
    for raw in (b"", b"{}", b"nonsense", b"\xff\xfe", b"[1,2]", b"null", own + b" ", own[:-1], own[1:]):
        refused(cloud, first, raw, 400, "malformed")
    refused(cloud, first, b"[" * 40_000 + b"]" * 20_000, 400, "malformed")
    refused(cloud, first, b'{"a":' * 20 + b"1" + b"}" * 20, 400, "malformed")
    refused(cloud, first, b"[" * 500_000, 400, "malformed")


def test_deep_body_under_a_good_signature(cloud: CloudUnderTest, hospitals: list[HttpHospital]) -> None:
    deep: Any = 1
    for _ in range(12):
        deep = [deep]
    raw = forged(cloud, hospitals[0].host.outbox[0], lambda body: body.update(head=deep))
    refused(cloud, hospitals[0], raw, 400, "malformed")


def test_body_of_another_form(cloud: CloudUnderTest, hospitals: list[HttpHospital]) -> None:
    raw = forged(cloud, hospitals[0].host.outbox[0], lambda body: body.update(extra=1))
    refused(cloud, hospitals[0], raw, 400, "malformed")


def test_content_type_and_encoding(cloud: CloudUnderTest, hospitals: list[HttpHospital]) -> None:
    first = hospitals[0]
    own = first.host.outbox[0]
    for headers in ({}, {"content-type": "text/plain"}, {**JSON, "content-encoding": "br"}):
        answer = first.http.post("/v1/messages", content=own, headers=headers)
        assert (answer.status_code, answer.json()["code"]) == (400, "malformed")
    for content in (b"no gzip", gzip.compress(own)[:-4], gzip.compress(own) + b"more"):
        answer = first.http.post(
            "/v1/messages", content=content, headers={**JSON, "content-encoding": "gzip"}
        )
        assert (answer.status_code, answer.json()["code"]) == (400, "malformed")
    packed = first.http.post(
        "/v1/messages", content=gzip.compress(own), headers={**JSON, "content-encoding": "gzip"}
    )
    assert packed.status_code == 200


def test_gzip_bomb(tmp_path: Path) -> None:
    with running_cloud(tmp_path, bits=512, max_body_bytes=2**20) as cloud:
        bomb = gzip.compress(bytes(64 * 2**20))
        assert len(bomb) < 2**17
        answer = cloud.people.post("/v1/messages", content=bomb, headers={**JSON, "content-encoding": "gzip"})
        assert (answer.status_code, answer.json()["code"]) == (413, "too_large")
        answer = cloud.people.post("/v1/messages", content=bytes(2**20 + 1), headers=JSON)
        assert (answer.status_code, answer.json()["code"]) == (413, "too_large")
        streamed = (bytes(2**16) for _ in range(17))
        answer = cloud.people.post("/v1/messages", content=streamed, headers=JSON)
        assert (answer.status_code, answer.json()["code"]) == (413, "too_large")


def test_bad_signature(cloud: CloudUnderTest, hospitals: list[HttpHospital]) -> None:
    first = hospitals[0]
    own = first.host.outbox[0]
    refused(cloud, first, forged(cloud, own, same, by=IdentityKey.generate()), 401, "bad_signature")
    edited = own.replace(b'"round":0', b'"round":1')
    refused(cloud, first, edited, 401, "bad_signature")


def test_large_message_is_not_parsed_before_its_signature_holds(
    cloud: CloudUnderTest, hospitals: list[HttpHospital]
) -> None:
    first = hospitals[0]
    own = first.host.outbox[0]

    def swell(body: dict[str, Any]) -> None:
        body["head"] = "x" * SMALL_BYTES

    found = refused(cloud, first, forged(cloud, own, swell), 413, "too_large")
    assert "contribution" in found["detail"]


def test_unknown_agent(cloud: CloudUnderTest, hospitals: list[HttpHospital]) -> None:
    first = hospitals[0]
    stranger = forged(cloud, first.host.outbox[0], same, by=IdentityKey.generate(), sender="h9")
    refused(cloud, first, stranger, 401, "unknown_agent")


def test_not_invited_and_no_such_job(cloud: CloudUnderTest, hospitals: list[HttpHospital]) -> None:
    first = hospitals[0]
    elsewhere = forged(cloud, first.host.outbox[0], same, job="00" * 16)
    refused(cloud, first, elsewhere, 409, "roster_mismatch")


def test_other_manifest_and_other_receiver(cloud: CloudUnderTest, hospitals: list[HttpHospital]) -> None:
    first = hospitals[0]
    own = first.host.outbox[0]
    refused(cloud, first, forged(cloud, own, same, mh="00" * 32), 400, "malformed")
    refused(cloud, first, forged(cloud, own, same, to="h2"), 400, "malformed")


def test_cloud_takes_no_message_of_its_own_kinds(
    cloud: CloudUnderTest, hospitals: list[HttpHospital]
) -> None:
    raw = forged(cloud, hospitals[0].host.outbox[0], same, type=MessageType.AGGREGATE)
    refused(cloud, hospitals[0], raw, 400, "malformed")


@pytest.mark.parametrize(("round_", "attempt"), [(1, 0), (0, 1), (7, 3)])
def test_wrong_round(cloud: CloudUnderTest, hospitals: list[HttpHospital], round_: int, attempt: int) -> None:
    raw = forged(cloud, hospitals[0].host.outbox[0], same, round=round_, attempt=attempt)
    refused(cloud, hospitals[0], raw, 409, "wrong_round")


def test_gap_in_the_chain(cloud: CloudUnderTest, hospitals: list[HttpHospital]) -> None:
    """A message that follows one which is not here shows that the cloud has forgotten: nothing goes on from there."""
    own = hospitals[0].host.outbox[0]
    refused(cloud, hospitals[0], forged(cloud, own, same, prev="00" * 32), 409, "replay_conflict")
    answer = hospitals[0].post(forged(cloud, own, same, seq=5))
    assert (answer.status_code, answer.json()["code"]) == (409, "replay_conflict")
    job = cloud.people.get(f"/v1/jobs/{job_of(own)}").json()
    assert (job["state"], job["failure"]) == ("FAILED", "history_lost")


N = TOY_KEY.public
HOSTILE = {
    "zero": 0,
    "n": N.n,
    "multiple of p": int(TOY_KEY.p) * 12345,
    "n squared": N.n_squared,
    "above n squared": N.n_squared + 5,
}


def _with_ciphertext(raw: bytes) -> Change:
    def change(body: dict[str, Any]) -> None:
        body["ciphertexts"][0] = encode_base64url(raw)

    return change


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_ciphertext(cloud: CloudUnderTest, hospitals: list[HttpHospital], name: str) -> None:
    raw = HOSTILE[name].to_bytes(N.ciphertext_bytes, "big")
    message = forged(cloud, hospitals[0].host.outbox[0], _with_ciphertext(raw))
    found = refused(cloud, hospitals[0], message, 422, "contribution_rejected")
    assert found["detail"] == "the contribution is rejected"


def _drop_one(body: dict[str, Any]) -> None:
    body["ciphertexts"].pop()


def _one_more(body: dict[str, Any]) -> None:
    body["ciphertexts"].append(body["ciphertexts"][0])


def _break_seed(body: dict[str, Any]) -> None:
    body["seed"] = encode_base64url(bytes(384))


def _not_base64(body: dict[str, Any]) -> None:
    body["ciphertexts"][0] = "AB"[: len(body["ciphertexts"][0]) % 4 or 1]


@pytest.mark.parametrize(
    "change",
    [
        _drop_one,
        _one_more,
        _break_seed,
        _not_base64,
        _with_ciphertext(bytes(N.ciphertext_bytes - 1)),
        _with_ciphertext(b"\x01" * (N.ciphertext_bytes + 1)),
    ],
)
def test_contribution_of_a_wrong_form_has_one_answer(
    cloud: CloudUnderTest, hospitals: list[HttpHospital], change: Change
) -> None:
    message = forged(cloud, hospitals[0].host.outbox[0], change)
    found = refused(cloud, hospitals[0], message, 422, "contribution_rejected")
    assert found["detail"] == "the contribution is rejected"
    again = hospitals[0].post(message)
    assert again.json() == found


def test_repeat_gets_the_same_reply(cloud: CloudUnderTest, hospitals: list[HttpHospital]) -> None:
    first = hospitals[0]
    own = first.host.outbox[0]
    answers = [first.post(own) for _ in range(3)]
    assert {answer.status_code for answer in answers} == {200}
    assert len({answer.content for answer in answers}) == 1


def test_repeat_with_other_bytes_is_kept_as_evidence(
    cloud: CloudUnderTest, hospitals: list[HttpHospital]
) -> None:
    first = hospitals[0]
    own = first.host.outbox[0]
    first.send_all()
    before = state_of(cloud, job_of(own))
    same_seq = forged(cloud, own, lambda body: body.update(head="11" * 32))
    sealed = unseal(own, max_bytes=MAX_BYTES)
    same_turn = forged(cloud, own, same, seq=sealed.envelope.seq + 1, prev=sealed.sha256)
    for raw in (same_seq, same_turn, same_seq):
        answer = first.post(raw)
        assert (answer.status_code, answer.json()["code"]) == (409, "replay_conflict")
    assert state_of(cloud, job_of(own)) == before
    with cloud.services.database.read() as connection:
        kept = connection.execute(select(table_of(Evidence))).all()
    assert [(row.first_raw, row.second_raw) for row in kept] == [(own, same_seq), (own, same_turn)]
    assert first.post(own).status_code == 200


def test_of_figures_in_a_place_that_is_taken_only_the_hash_is_kept(
    cloud: CloudUnderTest, hospitals: list[HttpHospital]
) -> None:
    """Nobody has looked whether the study publishes them, nor how they are rounded."""
    first = hospitals[0]
    own = first.host.outbox[0]
    first.send_all()
    raw = forged(cloud, own, lambda body: body.update(quality='{"records":3}'))
    assert first.post(raw).json()["code"] == "replay_conflict"
    with cloud.services.database.read() as connection:
        (kept,) = connection.execute(select(table_of(Evidence))).all()
    assert (kept.first_raw, kept.second_raw) == (own, None)
    assert kept.second_sha256 == hashlib.sha256(raw).hexdigest()


def test_an_abort_in_a_place_that_is_taken_ends_the_job(
    cloud: CloudUnderTest, hospitals: list[HttpHospital]
) -> None:
    """So says an agent whose folder was put back; the others need not wait for their deadlines."""
    first = hospitals[0]
    own = first.host.outbox[0]
    first.send_all()
    envelope = unseal(own, max_bytes=MAX_BYTES).envelope
    address = Address(MessageType.ABORT, envelope.job, envelope.mh, 0, 0, envelope.sender, CLOUD)
    key = cloud.parties.identities[envelope.sender]
    given_up = seal(key, address, Chain(envelope.seq, envelope.prev), Abort(code=JobCode.HISTORY_LOST))
    for _ in range(2):
        answer = first.post(given_up.raw)
        assert (answer.status_code, answer.json()["code"]) == (409, "replay_conflict")
    document = cloud.people.get(f"/v1/jobs/{envelope.job}").json()
    assert (document["state"], document["failure"]) == ("FAILED", "history_lost")


def test_an_abort_behind_another_message_than_the_one_taken_ends_the_job(
    cloud: CloudUnderTest, hospitals: list[HttpHospital]
) -> None:
    """The same, where the cloud has just refused what the agent said anew: the abort is in the next place."""
    first = hospitals[0]
    own = first.host.outbox[0]
    first.send_all()
    envelope = unseal(own, max_bytes=MAX_BYTES).envelope
    address = Address(MessageType.ABORT, envelope.job, envelope.mh, 0, 0, envelope.sender, CLOUD)
    key = cloud.parties.identities[envelope.sender]
    given_up = seal(key, address, Chain(envelope.seq + 1, "ab" * 32), Abort(code=JobCode.HISTORY_LOST))
    answer = first.post(given_up.raw)
    assert (answer.status_code, answer.json()["code"]) == (409, "replay_conflict")
    document = cloud.people.get(f"/v1/jobs/{envelope.job}").json()
    assert (document["state"], document["failure"]) == ("FAILED", "history_lost")
    with cloud.services.database.read() as connection:
        kept = connection.exec_driver_sql(
            "SELECT second_raw FROM evidence ORDER BY id DESC LIMIT 1"
        ).scalar_one()
    assert bytes(kept) == given_up.raw


def test_late_contribution(cloud: CloudUnderTest, hospitals: list[HttpHospital]) -> None:
    for hospital in hospitals:
        hospital.fetch(wait=0.1)
        hospital.send_all()
    first = hospitals[0]
    first.fetch(wait=10)
    decision = first.host.outbox[0]
    contribution = forged(
        cloud,
        decision,
        lambda body: (body.clear(), body.update(ciphertexts=["AA", "AA"], seed="AA", head="00" * 32))[0],
        type=MessageType.CONTRIBUTION,
        attempt=1,
    )
    assert first.post(contribution).json()["code"] == "wrong_round"
    first.host.outbox.clear()
    cloud.people.post(f"/v1/jobs/{job_of(decision)}/cancel")
    after = unseal(contribution, max_bytes=MAX_BYTES)
    last = forged(cloud, decision, same, seq=after.envelope.seq + 1, prev=after.sha256)
    assert first.post(last).json()["code"] == "late"


def test_member_that_left_the_federation(tmp_path: Path) -> None:
    from cloud_service.service.services import unix_time
    from tests.support.cloud_server import cloud_bundle

    with running_cloud(tmp_path, bits=2048) as cloud, hospitals_of(cloud, dealt(*NAMES)) as hospitals:
        cloud.study(SCHEMA)
        cloud.job()
        first = hospitals[0]
        first.fetch(wait=5)
        bundle = cloud_bundle(cloud.parties, issued=2, without=("h1",))
        cloud.services.membership.join(bundle, None, unix_time())
        answer = first.post(first.host.outbox[0])
        assert (answer.status_code, answer.json()["code"]) == (401, "unknown_agent")
        poll = first.http.get(
            "/v1/inbox", headers={"privet-poll": first.poll_header()}, params={"after": first.after}
        )
        assert (poll.status_code, poll.json()["code"]) == (401, "unknown_agent")


def test_nothing_is_done_when_the_log_cannot_be_written(
    cloud: CloudUnderTest, hospitals: list[HttpHospital]
) -> None:
    first = hospitals[0]
    own = first.host.outbox[0]
    with cloud.services.database.write() as connection:
        connection.execute(text("ALTER TABLE audit RENAME TO audit_elsewhere"))
    found = refused(cloud, first, own, 503, "audit_unavailable")
    assert found["status"] == 503
    with cloud.services.database.write() as connection:
        connection.execute(text("ALTER TABLE audit_elsewhere RENAME TO audit"))
    assert first.post(own).status_code == 200


def test_rate_limit(tmp_path: Path) -> None:
    with (
        running_cloud(tmp_path, bits=512, requests_per_second=0.5) as cloud,
        hospitals_of(cloud, dealt("h1")) as hospitals,
    ):
        answers = [
            hospitals[0].http.get("/v1/inbox", headers={"privet-poll": hospitals[0].poll_header()})
            for _ in range(7)
        ]
        limited = answers[-1]
        assert (limited.status_code, limited.json()["code"]) == (429, "rate_limited")
        assert int(limited.headers["retry-after"]) >= 1
