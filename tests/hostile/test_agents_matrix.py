"""Every endpoint of agents for every kind of agent: who may, by one table that was written by hand.

The matrix of people is in `tests/integration/test_access_matrix.py`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import Any

import httpx2
import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from cloud_service.api import agent_studies, frames, hospitals, inbox, messages, progress
from cloud_service.service.services import unix_time
from shared.crypto import identity
from shared.crypto.identity import IdentityKey
from shared.ids import AgentId
from shared.protocol.asking import sign_ask
from shared.protocol.consenting import sign_consent
from shared.protocol.enrolment import fingerprint
from shared.protocol.envelopes import ENVELOPE_CONTEXT
from shared.protocol.governing import sign_answer
from shared.protocol.polling import (
    POLL_HEADER,
    STUDIES_HEADER,
    Poll,
    Registration,
    RelayCall,
    StudiesCall,
    sign_call,
    sign_poll,
    sign_progress,
    sign_registration,
    sign_studies_call,
)
from shared.wire.asking import Ask
from shared.wire.base import encode_base64url
from shared.wire.consent import Consent
from shared.wire.relay import BATCH_TYPE, RELAY_HEADER, as_parcel, pack
from shared.wire.secret import Progress
from shared.wire.study import StudyAnswer
from tests.support.clinic import SCHEMA, dealt
from tests.support.cloud_server import CloudUnderTest, cloud_bundle, running_cloud
from tests.support.http_hospital import HttpHospital, hospitals_of
from tests.support.relays import set_state
from tests.support.toy_keys import fixed_key
from tests.support.world import Parties

pytestmark = pytest.mark.xdist_group("agents_matrix")

ALL = ("h1", "h2", "h3", "h4", "h5")
INVITED = ["h1", "h2", "h3", "h5"]
JSON = {"content-type": "application/json"}
OLD, ABSENT = 301, "f" * 32

Answer = tuple[int, str]
OK, DONE = (200, ""), (204, "")
PROFILE = (403, "policy_profile")
FORGED, STRANGER, OUTSIDE = (401, "bad_signature"), (401, "unknown_agent"), (409, "roster_mismatch")
UNSIGNED, MALFORMED, CONFLICT = (422, "invalid_input"), (400, "malformed"), (409, "replay_conflict")


@dataclass(frozen=True)
class Row:
    """Answers, in the order of the columns of `CALLERS`."""

    right: Answer
    fellow: Answer
    outsider: Answer
    removed: Answer
    foreign: Answer
    unsigned: Answer
    old: Answer
    captured: Answer


CALLERS: Mapping[str, str] = {
    "right": "the agent h1 itself",
    "fellow": "h2, a member of the same job and study, in the name of h1",
    "outsider": "h4, a member of the federation that was not invited, in its own name",
    "removed": "h5, invited once, whom the federation no longer lists, in its own name",
    "foreign": "the h1 of another federation, with that one's certificate",
    "unsigned": "h1's request without a signature",
    "old": "h1's own request, signed longer ago than clocks may differ, or overtaken by a later one",
    "captured": "h1's own request, sent to another place than the one it was signed for",
}

TABLE: Mapping[tuple[str, str], Row] = {
    #                                          right fellow  outsider  removed   foreign   unsigned   old       captured
    ("GET", "/v1/inbox"): Row(                 OK,   FORGED, OK,       STRANGER, FORGED,   UNSIGNED,  FORGED,   FORGED),
    # what was captured names its own job; another job in it breaks the signature. An old message is a repeat.
    ("POST", "/v1/messages"): Row(             OK,   FORGED, OUTSIDE,  STRANGER, FORGED,   MALFORMED, OK,       FORGED),
    ("POST", "/v1/hospitals"): Row(            OK,   FORGED, OK,       STRANGER, FORGED,   MALFORMED, FORGED,   FORGED),
    # the relay knows the keys of present members of the roster, and nobody else
    ("GET", "/v1/jobs/{job_id}/frames"): Row(  OK,   FORGED, OUTSIDE,  OUTSIDE,  FORGED,   UNSIGNED,  FORGED,   FORGED),
    ("POST", "/v1/jobs/{job_id}/frames"): Row( DONE, FORGED, OUTSIDE,  OUTSIDE,  FORGED,   UNSIGNED,  FORGED,   FORGED),
    ("WS", "/v1/jobs/{job_id}/relay"): Row(    OK,   FORGED, OUTSIDE,  OUTSIDE,  FORGED,   MALFORMED, FORGED,   FORGED),
    ("POST", "/v1/jobs/{job_id}/progress"): Row(
        DONE, FORGED, OUTSIDE, STRANGER, FORGED, MALFORMED, FORGED, MALFORMED),
    ("GET", "/v1/agent/studies"): Row(         OK,   FORGED, OK,       STRANGER, FORGED,   UNSIGNED,  FORGED,   FORGED),
    ("GET", "/v1/agent/studies/{study}"): Row( OK,   FORGED, OUTSIDE,  STRANGER, FORGED,   UNSIGNED,  FORGED,   FORGED),
    # answers and consents may come late; of answers an older one than was taken counts no more
    ("POST", "/v1/agent/studies/{study}/answer"): Row(
        DONE, FORGED, OUTSIDE, STRANGER, FORGED, MALFORMED, CONFLICT, MALFORMED),
    ("POST", "/v1/agent/studies/{study}/consent"): Row(
        DONE, FORGED, OUTSIDE, STRANGER, FORGED, MALFORMED, DONE, OUTSIDE),
    # nobody may ask shared trees here before the operator allows it
    ("POST", "/v1/agent/studies/{study}/ask"): Row(
        PROFILE, FORGED, PROFILE, STRANGER, FORGED, MALFORMED, FORGED, MALFORMED),
}  # fmt: skip


@dataclass
class Asking:
    """Who asks and how: `key` signs in the name of `agent` under `certificate`, `age` seconds ago."""

    agent: str
    key: IdentityKey
    certificate: bytes
    age: int = 0
    is_signed: bool = True
    is_captured: bool = False

    @property
    def time(self) -> int:
        """That the request claims."""
        return unix_time() - self.age


@dataclass
class World:
    """A cloud with a secret job that computes, one that invites, and a study with its document."""

    cloud: CloudUnderTest
    client: httpx2.Client
    job: str
    other_job: str
    accepts: dict[str, bytes]
    study_sha256: str
    asking: dict[str, Asking] = field(init=False)

    def __post_init__(self) -> None:
        parties, foreign = self.cloud.parties, Parties([AgentId("h1")])

        def of(name: str, **changes: Any) -> Asking:
            return Asking(name, parties.identities[name], parties.certificates[name], **changes)

        self.asking = {
            "right": of("h1"),
            "fellow": Asking("h1", parties.identities["h2"], parties.certificates["h1"]),
            "outsider": of("h4"),
            "removed": of("h5"),
            "foreign": Asking("h1", foreign.identities["h1"], foreign.certificates["h1"]),
            "unsigned": of("h1", is_signed=False),
            "old": of("h1", age=OLD),
            "captured": of("h1", is_captured=True),
        }

    def send(self, method: str, path: str, who: str) -> Answer:
        """The answer's status and code."""
        return REQUESTS[method, path](self, self.asking[who])

    def ask(self, method: str, path: str, **parts: Any) -> Answer:
        """Over HTTP."""
        answer = self.client.request(method, path, **parts)
        is_problem = answer.headers.get("content-type") == "application/problem+json"
        return answer.status_code, answer.json()["code"] if is_problem else ""


