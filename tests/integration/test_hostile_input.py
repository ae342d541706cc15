"""A running cloud under attack: the whole database before and after, no big-number work, and never an error of ours.

What the cloud answers to each single fault stands in `test_cloud_refusals`. Here the attacker goes on until the end,
below HTTP too, and then the job he attacked completes with the exact tree.
"""

from __future__ import annotations

import json
import random
import socket
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pytest
from sqlalchemy import MetaData, select

from cloud_service.api import problems
from cloud_service.service import messages as door
from shared.crypto.paillier import validate_ciphertexts
from shared.crypto.wrapping import UnwrappingKey
from shared.ids import CLOUD
from shared.protocol import sums
from shared.protocol.envelopes import Address, Chain, Sealed, seal, unseal
from shared.secure_tree import paper
from shared.tree.counting import count_rows
from shared.tree.growing import grow
from shared.tree.growth_rules import GrowthRules
from shared.tree.schema import Schema
from shared.wire.base import encode_base64url
from tests.support.clinic import ROWS, SCHEMA, dealt
from tests.support.cloud_server import CloudUnderTest, running_cloud
from tests.support.http_hospital import JSON, HttpHospital, hospitals_of, run_together
from tests.support.world import MAX_BYTES, TOY_KEY, RawBody

pytestmark = pytest.mark.xdist_group("hostile")

NAMES = ("h1", "h2", "h3")
PUBLIC = TOY_KEY.public
SMALL = {"max_body_bytes": 2**21, "max_paper_body_bytes": 2**21}
Dump = dict[str, list[tuple[Any, ...]]]


@dataclass
class Attacker:
    """The hospital h1 turned hostile: its true contribution, and the place of its chain at the cloud."""

    cloud: CloudUnderTest
    hospital: HttpHospital
    others: list[HttpHospital]
    job: str
    own: bytes
    chain: Chain

    @property
    def port(self) -> int:
        """Of the cloud."""
        return int(self.cloud.base_url.rpartition(":")[2])

    def forge(self, change: Callable[[dict[str, Any]], None], **header: Any) -> Sealed:
        """The contribution with another body or header, as the next message of the chain, well signed."""
        envelope = unseal(self.own, max_bytes=MAX_BYTES).envelope
        body = json.loads(json.dumps(envelope.body))
        change(body)
        at = {"job": self.job, "mh": envelope.mh, "round": 0, "attempt": 0, **header}
        address = Address(envelope.type, at["job"], at["mh"], at["round"], at["attempt"], "h1", CLOUD)
        return seal(self.cloud.parties.identities["h1"], address, self.chain, RawBody(body))  # type: ignore[arg-type]

    def post(self, raw: bytes, **headers: str) -> tuple[int, str]:
        """Status and code of the answer."""
        answer = self.hospital.http.post("/v1/messages", content=raw, headers={**JSON, **headers})
        return answer.status_code, answer.json().get("code", "")

    def dump(self) -> Dump:
        """Every row of every table, but the times at which hospitals were last seen."""
        metadata, found = MetaData(), {}
        metadata.reflect(self.cloud.services.database.engine)
        with self.cloud.services.database.read() as connection:
            for name, table in metadata.tables.items():
                columns = [column for column in table.columns if column.name != "last_seen"]
                rows = connection.execute(select(*columns)).all()
                found[name] = sorted(map(tuple, rows), key=repr)
        return found


@contextmanager
def attacked_cloud(folder: Any, room: Mapping[str, Any] | None = None, **plan: Any) -> Iterator[Attacker]:
    """A job in round 0, for which no contribution has been sent yet. room: settings that let an attacker go on."""
    options: dict[str, Any] = {"bits": 512, "allow_paper_profile": True, "max_wait_seconds": 2.0, **SMALL}
    options |= room or {}
    with running_cloud(folder, **options) as cloud, hospitals_of(cloud, dealt(*NAMES)) as hospitals:
        cloud.study(SCHEMA)
        job = cloud.job(**plan)
        for hospital in hospitals:
            hospital.fetch(wait=5)
            hospital.send_all()
        for hospital in hospitals:
            hospital.fetch(wait=5)
        first = hospitals[0]
        own = first.host.outbox.pop()
        sealed = unseal(own, max_bytes=MAX_BYTES).envelope
        yield Attacker(cloud, first, hospitals[1:], job, own, Chain(sealed.seq, sealed.prev))


