"""Key mode threshold against a cloud that cheats and a hospital that lies (protocol section 6.5).

The cheating cloud signs what it likes and knows all contributions and seeds; it may work with one hospital.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from shared.crypto.paillier import add_plaintext, decode_ciphertext, encode_ciphertext
from shared.crypto.share_holder import ShareHolder
from shared.errors import ErrorCode, JobCode
from shared.protocol.envelopes import unseal
from shared.protocol.states import AgentState, CloudState
from shared.wire.base import decode_base64url, encode_base64url
from shared.wire.envelope import MessageType
from tests.protocol.test_simulation import NAMES, PATTERNS, SCHEMA, pooled_tree
from tests.protocol.test_threshold_simulation import until, world
from tests.support.threshold_keys import dealt
from tests.support.world import MAX_BYTES, HospitalHost, World

PUBLIC = dealt(512, 4, 4).key.public
Body = dict[str, Any]


def shifted(text: str, by: int = 5 << 48) -> str:
    value = add_plaintext(PUBLIC, decode_ciphertext(PUBLIC, decode_base64url(text, what="test")), by)
    return encode_base64url(encode_ciphertext(PUBLIC, value))


def change_a_sum(body: Body) -> None:
    body["ciphertexts"][1] = shifted(body["ciphertexts"][1])


def single_out(body: Body) -> None:
    body["ciphertexts"] = body["forwarded"][1]["envelope"]["body"]["ciphertexts"]


def forward_one_twice(body: Body) -> None:
    body["forwarded"][2] = body["forwarded"][1]


def forward_too_few(body: Body) -> None:
    body["forwarded"] = body["forwarded"][:3]


def change_what_is_forwarded(body: Body) -> None:
    other = body["forwarded"][1]["envelope"]["body"]["ciphertexts"]
    other[1] = shifted(other[1])
    change_a_sum(body)


def swap_two(body: Body) -> None:
    body["ciphertexts"][0], body["ciphertexts"][1] = body["ciphertexts"][1], body["ciphertexts"][0]


def forward_nothing(body: Body) -> None:
    del body["forwarded"]
    del body["self_sums"]


ATTACKS = {
    "a constant added": change_a_sum,
    "one hospital singled out": single_out,
    "one contribution twice": forward_one_twice,
    "too few contributions": forward_too_few,
    "a contribution changed": change_what_is_forwarded,
    "two ciphertexts swapped": swap_two,
    "nothing forwarded": forward_nothing,
}


def tampering(built: World, kind: MessageType, change: Callable[[Body], None]) -> None:
    def tamper(_name: str, raw: bytes) -> bytes:
        return built.forge(raw, change) if unseal(raw, max_bytes=MAX_BYTES).envelope.type is kind else raw

    built.tamper = tamper


@pytest.mark.parametrize("name", ATTACKS)
def test_a_sum_of_anything_else_gets_no_partial_decryption(name: str) -> None:
    built = world(1)
    tampering(built, MessageType.AGGREGATE, ATTACKS[name])
    built.run(200, faults=0)
    assert not any(h.opened for h in built.hospitals.values())
    codes = {failure.code for h in built.hospitals.values() for failure in h.failures}
    assert codes <= {JobCode.TAG_MISMATCH, JobCode.ROSTER_DIGITS}
    assert codes


def test_the_unchanged_sum_gets_one_from_each() -> None:
    """The control of the test above: the same forging, with nothing changed."""
    built = world(1)
    tampering(built, MessageType.AGGREGATE, lambda _body: None)
    built.run(4000, faults=0)
    assert {h.tree for h in built.hospitals.values()} == {pooled_tree(built, list(NAMES))}


def test_other_self_sums_shift_the_plaintext_and_fail_the_tag() -> None:
    """S_j is the cloud's word. A shifted pair (S_j, A_j) is opened, tells nothing new, and decides nothing."""

    def shift(body: Body) -> None:
        own = int.from_bytes(decode_base64url(body["self_sums"][1], what="test"), "big")
        other = (own - (5 << 48)) % PUBLIC.n
        body["self_sums"][1] = encode_base64url(other.to_bytes(PUBLIC.modulus_bytes, "big"))
        change_a_sum(body)

    built = world(1)
    tampering(built, MessageType.AGGREGATE, shift)
    built.run(200, faults=0)
    assert {f.code for h in built.hospitals.values() for f in h.failures} == {JobCode.TAG_MISMATCH}
    assert {h.tree for h in built.hospitals.values()} == {None}


def opening(built: World) -> tuple[HospitalHost, int]:
    """A hospital that has given its partial decryption of round 0, and where the cloud's next message stands."""
    until(built, CloudState.OPENING, faults=0)
    while not (found := [h for h in built.hospitals.values() if h.participation.state == "OPENING"]):
        built.move(0)
    return found[0], len(built.cloud.inbox)


def test_a_second_sum_of_a_round_is_not_opened() -> None:
    built = world(2)
    hospital, position = opening(built)
    first = next(raw for raw in built.cloud.inbox if b'"type":"aggregate"' in raw)
    envelope = unseal(first, max_bytes=MAX_BYTES).envelope
    later = built.cloud.seal(MessageType.AGGREGATE, 0, 0, "all", _Raw(single_out, dict(envelope.body)))
    outbox = list(hospital.outbox)
    hospital.take(position, later.raw)
    assert hospital.refused[-1].code is ErrorCode.WRONG_ROUND
    assert hospital.outbox == outbox
    assert hospital.participation.state is AgentState.OPENING


