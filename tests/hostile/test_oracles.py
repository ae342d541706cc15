"""No oracle in an answer: whatever is wrong with a wrapped seed, a token or a sign-in, the whole answer is the same.

And what a clock tells: two samples of each pair of causes, taken in turns, with the effect and the smallest effect that
so many samples would show. The figures are printed and judged by people: a busy machine must fail no test.
"""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import httpx2
import numpy as np
import pytest
from scipy.stats import mannwhitneyu
from sqlalchemy import text

from cloud_service.service.permissions import Role
from shared.crypto.paper import unwrap_nonce
from shared.errors import PeerError
from shared.protocol.tracing import REQUEST_HEADER
from shared.wire.base import encode_base64url
from tests.integration.test_hostile_input import Attacker, attacked_cloud
from tests.support.cloud_server import CloudUnderTest, running_cloud
from tests.support.http_hospital import JSON
from tests.support.world import UNWRAPPING

pytestmark = pytest.mark.xdist_group("oracles")

MODULUS = UNWRAPPING.key.public_key().public_numbers().n
EXPONENT = 65537
BYTES = 384
PASSWORD = "correct horse battery staple"
ATTEMPTS = "sign_in_attempts"
SAMPLES = 400


def raw_rsa(block: bytes) -> bytes:
    """A block of 384 bytes under the cloud's public key, with whatever padding it has."""
    return pow(int.from_bytes(block, "big"), EXPONENT, MODULUS).to_bytes(BYTES, "big")


def oaep_seeds(choose: random.Random) -> Mapping[str, bytes]:
    """Wrapped seeds of profile hardened, each damaged in another way."""
    wrap, label = UNWRAPPING.public.wrap, b"label of another round"
    good = bytearray(wrap(choose.randbytes(32), label))
    good[choose.randrange(1, BYTES)] ^= 1 << choose.randrange(8)
    return {
        "noise": b"\x00" + choose.randbytes(BYTES - 1),
        "another label": wrap(choose.randbytes(32), label),
        "a bit flipped": bytes(good),
        "first byte not zero": raw_rsa(b"\x01" + choose.randbytes(BYTES - 1)),
        "first byte zero, no padding": raw_rsa(b"\x00" + choose.randbytes(BYTES - 1)),
        "empty secret": wrap(b"", label),
        "secret too short": wrap(bytes(31), label),
        "secret too long": wrap(bytes(33), label),
        "zero": bytes(BYTES),
        "one": raw_rsa(bytes(BYTES - 1) + b"\x01"),
        "the modulus": MODULUS.to_bytes(BYTES, "big"),
        "beyond the modulus": b"\xff" * BYTES,
        "a byte short": choose.randbytes(BYTES - 1),
        "one byte": b"\x01",
    }


def pkcs1_nonces(choose: random.Random) -> Mapping[str, bytes]:
    """Wrapped nonces of profile paper, each damaged in another way."""

    def block(*parts: bytes) -> bytes:
        return raw_rsa(b"".join(parts).ljust(BYTES, b"\x55"))

    def filler(size: int) -> bytes:
        return bytes(choose.randrange(1, 256) for _ in range(size))

    return {
        "noise": b"\x00" + choose.randbytes(BYTES - 1),
        "first byte wrong": block(b"\x01\x02", filler(BYTES - 35), b"\x00", bytes(32)),
        "second byte wrong": block(b"\x00\x01", filler(BYTES - 35), b"\x00", bytes(32)),
        "no end of the padding": block(b"\x00\x02", filler(BYTES - 2)),
        "padding too short": block(b"\x00\x02", filler(5), b"\x00", filler(BYTES - 8)),
        "empty nonce": block(b"\x00\x02", filler(BYTES - 3), b"\x00"),
        "nonce too short": block(b"\x00\x02", filler(BYTES - 34), b"\x00", bytes(31)),
        "nonce too long": block(b"\x00\x02", filler(BYTES - 36), b"\x00", bytes(33)),
        "zero": bytes(BYTES),
        "the modulus": MODULUS.to_bytes(BYTES, "big"),
        "beyond the modulus": b"\xff" * BYTES,
        "a byte short": choose.randbytes(BYTES - 1),
        "one byte": b"\x01",
    }