@pytest.fixture(scope="module")
def attacker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Attacker]:
    with attacked_cloud(tmp_path_factory.mktemp("attacked")) as found:
        yield found


@pytest.fixture
def work(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often the cloud did something dear."""
    done: Counter[str] = Counter()

    def counted(name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            done[name] += 1
            return real(*arguments, **options)

        return call

    monkeypatch.setattr(UnwrappingKey, "unwrap", counted("unwrap", UnwrappingKey.unwrap))
    monkeypatch.setattr(paper, "unwrap_nonce", counted("unwrap", paper.unwrap_nonce))
    monkeypatch.setattr(sums, "validate_ciphertexts", counted("validate", validate_ciphertexts))
    monkeypatch.setattr(door, "unseal", counted("parse", unseal))
    return done


@pytest.fixture(autouse=True)
def no_error_of_ours(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Nothing that an attacker sends may come to the net for our own faults."""
    faults: list[dict[str, Any]] = []
    log = SimpleNamespace(error=lambda _text, **fields: faults.append(fields))
    monkeypatch.setattr(problems, "_log", log)
    yield
    assert faults == []


def set_ciphertext(raw: bytes) -> Callable[[dict[str, Any]], None]:
    def change(body: dict[str, Any]) -> None:
        cells = body["ciphertexts"] if "ciphertexts" in body else body["matrices"][-1]["ciphertexts"]
        cells[-1] = encode_base64url(raw)

    return change


def full(value: int) -> bytes:
    return value.to_bytes(PUBLIC.ciphertext_bytes, "big")


HOSTILE = {
    "zero": full(0),
    "n": full(PUBLIC.n),
    "a multiple of p": full(int(TOY_KEY.p) * 0xABCDEF),
    "a multiple of q": full(int(TOY_KEY.q) ** 3),
    "n squared": full(PUBLIC.n_squared),
    "all ones": b"\xff" * PUBLIC.ciphertext_bytes,
    "one byte short": b"\x01" * (PUBLIC.ciphertext_bytes - 1),
    "one byte long": b"\x00" + full(1),
    "one byte": b"\x01",
}


def check_bookkeeping(before: Dump, after: Dump, attacker: Attacker) -> None:
    """A refused authentic message leaves its place in the chain, its refusal and a line in the log; nothing else."""
    changed = {name for name in before if before[name] != after[name]}
    assert changed == {"messages_in", "audit", "job_costs", "jobs", "job_members"}
    assert len(after["messages_in"]) == len(before["messages_in"]) + 1
    assert len(after["audit"]) == len(before["audit"]) + 1
    (old,), (new,) = before["jobs"], after["jobs"]
    assert sum(a != b for a, b in zip(old, new, strict=True)) == 2, "head and length of the log"
    moved = [(a, b) for a, b in zip(before["job_members"], after["job_members"], strict=True) if a != b]
    assert [a[1] for a, _ in moved] == ["h1"]
    assert sum(x != y for x, y in zip(*moved[0], strict=True)) == 2, "the sender's chain"


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_ciphertext_is_seen_before_the_private_key_is_used(
    attacker: Attacker, work: Counter[str], name: str
) -> None:
    before = attacker.dump()
    sealed = attacker.forge(set_ciphertext(HOSTILE[name]))
    assert attacker.post(sealed.raw) == (422, "contribution_rejected")
    attacker.chain = attacker.chain.after(sealed.sha256)
    assert work["unwrap"] == 0
    once = attacker.dump()
    check_bookkeeping(before, once, attacker)
    work.clear()
    assert attacker.post(sealed.raw) == (422, "contribution_rejected")
    assert work["validate"] == work["unwrap"] == 0, "a repeat costs a look-up"
    assert attacker.dump() == once


def _more(body: dict[str, Any]) -> None:
    body["ciphertexts"].append(body["ciphertexts"][0])


def _fewer(body: dict[str, Any]) -> None:
    body["ciphertexts"].pop()


def _number(body: dict[str, Any]) -> None:
    body["ciphertexts"][0] = 17


def _no_seed(body: dict[str, Any]) -> None:
    del body["seed"]


def _two_seeds(body: dict[str, Any]) -> None:
    body["seeds"] = body["seed"]


@pytest.mark.parametrize("change", [_more, _fewer, _number, _no_seed, _two_seeds])
def test_wrong_form_costs_no_big_number_work(
    attacker: Attacker, work: Counter[str], change: Callable[[dict[str, Any]], None]
) -> None:
    before = attacker.dump()
    sealed = attacker.forge(change)
    status, code = attacker.post(sealed.raw)
    attacker.chain = attacker.chain.after(sealed.sha256)
    assert (status, code) in {(422, "contribution_rejected"), (400, "malformed")}
    assert work["validate"] == work["unwrap"] == 0
    check_bookkeeping(before, attacker.dump(), attacker)


@pytest.mark.parametrize(
    ("header", "answer"),
    [
        ({"round": 1}, (409, "wrong_round")),
        ({"attempt": 9}, (409, "wrong_round")),
        ({"round": 2**32 - 1}, (409, "wrong_round")),
        ({"mh": "00" * 32}, (400, "malformed")),
    ],
)
def test_another_round_costs_no_big_number_work(
    attacker: Attacker, work: Counter[str], header: dict[str, Any], answer: tuple[int, str]
) -> None:
    sealed = attacker.forge(lambda _body: None, **header)
    before = attacker.dump()
    assert attacker.post(sealed.raw) == answer
    after = attacker.dump()
    if len(after["messages_in"]) > len(before["messages_in"]):
        attacker.chain = attacker.chain.after(sealed.sha256)
        check_bookkeeping(before, after, attacker)
    else:
        assert after == before
    assert work["validate"] == work["unwrap"] == 0


def unauthentic(attacker: Attacker) -> dict[str, tuple[bytes, tuple[int, str]]]:
    """Messages that nobody signed so, with their answers."""
    own = attacker.own
    huge = own.replace(b'"ciphertexts":[', b'"ciphertexts":["' + b"A" * 2**20 + b'",')
    deep = own.replace(b'"body":{', b'"body":{"a":' + b'{"a":' * 12 + b"1" + b"}" * 12 + b",")
    return {
        "edited": (own.replace(b'"round":0', b'"round":3'), (401, "bad_signature")),
        "signature of zeros": (own[:-130] + b"0" * 128 + b'"}', (401, "bad_signature")),
        "another sender": (own.replace(b'"from":"h1"', b'"from":"h2"'), (401, "bad_signature")),
        "a stranger": (own.replace(b'"from":"h1"', b'"from":"h7"'), (401, "unknown_agent")),
        "the cloud itself": (own.replace(b'"from":"h1"', b'"from":"cloud"'), (401, "unknown_agent")),
        "huge": (huge, (413, "too_large")),
        "huge from a stranger": (huge.replace(b'"from":"h1"', b'"from":"h7"'), (401, "unknown_agent")),
        "deep": (deep, (400, "malformed")),
        "very deep": (b'{"envelope":' + b"[" * 30_000 + b"]" * 30_000 + b"}", (400, "malformed")),
        "deep and long": (b"[" * 300_000, (400, "malformed")),
        "not UTF-8": (own.replace(b'"head":"', b'"head":"\xff\xfe\x80'), (400, "malformed")),
        "half a surrogate": (own.replace(b'"head":"', b'"head":"\\ud800'), (400, "malformed")),
        "NaN": (b'{"envelope":NaN,"signature":"00"}', (400, "malformed")),
        "infinity": (b'{"envelope":1e999,"signature":"00"}', (400, "malformed")),
        "endless number": (b'{"envelope":' + b"9" * 20_000 + b"}", (400, "malformed")),
        "endless fraction": (b'{"envelope":0.' + b"1" * 20_000 + b"}", (400, "malformed")),
        "a key twice": (own.replace(b'{"envelope":', b'{"envelope":1,"envelope":'), (400, "malformed")),
        "zeros": (bytes(4096), (400, "malformed")),
        "nothing": (b"", (400, "malformed")),
        "byte order mark": (b"\xef\xbb\xbf" + own, (400, "malformed")),
        "UTF-16": (own.decode().encode("utf-16"), (400, "malformed")),
    }


def test_unauthentic_messages_change_nothing_at_all(attacker: Attacker, work: Counter[str]) -> None:
    before = attacker.dump()
    answers = {name: attacker.post(raw) for name, (raw, _) in unauthentic(attacker).items()}
    assert answers == {name: answer for name, (_, answer) in unauthentic(attacker).items()}
    assert attacker.dump() == before
    assert work["validate"] == work["unwrap"] == 0


def test_huge_message_of_a_stranger_is_not_parsed(attacker: Attacker, work: Counter[str]) -> None:
    for name in ("huge", "huge from a stranger", "deep and long"):
        attacker.post(unauthentic(attacker)[name][0])
    assert work["parse"] == 0


@pytest.mark.parametrize("seed", range(3))
def test_mutated_messages_never_cause_an_error_of_ours(
    attacker: Attacker, work: Counter[str], seed: int
) -> None:
    choose, before = random.Random(seed), attacker.dump()
    for _ in range(60):
        raw = bytearray(attacker.own)
        for _ in range(choose.randrange(1, 4)):
            place = choose.randrange(len(raw))
            match choose.randrange(3):
                case 0:
                    raw[place] = choose.randrange(256)
                case 1:
                    del raw[place : place + choose.randrange(1, 40)]
                case _:
                    raw[place:place] = choose.choice(
                        [b'"', b"{", b"]", b"\\u0000", b"\0", b",1", b"-", b"\xff"]
                    )
        if raw != attacker.own:
            status, code = attacker.post(bytes(raw))
            assert 400 <= status < 500, (status, code)
    assert attacker.dump() == before
    assert work["validate"] == work["unwrap"] == 0


# --- below HTTP ---------------------------------------------------------------------------------------------


def talk(attacker: Attacker, *pieces: bytes, wait: float = 10.0) -> bytes:
    """Send bytes and read what comes until the cloud closes or has answered."""
    answer = b""
    with socket.create_connection(("127.0.0.1", attacker.port), timeout=wait) as stream, suppress(OSError):
        for piece in pieces:
            stream.sendall(piece)
        while b"\r\n\r\n" not in answer:
            got = stream.recv(2**16)
            if not got:
                break
            answer += got
    return answer


def status_of(answer: bytes) -> int:
    """The status; 0 when the cloud just closed."""
    return int(answer.split(b" ", 2)[1]) if answer.startswith(b"HTTP/1.1 ") else 0


POST = b"POST /v1/messages HTTP/1.1\r\nhost: cloud\r\ncontent-type: application/json\r\n"
CHUNK = b"10000\r\n" + b"[" * 0x10000 + b"\r\n"
RAW_REQUESTS = {
    "no HTTP": (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(64) + b"\r\n\r\n",),
    "huge header": (POST + b"x-long: " + b"a" * 2**18 + b"\r\n\r\n",),
    "many headers": (POST + b"x: y\r\n" * 20_000 + b"\r\n",),
    "huge path": (b"GET /" + b"a" * 2**18 + b" HTTP/1.1\r\nhost: cloud\r\n\r\n",),
    "length that is no number": (POST + b"content-length: -1\r\n\r\n",),
    "length that is too large": (POST + b"content-length: 99999999999999999999\r\n\r\n",),
    "two lengths": (POST + b"content-length: 2\r\ncontent-length: 9\r\n\r\n{}",),
    "length and chunks": (POST + b"content-length: 2\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",),
    "chunk of no length": (POST + b"transfer-encoding: chunked\r\n\r\nzz\r\n",),
    "endless chunks": (POST + b"transfer-encoding: chunked\r\n\r\n", *[CHUNK] * 40),
    "zero byte in a header": (POST + b"x: a\0b\r\ncontent-length: 2\r\n\r\n{}",),
    "two content types": (POST + b"content-type: text/html\r\ncontent-length: 2\r\n\r\n{}",),
    "unknown coding": (POST + b"transfer-encoding: gzip\r\n\r\n",),
    "TRACE": (b"TRACE /v1/messages HTTP/1.1\r\nhost: cloud\r\n\r\n",),
    "percent signs": (b"GET /v1/jobs/%00%ff%2e%2e%2f HTTP/1.1\r\nhost: cloud\r\n\r\n",),
    "poll of bytes": (b"GET /v1/inbox HTTP/1.1\r\nhost: cloud\r\nprivet-poll: \xff\xfe.\x80\r\n\r\n",),
}


KNOWN = {"length that is too large": 413, "endless chunks": 413, "TRACE": 405, "percent signs": 404}


@pytest.mark.parametrize("name", RAW_REQUESTS)
def test_strange_requests(attacker: Attacker, name: str) -> None:
    before = attacker.dump()
    status = status_of(talk(attacker, *RAW_REQUESTS[name]))
    assert status == KNOWN.get(name, status)
    assert status == 0 or 400 <= status < 500
    assert attacker.dump() == before
    assert attacker.cloud.people.get("/healthz").status_code == 200


def test_half_a_request_holds_nobody_up(attacker: Attacker) -> None:
    before = attacker.dump()
    with socket.create_connection(("127.0.0.1", attacker.port), timeout=10) as stream:
        stream.sendall(POST + b"content-length: 1000\r\n\r\n" + attacker.own[:500])
        assert attacker.cloud.people.get("/healthz").status_code == 200
    assert attacker.dump() == before


BAD_POLLS = [
    "",
    ".",
    "." * 400,
    "{}." + "0" * 128,
    "{}." + "g" * 128,
    '{"agent":"h1","after":0,"time":0}.' + "0" * 128,
    '{"after":0,"agent":"h1","time":99999999999999999999}.' + "0" * 128,
    '{"after":-1,"agent":"h1","time":1}.' + "0" * 128,
    '{"after":0,"agent":"../h1","time":1}.' + "0" * 128,
    "[" * 250 + "." + "0" * 128,
    "1" * 250 + "." + "0" * 128,
    "null." + "0" * 128,
    "x" * 100_000,
]


@pytest.mark.parametrize("number", range(len(BAD_POLLS)))
def test_bad_poll(attacker: Attacker, number: int) -> None:
    before = attacker.dump()
    request = b"GET /v1/inbox?after=0&wait=1 HTTP/1.1\r\nhost: cloud\r\nprivet-poll: %s\r\n\r\n"
    status = status_of(talk(attacker, request % BAD_POLLS[number].encode()))
    assert 400 <= status < 500
    assert attacker.dump() == before


@pytest.mark.parametrize(
    "query", ["after=-1", "after=x", "after=99999999999999999999", "wait=nan", "wait=1e9", "wait=-1"]
)
def test_bad_poll_query(attacker: Attacker, query: str) -> None:
    header = attacker.hospital.poll_header()
    answer = attacker.hospital.http.get(f"/v1/inbox?{query}", headers={"privet-poll": header})
    assert 400 <= answer.status_code < 500


def test_stale_poll_and_foreign_poll(attacker: Attacker) -> None:
    other = attacker.others[0]
    for header in (
        attacker.hospital.poll_header(at=1),
        attacker.hospital.poll_header(at=2**53 - 1),
        other.poll_header().replace('"h2"', '"h1"'),
    ):
        answer = attacker.hospital.http.get("/v1/inbox", headers={"privet-poll": header})
        assert (answer.status_code, answer.json()["code"]) == (401, "bad_signature")


STRANGE_BODIES = [
    b"",
    b"null",
    b"[]",
    b'"text"',
    b"{",
    b"\xff\xfe",
    b"[" * 2_000,
    b'{"a":' * 2_000,
    b"9" * 10_000,
    b'{"id":NaN}',
    b'{"id":"\\ud800"}',
    b'{"id":"a\\u0000b","question":"q","schema":{}}',
    b'{"id":1e400}',
    b'{"record":{"nausea":' + b"9" * 5_000 + b"}}",
    b'{"record":{"' + b"a" * 100_000 + b'":1}}',
]


def test_people_routes_take_no_strange_body_for_an_error_of_ours(attacker: Attacker) -> None:
    before = attacker.dump()
    description = attacker.cloud.people.get("/openapi.json").json()
    seen = 0
    for path, operations in description["paths"].items():
        if "post" not in operations or path == "/v1/messages" or path.endswith("/cancel"):
            continue
        for job in (attacker.job, "../..", "%00"):
            place = path.replace("{job}", job).replace("{study}", "study" if job == attacker.job else job)
            for body in STRANGE_BODIES:
                if place.endswith("/jobs") and body in (b"", b"null"):
                    continue  # an empty plan is a plan
                answer = attacker.cloud.people.post(place, content=body, headers=JSON)
                assert 400 <= answer.status_code < 500, (place, body[:40], answer.text)
                seen += 1
    assert seen > 50
    assert attacker.dump() == before


def attribute(name: str, values: int) -> dict[str, Any]:
    return {"name": name, "values": [str(value) for value in range(values)]}


def labels(count: int) -> dict[str, Any]:
    return {"name": "class", "labels": [f"c{number}" for number in range(count)]}


LIMITS: Mapping[str, dict[str, Any]] = {
    "1025 attributes": {"attributes": [attribute(f"a{n}", 2) for n in range(1025)], "class": labels(2)},
    "257 values": {"attributes": [attribute("a", 257)], "class": labels(2)},
    "65 classes": {"attributes": [attribute("a", 2)], "class": labels(65)},
    "no attribute": {"attributes": [], "class": labels(2)},
    "no class": {"attributes": [attribute("a", 2)], "class": labels(0)},
    "a name twice": {"attributes": [attribute("a", 2), attribute("a", 2)], "class": labels(2)},
}


@pytest.mark.parametrize("name", LIMITS)
def test_schema_beyond_the_limits(attacker: Attacker, name: str) -> None:
    before = attacker.dump()
    body = {"id": "beyond", "question": "q", "schema": LIMITS[name]}
    answer = attacker.cloud.people.post("/v1/studies", json=body)
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid_input")
    assert attacker.dump() == before


def test_more_cells_than_a_round_may_have(attacker: Attacker) -> None:
    cells = {"attributes": [attribute(f"a{n}", 256) for n in range(65)], "class": labels(64)}
    people = attacker.cloud.people
    answer = people.post("/v1/studies", json={"id": "large", "question": "q", "schema": cells})
    if answer.status_code == 201:
        before = attacker.dump()
        answer = people.post("/v1/studies/large/jobs", json={})
        assert attacker.dump() == before
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid_input")


def test_attacked_job_still_completes_with_the_exact_tree(attacker: Attacker) -> None:
    sealed = attacker.forge(lambda _body: None)
    state = json.loads(str(attacker.hospital.host.journal))
    state |= {"chain": [attacker.chain.seq + 1, sealed.sha256], "contribution": sealed.sha256}
    attacker.hospital.host.journal = json.dumps(state)
    attacker.hospital.host.outbox = [sealed.raw]
    hospitals = [attacker.hospital, *attacker.others]
    for hospital in hospitals:
        hospital.send_all()
    run_together(hospitals)
    schema, rules = Schema.from_json(SCHEMA), GrowthRules(min_node=1, min_child=1, max_depth=None)
    expected = grow(schema, rules, lambda queries: count_rows(ROWS, queries, schema)).tree
    assert {hospital.host.tree for hospital in hospitals} == {expected.sha256}
    before = attacker.dump()
    assert attacker.post(sealed.raw)[0] == 200, "the repeat of what was taken gets its receipt"
    assert attacker.post(attacker.forge(lambda _body: None, round=1).raw)[0] == 409
    assert attacker.dump()["aggregates"] == before["aggregates"]


# --- profile paper ------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def on_paper(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Attacker]:
    with attacked_cloud(tmp_path_factory.mktemp("paper"), profile="paper") as found:
        yield found


@pytest.mark.parametrize("name", ["zero", "n", "a multiple of p", "n squared", "one byte short"])
def test_hostile_ciphertext_on_paper(on_paper: Attacker, work: Counter[str], name: str) -> None:
    sealed = on_paper.forge(set_ciphertext(HOSTILE[name]))
    assert on_paper.post(sealed.raw) == (422, "contribution_rejected")
    on_paper.chain = on_paper.chain.after(sealed.sha256)
    assert work["unwrap"] == 0


def _swap_matrices(body: dict[str, Any]) -> None:
    body["matrices"].reverse()


def _lose_a_matrix(body: dict[str, Any]) -> None:
    body["matrices"].pop()


def _break_nonce(body: dict[str, Any]) -> None:
    body["matrices"][0]["nonce"] = encode_base64url(b"\x01" * 384)


def _short_nonce(body: dict[str, Any]) -> None:
    body["matrices"][0]["nonce"] = encode_base64url(b"\x01" * 100)


@pytest.mark.parametrize("change", [_swap_matrices, _lose_a_matrix, _break_nonce, _short_nonce])
def test_wrong_matrices_have_one_answer(on_paper: Attacker, change: Callable[[dict[str, Any]], None]) -> None:
    sealed = on_paper.forge(change)
    answer = on_paper.hospital.post(sealed.raw)
    on_paper.chain = on_paper.chain.after(sealed.sha256)
    assert (answer.status_code, answer.json()["detail"]) == (422, "the contribution is rejected")
