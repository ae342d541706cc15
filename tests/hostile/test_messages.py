"""A corpus of hostile messages at a running cloud: each is refused, nothing moves, nothing leaks, and then the job ends
with the exact tree.

The default run is small; the long one takes `PRIVET_HOSTILE_MESSAGES` messages, 100 000 unless that says otherwise.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from sqlalchemy import text

from shared.protocol.envelopes import ENVELOPE_CONTEXT, Chain, unseal
from shared.tree.counting import count_rows
from shared.tree.growing import grow
from shared.tree.growth_rules import GrowthRules
from shared.tree.schema import Schema
from shared.wire.base import encode_base64url
from tests.integration.test_hostile_input import Attacker, Dump, attacked_cloud
from tests.support import hostile_corpus as corpus
from tests.support.clinic import ROWS, SCHEMA
from tests.support.http_hospital import JSON, run_together
from tests.support.world import MAX_BYTES, SECRET, TOY_KEY, UNWRAPPING

pytestmark = pytest.mark.xdist_group("hostile_messages")

MESSAGES = int(os.environ.get("PRIVET_HOSTILE_MESSAGES", "100000"))
BODIES = Path("tests/vectors/wire.json")
TYPES = {
    "job_offer": "JobOffer",
    "job_accept": "JobAccept",
    "job_decline": "JobDecline",
    "roster": "Roster",
    "round_open": "RoundOpen",
    "receipt": "Receipt",
    "aggregate": "Aggregate",
    "partial": "Partial",
    "partials": "Partials",
    "decision": "Decision",
    "notify": "Notify",
    "job_done": "JobDone",
    "attest": "Attest",
    "abort": "Abort",
}
MOVING = {"messages_in", "audit", "job_costs", "jobs", "job_members", "evidence"}
"""Tables in which a refused authentic message leaves its mark: its sender's place, the log, the evidence."""
ROOM = {"limits": {"messages_per_hour": 10**9, "stored_bytes": 2**40}, "requests_per_second": 1e6}
GROWTH_BYTES = 300 * 2**20


class Fuzzer:
    """Draws messages, sends them, and counts the answers of each class."""

    def __init__(self, attacker: Attacker, seed: int) -> None:
        self.attacker = attacker
        self.choose = random.Random(seed)
        self.envelope: dict[str, Any] = json.loads(attacker.own)["envelope"]
        vectors = json.loads(BODIES.read_text())
        self.bodies = {kind: json.loads(vectors[name]) for kind, name in TYPES.items()}
        self.counts: Counter[str] = Counter()
        self.codes: Counter[str] = Counter()
        self.faults: list[str] = []
        self.secrets = self._secrets()

    def _secrets(self) -> list[bytes]:
        own = self.attacker.cloud
        numbers = [form % int(one) for one in (TOY_KEY.p, TOY_KEY.q) for form in ("%x", "%d")]
        key = UNWRAPPING.to_pem().decode().splitlines()[3]
        texts = [
            *numbers,
            SECRET.hex(),
            key,
            own.token,
            str(own.folder),
            "Traceback",
            "sqlalchemy",
            "pydantic",
        ]
        return [one.encode() for one in texts]

    def run(self, messages: int) -> None:
        """Send so many: half by bytes, the rest by structure, header and meaning."""
        for _ in range(messages):
            draw = self.choose.random()
            if draw < 0.5:
                name = self.choose.choice(list(corpus.UNSIGNED))
                valid = self._some_raw()
                raw = corpus.UNSIGNED[name](self.choose, valid)
                if raw != valid:  # UTF-7 of such a text, for example, is often the text itself
                    self._send(f"unsigned: {name}", raw)
            elif draw < 0.7:
                self._structural()
            elif draw < 0.85:
                name, changes = corpus.headers(self.choose, self.envelope | self._place(), ["ab" * 16])
                whole = {**self.envelope, **self._place(), **changes}
                kept = {field: part for field, part in whole.items() if part is not None}
                self._send(f"header: {name}", self._signed(kept))
            elif draw < 0.97:
                self._meaning()
            else:
                raw = self._signed(self.envelope | self._place(), key="h2")
                self._send("signed by another member", raw)

    def _some_raw(self) -> bytes:
        """A valid message, of which no byte may change: the true contribution, or one of another type."""
        if self.choose.random() < 0.5:
            return self.attacker.own
        kind = self.choose.choice(list(self.bodies))
        return self._signed({**self.envelope, **self._place(), "type": kind, "body": self.bodies[kind]})

    def _structural(self) -> None:
        name = self.choose.choice(list(corpus.STRUCTURE))
        kind = self.choose.choice(["contribution", *self.bodies])
        body = self.envelope["body"] if kind == "contribution" else self.bodies[kind]
        changed = json.loads(json.dumps(body))
        corpus.STRUCTURE[name](self.choose, changed)
        if changed != body:
            self._send(
                f"signed: {name}",
                self._signed({**self.envelope, **self._place(), "type": kind, "body": changed}),
            )

    def _meaning(self) -> None:
        changed = json.loads(json.dumps(self.envelope["body"]))
        if self.choose.random() < 0.6:
            kinds = corpus.ciphertexts(
                TOY_KEY.public.n, int(TOY_KEY.p), int(TOY_KEY.q), TOY_KEY.public.ciphertext_bytes
            )
            name = self.choose.choice(list(kinds))
            place = self.choose.randrange(len(changed["ciphertexts"]))
            changed["ciphertexts"][place] = encode_base64url(kinds[name])
            name = f"ciphertext: {name}"
        else:
            name, changed["seed"] = self._seed(str(changed["seed"]))
        self._send(name, self._signed({**self.envelope, **self._place(), "body": changed}))

    def _seed(self, own: str) -> tuple[str, str]:
        """A damaged wrapped seed."""
        drawn = {
            "seed: noise": lambda: encode_base64url(self.choose.randbytes(384)),
            "seed: short": lambda: encode_base64url(self.choose.randbytes(self.choose.randrange(384))),
            "seed: long": lambda: own + "A" * self.choose.randrange(4, 200, 4),
            "seed: other content": lambda: encode_base64url(
                UNWRAPPING.public.wrap(
                    self.choose.randbytes(self.choose.choice((0, 1, 31, 33, 64))), b"other"
                )
            ),
            "seed: other label": lambda: encode_base64url(
                UNWRAPPING.public.wrap(bytes(32), b"another round")
            ),
            "seed: beyond the modulus": lambda: encode_base64url(b"\xff" * 384),
        }
        name = self.choose.choice(list(drawn))
        return name, drawn[name]()

    def _place(self) -> dict[str, Any]:
        """The next place of the attacker's chain, as the cloud has it."""
        with self.attacker.cloud.services.database.read() as connection:
            found = connection.execute(
                text("SELECT chain_seq, chain_prev FROM job_members WHERE agent = 'h1' AND job = :job"),
                {"job": self.attacker.job},
            ).one()
        self.attacker.chain = Chain(*found)
        return {"seq": found[0], "prev": found[1]}

    def _signed(self, envelope: dict[str, Any], key: str = "h1") -> bytes:
        canonical = corpus.canonical(envelope)
        digest = hashlib.sha256(canonical).digest()
        signature = self.attacker.cloud.parties.identities[key].sign(ENVELOPE_CONTEXT + digest).hex()
        return b'{"envelope":' + canonical + b',"signature":"' + signature.encode() + b'"}'

    def _send(self, name: str, raw: bytes) -> None:
        if raw == self.attacker.own:
            return
        packed = self.choose.random() < 0.05
        headers = {**JSON, "content-encoding": "gzip"} if packed else JSON
        answer = self.attacker.hospital.http.post(
            "/v1/messages", content=gzip.compress(raw) if packed else raw, headers=headers
        )
        self.counts[name] += 1
        whole = answer.content + b"".join(key + value for key, value in answer.headers.raw)
        told = [one for one in self.secrets if one in whole]
        if not 400 <= answer.status_code < 500 or told:
            self.faults.append(f"{name}: {answer.status_code} {answer.text[:200]} for {raw[:300]!r}")
        else:
            self.codes[str(answer.json()["code"])] += 1