def whole(answer: httpx2.Response) -> tuple[Any, ...]:
    """Everything that a caller sees, but the time of day and the number drawn for the request."""
    drawn = {b"date", REQUEST_HEADER.encode()}
    headers = [(name.lower(), value) for name, value in answer.headers.raw if name.lower() not in drawn]
    return answer.status_code, answer.reason_phrase, sorted(headers), answer.content


def with_seed(wrapped: bytes) -> Callable[[dict[str, Any]], None]:
    def change(body: dict[str, Any]) -> None:
        if "seed" in body:
            body["seed"] = encode_base64url(wrapped)
        else:
            body["matrices"][0]["nonce"] = encode_base64url(wrapped)

    return change


def answer_to(attacker: Attacker, wrapped: bytes) -> httpx2.Response:
    """A contribution that is right in all but this."""
    sealed = attacker.forge(with_seed(wrapped))
    answer = attacker.hospital.http.post("/v1/messages", content=sealed.raw, headers=JSON)
    attacker.chain = attacker.chain.after(sealed.sha256)
    return answer


@pytest.mark.parametrize(("plan", "drawn"), [({}, oaep_seeds), ({"profile": "paper"}, pkcs1_nonces)])
def test_every_damaged_seed_has_one_answer(
    tmp_path: Path, plan: dict[str, Any], drawn: Callable[[random.Random], Mapping[str, bytes]]
) -> None:
    with attacked_cloud(tmp_path, **plan) as attacker:
        kinds = drawn(random.Random(1))
        answers = {name: whole(answer_to(attacker, wrapped)) for name, wrapped in kinds.items()}
        other = attacker.hospital.http.post("/v1/messages", content=b"{}", headers=JSON)
    assert len(answers) >= 13
    assert len(set(map(repr, answers.values()))) == 1, answers
    status, _, _, content = answers["noise"]
    assert (status, json.loads(content)["detail"]) == (422, "the contribution is rejected")
    assert whole(other) not in answers.values(), "a control: answers can differ"


@pytest.fixture
def peopled(tmp_path: Path) -> Iterator[CloudUnderTest]:
    """A cloud with an account, one that is disabled, and one with a second factor."""
    with running_cloud(tmp_path, bits=512) as cloud:
        accounts = cloud.services.people.accounts
        accounts.add("ana", PASSWORD, [Role.ANALYST], None)
        accounts.add("bob", PASSWORD, [Role.ANALYST], None)
        accounts.disable("bob")
        accounts.add("cara", PASSWORD, [Role.OPERATOR], None)
        yield cloud


def sign_in(cloud: CloudUnderTest, name: str, password: str, code: str = "") -> httpx2.Response:
    """As if nobody had tried before."""
    with cloud.services.database.write() as connection:
        connection.execute(text(f"DELETE FROM {ATTEMPTS}"))
    body = {"name": name, "password": password, "code": code}
    return cloud.people.post("/v1/sign-in", json=body)


WRONG_SIGN_INS = {
    "unknown name": ("zoe", "wrong horse battery staple", ""),
    "wrong password": ("ana", "wrong horse battery staple", ""),
    "wrong password and a code": ("ana", "wrong horse battery staple", "123456"),
    "disabled": ("bob", PASSWORD, ""),
    "disabled and wrong": ("bob", "wrong horse battery staple", ""),
    "wrong code": ("cara", PASSWORD, "123456"),
    "strange name": ("../ana", PASSWORD, ""),
    "longest name": ("a" * 64, PASSWORD, ""),
}


def test_every_wrong_sign_in_has_one_answer(peopled: CloudUnderTest) -> None:
    answers = {name: whole(sign_in(peopled, *given)) for name, given in WRONG_SIGN_INS.items()}
    assert len(set(map(repr, answers.values()))) == 1, answers
    assert answers["unknown name"][0] == 401
    assert sign_in(peopled, "ana", PASSWORD).status_code == 200, "a control: the right one gets in"


def test_every_wrong_token_has_one_answer(peopled: CloudUnderTest) -> None:
    token = peopled.token
    wrong = ["x", token[:-1], token + "A", token.swapcase(), "A" * len(token), "." * 5000, "{}", token[::-1]]
    headers = [{"authorization": f"Bearer {one}"} for one in wrong]
    answers = [httpx2.get(f"{peopled.base_url}/v1/me", headers=one, trust_env=False) for one in headers]
    assert len({repr(whole(answer)) for answer in answers}) == 1
    assert answers[0].status_code == 401
    assert peopled.people.get("/v1/me").status_code == 200