def _headers(asking: Asking, name: str, signed: str) -> dict[str, str]:
    return {name: signed} if asking.is_signed else {}


def _stripped(asking: Asking, body: bytes) -> bytes:
    """A signed body, without its signature if there shall be none."""
    if asking.is_signed:
        return body
    return json.dumps({name: one for name, one in json.loads(body).items() if name != "signature"}).encode()


def _poll(world: World, asking: Asking) -> Answer:
    claim = Poll(agent=asking.agent, after=0, time=asking.time)
    after = 1 if asking.is_captured else 0
    return world.ask(
        "GET", f"/v1/inbox?after={after}", headers=_headers(asking, POLL_HEADER, sign_poll(claim, asking.key))
    )


def _message(world: World, asking: Asking) -> Answer:
    """An acceptance as its agent signed it; others put their signature below h1's or their own name."""
    raw = world.accepts["h1" if asking.agent == "h4" else asking.agent]
    whole = json.loads(raw)
    if asking.is_captured:
        whole["envelope"]["job"] = world.job
    if asking.agent == "h4":
        whole["envelope"]["from"] = "h4"
    if not asking.is_captured:
        whole["signature"] = asking.key.sign(
            ENVELOPE_CONTEXT + hashlib.sha256(_canonical(whole["envelope"])).digest()
        ).hex()
    return world.ask("POST", "/v1/messages", content=_stripped(asking, _canonical(whole)), headers=JSON)


