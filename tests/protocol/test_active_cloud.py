"""A cloud that cheats: every sum it can form other than the right one is detected and nobody decides.

The cheating cloud holds its own signing key and all it lawfully knows (ciphertexts, unwrapped seeds); it does not
hold the Paillier key or the federation secret. Protocol sections 6.3, 6.4 and 12.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

from shared.crypto.paillier import add_plaintext, decode_ciphertext, encode_ciphertext, multiply
from shared.errors import JobCode
from shared.ids import AgentId
from shared.protocol.envelopes import unseal
from shared.protocol.job import Job
from shared.protocol.states import AgentState, CloudState
from shared.protocol.sums import CheckedContribution, compute_sum
from shared.secure_tree.masks import self_mask_sums
from shared.wire.base import decode_base64url, encode_base64url
from shared.wire.envelope import MessageType
from tests.protocol.test_simulation import NAMES, world
from tests.support.world import MAX_BYTES, TOY_KEY, World

PUBLIC = TOY_KEY.public
Checked = Mapping[AgentId, CheckedContribution]
Attack = Callable[[Job, Checked], list[str]]


def integers(texts: Sequence[str]) -> list[int]:
    return [decode_ciphertext(PUBLIC, decode_base64url(text, what="test")) for text in texts]


def texts(values: Sequence[int]) -> list[str]:
    return [encode_base64url(encode_ciphertext(PUBLIC, value)) for value in values]


def sum_of(job: Job, checked: Checked, names: Sequence[str]) -> list[str]:
    """The sum over these hospitals (with repeats), their self masks removed as the cloud can."""
    count = len(checked[AgentId(names[0])].ciphertexts)
    rows = [[decode_ciphertext(PUBLIC, raw) for raw in checked[AgentId(name)].ciphertexts] for name in names]
    masks = [0] * count
    for name in names:
        seeds = {AgentId(name): checked[AgentId(name)].nonces[0]}
        for column, mask in enumerate(self_mask_sums(job.context(), seeds, count, PUBLIC.n)):
            masks[column] += mask
    products = [multiply(PUBLIC, column) for column in zip(*rows, strict=True)]
    return texts([add_plaintext(PUBLIC, c, -m) for c, m in zip(products, masks, strict=True)])


def drop(job: Job, checked: Checked) -> list[str]:
    return sum_of(job, checked, ["h1", "h3", "h4"])


def duplicate(job: Job, checked: Checked) -> list[str]:
    return sum_of(job, checked, ["h1", "h1", "h2", "h3", "h4"])


def replace_one_by_another(job: Job, checked: Checked) -> list[str]:
    return sum_of(job, checked, ["h1", "h1", "h3", "h4"])


def single_out(job: Job, checked: Checked) -> list[str]:
    return sum_of(job, checked, ["h2"])


def scale(job: Job, checked: Checked) -> list[str]:
    return texts([pow(c, 2, PUBLIC.n_squared) for c in integers(compute_sum(job, checked, PUBLIC))])


def scale_one(job: Job, checked: Checked) -> list[str]:
    values = integers(compute_sum(job, checked, PUBLIC))
    return texts([values[0], pow(values[1], 3, PUBLIC.n_squared), *values[2:]])


def add_constant_at(place: int) -> Attack:
    def attack(job: Job, checked: Checked) -> list[str]:
        values = integers(compute_sum(job, checked, PUBLIC))
        values[place] = add_plaintext(PUBLIC, values[place], 5 << 48)
        return texts(values)

    return attack


def swap(job: Job, checked: Checked) -> list[str]:
    first, second, third, *rest = compute_sum(job, checked, PUBLIC)
    return [first, third, second, *rest]


def swap_roster_and_data(job: Job, checked: Checked) -> list[str]:
    first, second, *rest = compute_sum(job, checked, PUBLIC)
    return [second, first, *rest]


def all_zero(job: Job, checked: Checked) -> list[str]:
    return texts([1 for _ in compute_sum(job, checked, PUBLIC)])


def too_few(job: Job, checked: Checked) -> list[str]:
    return compute_sum(job, checked, PUBLIC)[:-1]


def invalid(job: Job, checked: Checked) -> list[str]:
    return [
        encode_base64url(PUBLIC.n.to_bytes(PUBLIC.ciphertext_bytes, "big")),
        *compute_sum(job, checked, PUBLIC)[1:],
    ]


ATTACKS = {
    "drop": drop,
    "duplicate": duplicate,
    "replace": replace_one_by_another,
    "single out": single_out,
    "scale": scale,
    "scale one ciphertext": scale_one,
    "add to the roster": add_constant_at(0),
    "add to the counts": add_constant_at(1),
    "add to the tag": add_constant_at(-1),
    "swap": swap,
    "swap roster and data": swap_roster_and_data,
    "zeros": all_zero,
    "too few ciphertexts": too_few,
    "multiples of n": invalid,
}


def assert_nobody_decides(built: World) -> None:
    for hospital in built.hospitals.values():
        assert hospital.tree is None
        assert hospital.participation is not None
        assert hospital.participation.state is AgentState.ABORTED
        assert not hospital.participation.growth.history or built.cloud.job.round > 0
    assert built.cloud.job.state is CloudState.FAILED


@pytest.mark.parametrize("attack", ATTACKS.values(), ids=ATTACKS.keys())
def test_a_wrong_sum_is_detected_by_every_hospital(attack: Attack) -> None:
    built = world(7)
    built.cloud.sum = attack
    built.run(2000, faults=0.0)
    assert_nobody_decides(built)
    assert built.cloud.job.failure in (JobCode.TAG_MISMATCH, JobCode.ROSTER_DIGITS)
    assert all(not h.participation.growth.history for h in built.hospitals.values())


def test_without_an_attack_the_same_world_finishes() -> None:
    built = world(7)
    built.run(2000, faults=0.0)
    assert built.cloud.job.state is CloudState.DONE


def test_a_stale_sum_is_detected() -> None:
    built = world(7, skip_known=False)
    kept: dict[int, list[str]] = {}

    def stale(job: Job, checked: Checked) -> list[str]:
        kept[job.round] = compute_sum(job, checked, PUBLIC)
        if job.round == 0:
            return kept[0]
        need = len(kept[job.round])
        return (kept[0] * need)[: need - 1] + kept[0][-1:]

    built.cloud.sum = stale
    built.run(2000, faults=0.0)
    assert_nobody_decides(built)
    assert built.cloud.job.round == 1


def on(
    kind: MessageType, names: Sequence[str], change: Callable[[dict[str, Any]], None], built: World
) -> None:
    """Forge this kind of message for these hospitals only."""

    def tamper(name: str, raw: bytes) -> bytes:
        if name in names and unseal(raw, max_bytes=MAX_BYTES).envelope.type is kind:
            return built.forge(raw, change)
        return raw

    built.tamper = tamper


def test_different_sums_for_different_hospitals_end_the_job() -> None:
    built = world(3)
    on(MessageType.AGGREGATE, ["h1"], lambda body: body["ciphertexts"].reverse(), built)
    built.run(2000, faults=0.0)
    assert built.cloud.job.failure is JobCode.TAG_MISMATCH
    assert {h.tree for h in built.hospitals.values()} == {None}


def other_hash(body: dict[str, Any]) -> None:
    body["contributions"] = [[name, "00" * 32] for name, _ in body["contributions"]]


def without_one(body: dict[str, Any]) -> None:
    body["contributions"] = body["contributions"][:-1]


@pytest.mark.parametrize("change", [other_hash, without_one])
def test_a_sum_that_does_not_list_the_own_contribution_is_refused(
    change: Callable[[dict[str, Any]], None],
) -> None:
    built = world(4)
    on(MessageType.AGGREGATE, NAMES, change, built)
    built.run(2000, faults=0.0)
    assert_nobody_decides(built)
    assert built.cloud.job.failure is JobCode.ROSTER_DIGITS


def swap_ephemeral(body: dict[str, Any]) -> None:
    first, second = body["accepts"][0]["envelope"]["body"], body["accepts"][1]["envelope"]["body"]
    first["ephemeral"], second["ephemeral"] = second["ephemeral"], first["ephemeral"]


def drop_member(body: dict[str, Any]) -> None:
    del body["accepts"][0], body["certificates"][0]


def repeat_member(body: dict[str, Any]) -> None:
    body["accepts"].append(body["accepts"][0])
    body["certificates"].append(body["certificates"][0])


@pytest.mark.parametrize("change", [swap_ephemeral, drop_member, repeat_member])
def test_a_roster_that_its_members_did_not_sign_is_refused(change: Callable[[dict[str, Any]], None]) -> None:
    built = world(5)
    on(MessageType.ROSTER, NAMES, change, built)
    built.run(600, faults=0.0)
    assert not built.cloud.aggregates
    assert all(h.refused for h in built.hospitals.values())
    assert {h.participation.state for h in built.hospitals.values()} == {AgentState.ACCEPTED}


def forged_decision(body: dict[str, Any]) -> None:
    if body["decisions"]:
        body["decisions"][0]["envelope"]["body"]["state"] = "00" * 32


def missing_decision(body: dict[str, Any]) -> None:
    body["decisions"] = body["decisions"][:-1]


def repeated_decision(body: dict[str, Any]) -> None:
    if body["decisions"]:
        body["decisions"][0] = body["decisions"][1]


@pytest.mark.parametrize("change", [forged_decision, missing_decision, repeated_decision])
def test_a_round_does_not_open_on_decisions_that_were_not_made(
    change: Callable[[dict[str, Any]], None],
) -> None:
    built = world(6)
    on(MessageType.ROUND_OPEN, NAMES, change, built)
    built.run(2000, faults=0.0)
    assert {h.tree for h in built.hospitals.values()} == {None}
    assert sorted(built.cloud.aggregates) == [0]


def test_round_0_cannot_open_again_once_its_sum_was_seen() -> None:
    built = world(8)
    while not built.cloud.aggregates:
        built.move(0.0)
    opened = next(
        r for r in built.cloud.inbox if unseal(r, max_bytes=MAX_BYTES).envelope.type == "round_open"
    )
    for name, hospital in built.hospitals.items():
        built.fetch(name, hospital, 0.0)
        later = unseal(opened, max_bytes=MAX_BYTES).envelope
        before = hospital.journal
        raw = built.forge(opened, lambda body: body["roster"].remove("h4"))
        assert later.round == 0
        hospital.take(hospital.cursor, raw)
        assert hospital.participation.state is AgentState.DECIDED
        assert hospital.journal == before