@pytest.fixture
def attacker(tmp_path: Path) -> Iterator[Attacker]:
    with attacked_cloud(tmp_path, ROOM) as found:
        yield found


def check_nothing_moved(before: Dump, after: Dump) -> None:
    """Every table but those of the books is as it was; of the job, only its log's head and length have moved."""
    changed = {name for name in before if before[name] != after[name]}
    assert changed <= MOVING, {
        name: set(map(repr, after[name])) - set(map(repr, before[name])) for name in changed - MOVING
    }
    (old,), (new,) = before["jobs"], after["jobs"]
    assert sum(a != b for a, b in zip(old, new, strict=True)) <= 2


def check_the_job_completes(attacker: Attacker, fuzzer: Fuzzer) -> None:
    """The valid message is still taken in its place, and everybody comes to the exact tree."""
    raw = fuzzer._signed(fuzzer.envelope | fuzzer._place())
    sealed = unseal(raw, max_bytes=MAX_BYTES)
    state = json.loads(str(attacker.hospital.host.journal))
    state |= {"chain": [attacker.chain.seq + 1, sealed.sha256], "contribution": sealed.sha256}
    attacker.hospital.host.journal = json.dumps(state)
    attacker.hospital.host.outbox = [raw]
    hospitals = [attacker.hospital, *attacker.others]
    for hospital in hospitals:
        hospital.send_all()
    run_together(hospitals)
    schema, rules = Schema.from_json(SCHEMA), GrowthRules(min_node=1, min_child=1, max_depth=None)
    expected = grow(schema, rules, lambda queries: count_rows(ROWS, queries, schema)).tree
    assert {hospital.host.tree for hospital in hospitals} == {expected.sha256}


@pytest.mark.parametrize(
    "messages", [400, pytest.param(MESSAGES, marks=[pytest.mark.long, pytest.mark.timeout(7200)])]
)
def test_hostile_messages_move_nothing(
    attacker: Attacker, messages: int, capsys: pytest.CaptureFixture[str]
) -> None:
    fuzzer, before = Fuzzer(attacker, seed=messages), attacker.dump()
    fuzzer.run(200)  # until buffers and caches have their size
    memory = psutil.Process().memory_info().rss
    fuzzer.run(messages - 200)
    grown = psutil.Process().memory_info().rss - memory
    assert fuzzer.faults == [], "\n".join(fuzzer.faults[:20])
    check_nothing_moved(before, attacker.dump())
    assert grown < GROWTH_BYTES
    check_the_job_completes(attacker, fuzzer)
    with capsys.disabled():
        print(f"\nhostile messages: {sum(fuzzer.counts.values())}, memory grown by {grown / 2**20:.0f} MiB")
        for name, number in sorted(fuzzer.counts.items()):
            print(f"  {number:7d} {name}")
        print(f"  answers: {dict(sorted(fuzzer.codes.items()))}")


def test_what_is_valid_after_all_is_noticed(attacker: Attacker) -> None:
    """A control: a message that is taken counts as a fault of the cloud, or of the corpus."""
    fuzzer = Fuzzer(attacker, seed=1)
    attacker.own = b""  # so that the true contribution is sent too
    fuzzer._send("valid", fuzzer._signed(fuzzer.envelope | fuzzer._place()))
    assert len(fuzzer.faults) == 1
    assert " 200 " in fuzzer.faults[0]