class _Raw:
    """A body that no model has checked."""

    def __init__(self, change: Callable[[Body], None], body: Body) -> None:
        change(body)
        self.body = body

    def model_dump(self, **_options: object) -> Body:
        return self.body


def test_nobody_is_declared_silent_once_a_partial_decryption_was_given() -> None:
    """t = 3 of 4, so that the rest could open a sum: who has helped to open one of this round opens no other."""
    built = world(2, 3)
    hospital, position = opening(built)
    rest = sorted({*NAMES} - {"h4" if hospital.name != "h4" else "h1"})
    body = {"decisions": [], "deadline": 10**6, "prompts": None, "roster": rest}
    body["slots"] = hospital.participation.growth.slot_count
    again = built.cloud.seal(MessageType.ROUND_OPEN, 0, 1, "all", _Raw(lambda _body: None, body))
    outbox = list(hospital.outbox)
    hospital.take(position, again.raw)
    assert hospital.refused[-1].code is ErrorCode.WRONG_ROUND
    assert hospital.outbox == outbox


def test_with_all_holders_needed_no_smaller_roster_is_taken() -> None:
    """A false drop-out: the cloud has all contributions of attempt 0 and opens attempt 1 without h4."""
    built = world(2)
    hospital = built.hospitals["h1"]
    while hospital.participation is None or hospital.participation.state != "SENT":
        built.move(0)
    body = {"decisions": [], "deadline": 10**6, "prompts": None, "roster": ["h1", "h2", "h3"]}
    body["slots"] = hospital.participation.growth.slot_count
    again = built.cloud.seal(MessageType.ROUND_OPEN, 0, 1, "all", _Raw(lambda _body: None, body))
    hospital.take(len(built.cloud.inbox), again.raw)
    assert hospital.refused[-1].code is ErrorCode.POLICY_MIN_HOSPITALS


def lying(built: World, name: str) -> None:
    """A hospital that decrypts its part with another share than the one it was dealt."""
    host = built.hospitals[name]
    share = host.keys.round_keys.share
    assert isinstance(share, ShareHolder)
    other = ShareHolder(share.threshold_key, share.index, share.share + 1)
    host.keys = replace(host.keys, round_keys=replace(host.keys.round_keys, cipher=other))


def test_a_lying_hospital_is_named_by_its_proof() -> None:
    built = world(3)
    lying(built, "h2")
    built.run(3000, faults=0)
    honest = [built.hospitals[name] for name in ("h1", "h3", "h4")]
    told = [str(failure) for h in honest for failure in h.failures]
    assert told
    assert all(" of h2 " in text and not any(n in text for n in ("h1", "h3", "h4")) for text in told)
    assert built.cloud.job.failure is JobCode.SHARE_INCONSISTENT
    assert {h.tree for h in built.hospitals.values()} == {None}


def test_a_smaller_threshold_goes_on_without_the_liar() -> None:
    built = world(3, 3)
    lying(built, "h1")
    built.run(4000, faults=0)
    assert {built.hospitals[n].tree for n in ("h2", "h3", "h4")} == {pooled_tree(built, list(NAMES))}


def change_partial(built: World, change: Callable[[Body], None]) -> None:
    """What h2 sends as its partial decryption is changed before it signs."""
    seal_of = built.hospitals["h2"]._commit

    def commit(step: Any) -> None:
        for effect in step.effects:
            if getattr(effect, "type", None) is MessageType.PARTIAL:
                body = effect.body.model_dump(mode="json")
                change(body)
                effects = (replace(effect, body=type(effect.body).model_validate(body)),)
                step = replace(step, effects=effects)
        seal_of(step)

    built.hospitals["h2"]._commit = commit  # type: ignore[method-assign]


def break_content(body: Body) -> None:
    body["content"] = ("B" if body["content"][0] == "A" else "A") + body["content"][1:]


def break_key(body: Body) -> None:
    body["keys"] = dict.fromkeys(body["keys"], "A" * 80)


@pytest.mark.parametrize("change", [break_content, break_key])
def test_a_partial_decryption_that_does_not_open_names_its_hospital(change: Callable[[Body], None]) -> None:
    built = world(4)
    change_partial(built, change)
    built.run(3000, faults=0)
    told = [str(f) for name in ("h1", "h3", "h4") for f in built.hospitals[name].failures]
    assert told
    assert all(" of h2 " in text for text in told)


def test_a_partial_decryption_that_the_cloud_made_up_is_told_from_a_liar() -> None:
    def forge(body: Body) -> None:
        body["partials"][1]["envelope"]["body"]["content"] = "AAAA"

    built = world(4)
    tampering(built, MessageType.PARTIALS, forge)
    built.run(3000, faults=0)
    told = [str(f) for h in built.hospitals.values() for f in h.failures]
    assert told
    assert all("h2 did not sign" in text for text in told)


def test_an_offer_of_another_key_mode_or_threshold_is_refused() -> None:
    rows = dict.fromkeys(NAMES, PATTERNS)
    for changes in ({"key_mode": "shared", "threshold": None}, {"threshold": 3}):
        built = World(5, rows, SCHEMA, dealt=dealt(512, 4, 4), **changes)
        built.run(300, faults=0)
        assert all(h.participation is None for h in built.hospitals.values())
        assert all(h.refused[0].code is ErrorCode.MALFORMED for h in built.hospitals.values())