# --- what a clock tells ------------------------------------------------------------------------------------------


def in_turns(first: Callable[[], object], second: Callable[[], object], samples: int) -> tuple[Any, Any]:
    """Seconds of each, in random order within each pair, so that what the machine does meanwhile hits both."""
    found: tuple[list[float], list[float]] = ([], [])
    choose = random.Random(1)
    for _ in range(samples):
        for which in choose.sample((0, 1), 2):
            began = time.perf_counter()
            (first, second)[which]()
            found[which].append(time.perf_counter() - began)
    return np.array(found[0]), np.array(found[1])


def report(what: str, one: Any, other: Any) -> str:
    """Medians, the difference with its 95 % interval, what is the least that would be seen, and the rank test."""
    choose = np.random.default_rng(1)
    resampled = [
        np.median(choose.choice(one, len(one))) - np.median(choose.choice(other, len(other)))
        for _ in range(2000)
    ]
    low, high = np.quantile(resampled, (0.025, 0.975)) * 1e6
    least = 2.8 * float(np.std(resampled)) * 1e6  # power 0.8 at 5 %
    ranks = mannwhitneyu(one, other)
    delta = 2 * ranks.statistic / (len(one) * len(other)) - 1
    return (
        f"{what}: medians {np.median(one) * 1e6:.0f} and {np.median(other) * 1e6:.0f} us, difference "
        f"{(np.median(one) - np.median(other)) * 1e6:+.0f} us [{low:+.0f}, {high:+.0f}], least seen {least:.0f} us, "
        f"Cliff's delta {delta:+.3f}, p {ranks.pvalue:.3f}, {len(one)} samples each"
    )


def refused(work: Callable[..., object], *arguments: object) -> Callable[[], None]:
    def attempt() -> None:
        with pytest.raises(PeerError):
            work(*arguments)

    return attempt


def told(lines: Sequence[str], capsys: pytest.CaptureFixture[str]) -> None:
    with capsys.disabled():
        print("\n" + "\n".join(lines))


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_what_a_clock_tells_of_seeds(capsys: pytest.CaptureFixture[str]) -> None:
    lines = []
    for name, drawn, work, causes in (
        (
            "OAEP",
            oaep_seeds,
            lambda one: UNWRAPPING.unwrap(one, b"label"),
            (
                ("first byte not zero", "another label"),
                ("another label", "secret too short"),
                ("noise", "first byte zero, no padding"),
            ),
        ),
        (
            "PKCS#1",
            pkcs1_nonces,
            lambda one: unwrap_nonce(UNWRAPPING, one),
            (
                ("first byte wrong", "nonce too short"),
                ("no end of the padding", "padding too short"),
                ("noise", "second byte wrong"),
            ),
        ),
    ):
        kinds = drawn(random.Random(1))
        for first, second in causes:
            pair = (refused(work, kinds[first]), refused(work, kinds[second]))
            lines.append(report(f"{name}, {first} against {second}", *in_turns(*pair, SAMPLES)))
        same = refused(work, kinds["noise"])
        lines.append(report(f"{name}, the same twice", *in_turns(same, same, SAMPLES)))
    told(lines, capsys)


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_what_a_clock_tells_of_people(peopled: CloudUnderTest, capsys: pytest.CaptureFixture[str]) -> None:
    def asking(cause: str) -> Callable[[], object]:
        return lambda: sign_in(peopled, *WRONG_SIGN_INS[cause])

    def token(one: str) -> Callable[[], object]:
        return lambda: peopled.people.get("/v1/me", headers={"authorization": f"Bearer {one}"})

    real = peopled.token
    lines = [
        report(
            "sign-in, unknown name against wrong password",
            *in_turns(asking("unknown name"), asking("wrong password"), SAMPLES // 4),
        ),
        report(
            "sign-in, disabled against wrong password",
            *in_turns(asking("disabled"), asking("wrong password"), SAMPLES // 4),
        ),
        report(
            "token, first letter wrong against last",
            *in_turns(token("_" + real[1:]), token(real[:-1] + "_"), SAMPLES),
        ),
    ]
    told(lines, capsys)


def test_the_clock_can_tell(capsys: pytest.CaptureFixture[str]) -> None:
    """A control: work that takes longer is told from work that does not, by any clock."""
    one, other = in_turns(lambda: time.sleep(0.002), lambda: None, 30)
    assert "p 0.000" in report("control", one, other)