def _canonical(value: Any) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def _register(world: World, asking: Asking) -> Answer:
    claim = Registration(
        certificate=encode_base64url(asking.certificate), version=version("privet"), time=asking.time
    )
    signed = sign_registration(claim, asking.key)
    if asking.is_captured:  # of another request
        poll = Poll(agent="h1", after=0, time=asking.time)
        signed = signed.model_copy(update={"signature": sign_poll(poll, asking.key)[-128:]})
    return world.ask("POST", "/v1/hospitals", content=_stripped(asking, signed.canonical()), headers=JSON)


def _call(world: World, asking: Asking) -> dict[str, str]:
    job = world.other_job if asking.is_captured else world.job
    call = RelayCall(agent=asking.agent, job=job, time=asking.time)
    return _headers(asking, RELAY_HEADER, sign_call(call, asking.key))


def _fetch(world: World, asking: Asking) -> Answer:
    return world.ask("GET", f"/v1/jobs/{world.job}/frames", headers=_call(world, asking))


def _pass(world: World, asking: Asking) -> Answer:
    headers = {**_call(world, asking), "content-type": BATCH_TYPE}
    parcels = pack([as_parcel(AgentId("h3"), b"frame")])
    return world.ask("POST", f"/v1/jobs/{world.job}/frames", headers=headers, content=parcels)


def _connect(world: World, asking: Asking) -> Answer:
    url = world.cloud.base_url.replace("http", "ws", 1) + f"/v1/jobs/{world.job}/relay"
    try:
        with connect(url, additional_headers=_call(world, asking), compression=None, proxy=None) as socket:
            assert socket.recv(10) == b""
            return OK
    except InvalidStatus as refused:
        return refused.response.status_code, json.loads(refused.response.body or b"{}").get("code", "")


def _tell(world: World, asking: Asking) -> Answer:
    job = world.other_job if asking.is_captured else world.job
    report = Progress(agent=asking.agent, job=job, time=asking.time, part="compute", phase="split")
    body = _stripped(asking, sign_progress(report, asking.key).canonical())
    return world.ask("POST", f"/v1/jobs/{world.job}/progress", content=body, headers=JSON)


def _studies(world: World, asking: Asking) -> Answer:
    call = StudiesCall(agent=asking.agent, study="study" if asking.is_captured else None, time=asking.time)
    headers = _headers(asking, STUDIES_HEADER, sign_studies_call(call, asking.key))
    return world.ask("GET", "/v1/agent/studies", headers=headers)


def _study(world: World, asking: Asking) -> Answer:
    call = StudiesCall(agent=asking.agent, study="other" if asking.is_captured else "study", time=asking.time)
    headers = _headers(asking, STUDIES_HEADER, sign_studies_call(call, asking.key))
    return world.ask("GET", "/v1/agent/studies/study", headers=headers)


def _answer(world: World, asking: Asking) -> Answer:
    word = StudyAnswer(
        hospital=asking.agent,
        study="other" if asking.is_captured else "study",
        study_sha256=world.study_sha256,
        answer="approve",
        time=asking.time,
    )
    body = _stripped(asking, sign_answer(word, asking.key).canonical())
    return world.ask("POST", "/v1/agent/studies/study/answer", content=body, headers=JSON)


def _consent(world: World, asking: Asking) -> Answer:
    consent = Consent(
        hospital=asking.agent,
        with_sha256=ABSENT * 2 if asking.is_captured else world.study_sha256,
        without_sha256="0" * 64,
        time=asking.time,
    )
    body = _stripped(asking, sign_consent(consent, asking.key, asking.certificate).canonical())
    return world.ask("POST", "/v1/agent/studies/study/consent", content=body, headers=JSON)


