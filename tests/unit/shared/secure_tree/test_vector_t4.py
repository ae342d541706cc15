"""Vector T4: the product against published values and against a second, plain computation of them."""

from __future__ import annotations

import hashlib
import json
import runpy
from pathlib import Path
from typing import Any

import pytest

from shared.crypto.agreement import public_of
from shared.ids import AgentId
from shared.secure_tree.aggregate import open_aggregate, sum_contributions
from shared.secure_tree.context import RoundContext, hidden_state
from shared.secure_tree.contribution import build_contribution, plain_vector
from shared.secure_tree.masks import mask_vector, self_key
from shared.secure_tree.packing import plaintext_count, slots_per_plaintext
from shared.secure_tree.paper import build_matrix, open_matrix, sum_matrices
from shared.secure_tree.tag import coefficients, tag
from tests.support.toy_keys import PublishedObfuscators, t4_key

VECTORS = Path(__file__).parents[3] / "vectors"
HARDENED = json.loads((VECTORS / "t4_hardened.json").read_text())
PAPER = json.loads((VECTORS / "t4_paper.json").read_text())
KEY = t4_key()
N = KEY.public.n
NAMES = [AgentId(name) for name in ("h1", "h2", "h3")]
SECRET = bytes.fromhex(HARDENED["federation_secret"])
PRIVATE = {name: bytes.fromhex(HARDENED["x25519_private"][name]) for name in NAMES}
SEEDS = {name: bytes.fromhex(HARDENED["seeds"][name]) for name in NAMES}


def sha256(raw: bytes) -> str:
    return hashlib.sha256(raw).hexdigest()


def context() -> RoundContext:
    mh = bytes.fromhex(HARDENED["mh"])
    roster = tuple((name, hashlib.sha256(name.encode()).digest()) for name in NAMES)
    return RoundContext(mh, 0, 0, roster, hidden_state(SECRET, mh, bytes.fromhex(HARDENED["s_0"])))


def peers(own: AgentId) -> dict[AgentId, bytes]:
    return {name: public_of(PRIVATE[name]) for name in NAMES if name != own}


def contribution(own: AgentId) -> list[bytes]:
    cipher = PublishedObfuscators(KEY, own)
    return build_contribution(
        cipher, context(), own, SECRET, HARDENED["cells"][own], PRIVATE[own], peers(own), SEEDS[own]
    )


def test_the_files_say_what_the_protocol_prints() -> None:
    assert PAPER["sum_sha256"] == "7954b480d326c9bd9364acb9d2de410df41d2b7e49647721fbed92fbfec93ed4"
    assert HARDENED["ctx_sha256"] == "4cbcf182910bf38c88a5928542bf9e2fedd5636f2e87506e12df0460909cbd6a"
    assert HARDENED["aggregate_sha256"] == "4bd8a379214cf549bb0bc30b70cb29d09ea8e2ef337bae28c81a4146cd97725c"
    assert HARDENED["h1_m_0"] == "2b411188392b71ec974b75874a49b0a477f2f45d3bec7b314f2c4c4678f012fd"


def test_the_plain_generator_still_gives_these_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["generate_t4.py"])
    with pytest.raises(SystemExit) as done:
        runpy.run_path(str(VECTORS / "generate_t4.py"), run_name="__main__")
    assert done.value.code == 0


def test_context_and_hidden_state() -> None:
    assert context().roster_hash.hex() == HARDENED["roster_hash"]
    assert context().state.hex() == HARDENED["state_0"]
    assert sha256(context().ctx) == HARDENED["ctx_sha256"]
    assert context().agents == tuple(NAMES)


def test_sizes() -> None:
    assert slots_per_plaintext(KEY.public.bits) == 5
    assert plaintext_count(8, 3, KEY.public.bits) == 3


def test_plaintexts_tag_and_masks_of_h1() -> None:
    own = NAMES[0]
    plain = plain_vector(context(), own, HARDENED["cells"][own], KEY.public.bits)
    assert [f"{x:x}" for x in [*plain, tag(context(), SECRET, plain, N)]] == HARDENED["h1_plaintexts"]
    assert f"{coefficients(context(), SECRET, 3, N)[0]:x}" == HARDENED["alpha_0"]
    assert self_key(context(), own, SEEDS[own]).hex() == HARDENED["h1_self_key"]
    masks = mask_vector(context(), own, SEEDS[own], PRIVATE[own], peers(own), 4, N)
    assert f"{masks[0]:x}" == HARDENED["h1_m_0"]


@pytest.mark.parametrize("own", NAMES)
def test_contributions(own: AgentId) -> None:
    assert sha256(b"".join(contribution(own))) == HARDENED["contribution_sha256"][own]


def test_the_aggregate_opens_to_the_summed_matrix() -> None:
    sums = sum_contributions(KEY.public, context(), {name: contribution(name) for name in NAMES}, SEEDS)
    assert b"".join(sums).hex() == HARDENED["aggregate"]
    assert [f"{KEY.decrypt(int.from_bytes(raw, 'big')):x}" for raw in sums] == HARDENED["decrypted"]
    assert open_aggregate(PublishedObfuscators(KEY, "h1"), context(), SECRET, 8, sums) == HARDENED["opened"]


def test_profile_paper() -> None:
    matrices: list[Any] = []
    nonces = [PAPER["nonces"][name].to_bytes(32, "big") for name in NAMES]
    for name, nonce in zip(NAMES, nonces, strict=True):
        matrices.append(build_matrix(PublishedObfuscators(KEY, name), PAPER["cells"][name], nonce))
    sums = sum_matrices(KEY.public, matrices, nonces)
    assert sha256(b"".join(sums)) == PAPER["sum_sha256"]
    assert open_matrix(PublishedObfuscators(KEY, "h1"), sums) == PAPER["decrypted"]