def _ask(world: World, asking: Asking) -> Answer:
    study = "other" if asking.is_captured else "study"
    ask = Ask(
        hospital=asking.agent, study=study, model=ABSENT, question="1" * 32, records=1, time=asking.time
    )
    body = _stripped(asking, sign_ask(ask, asking.key).canonical())
    return world.ask("POST", "/v1/agent/studies/study/ask", content=body, headers=JSON)


REQUESTS: Mapping[tuple[str, str], Callable[[World, Asking], Answer]] = {
    ("GET", "/v1/inbox"): _poll,
    ("POST", "/v1/messages"): _message,
    ("POST", "/v1/hospitals"): _register,
    ("GET", "/v1/jobs/{job_id}/frames"): _fetch,
    ("POST", "/v1/jobs/{job_id}/frames"): _pass,
    ("WS", "/v1/jobs/{job_id}/relay"): _connect,
    ("POST", "/v1/jobs/{job_id}/progress"): _tell,
    ("GET", "/v1/agent/studies"): _studies,
    ("GET", "/v1/agent/studies/{study}"): _study,
    ("POST", "/v1/agent/studies/{study}/answer"): _answer,
    ("POST", "/v1/agent/studies/{study}/consent"): _consent,
    ("POST", "/v1/agent/studies/{study}/ask"): _ask,
}


def _accept(hospital: HttpHospital) -> bytes:
    hospital.fetch(wait=5)
    return hospital.host.outbox[0]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    folder, limits = (
        tmp_path_factory.mktemp("matrix"),
        {"requests_per_second": 10_000.0, "max_wait_seconds": 0.1},
    )
    parties = Parties([AgentId(name) for name in ALL], fixed_key(2048))
    with running_cloud(folder, hospitals=ALL, parties=parties, **limits) as cloud:
        cloud.study(SCHEMA, members=INVITED)
        secret = {"compute_parties": INVITED[:3]}
        job, other = (cloud.job(mode="id3", secret=secret, invited=INVITED) for _ in range(2))
        with hospitals_of(cloud, dealt("h1", "h5")) as invited:
            cloud.job(invited=INVITED)
            accepts = {hospital.name: _accept(hospital) for hospital in invited}
        for one in (job, other):
            set_state(cloud, one, "COMPUTING", INVITED)
        without = cloud_bundle(parties, issued=2, without=("h5",))
        cloud.services.membership.join(without, fingerprint(parties.root), unix_time())
        sha256 = cloud.people.get("/v1/studies/study").json()["document_sha256"]
        with httpx2.Client(base_url=cloud.base_url, timeout=30, trust_env=False) as client:
            yield World(cloud, client, job, other, accepts, sha256)


def test_every_endpoint_of_agents_has_its_row() -> None:
    rooms = (agent_studies, frames, hospitals, inbox, messages, progress)
    there = {
        (method, route.path)
        for room in rooms
        for route in room.router.routes
        for method in getattr(route, "methods", {"WS"})
        if "people" not in getattr(route, "tags", [])
    }
    assert there - {("GET", "/v1/jobs/{job_id}/relay")} == set(TABLE) == set(REQUESTS)


def test_every_agent_gets_the_answer_of_the_table(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    wrong = []
    for (method, path), row in TABLE.items():
        for who in CALLERS:
            got, wanted = world.send(method, path, who), getattr(row, who)
            if got != wanted:
                wrong.append(f"{who}: {method} {path} gave {got}, not {wanted}")
    assert not wrong, "\n".join(wrong)
    with capsys.disabled():
        print(
            f"\nagents' matrix: {len(TABLE)} endpoints x {len(CALLERS)} callers = {len(TABLE) * len(CALLERS)} cells"
        )


@pytest.mark.parametrize("who", ["fellow", "foreign"])
def test_the_table_can_fail(world: World, monkeypatch: pytest.MonkeyPatch, who: str) -> None:
    """A cloud that verifies no signature is noticed."""
    monkeypatch.setattr(identity, "verify", lambda *_arguments, **_options: None)
    forged = [place for place, row in TABLE.items() if getattr(row, who) == FORGED]
    let_in = [place for place in forged if world.send(*place, who) != FORGED]
    assert len(let_in) >= 8
