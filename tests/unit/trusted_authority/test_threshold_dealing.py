"""Rotating into key mode threshold and back: who gets what, and that nobody gets the factors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import pytest

from hospital_agent.keyring import Keyring, MeteredShare
from shared.crypto.threshold import combine
from shared.errors import InputError, PeerError
from shared.protocol.enrolment import FederationKeys, open_bundle
from shared.protocol.key_shares import ShareKeys, holders_of, threshold_key
from shared.wire.base import encode_base64url
from shared.wire.enrolment import Federation
from tests.support.members import Party, cloud
from tests.support.threshold_keys import safe_primes
from tests.unit.trusted_authority.conftest import NOW, House
from trusted_authority import ceremony, describing
from trusted_authority.bundles import Written


def rotate(house: House, **changes: Any) -> Written:
    chosen = {"key_bits": None, "out": house.vault.out, "now": NOW, "primes": safe_primes}
    return ceremony.rotate(house.vault, **{**chosen, "key_mode": "threshold", **changes})


def opened(house: House, party: Party) -> ShareKeys | FederationKeys:
    _, keys = open_bundle(
        house.agent_bundle(party.id),
        house.root_sha256,
        identity_public=party.identity.public,
        sealing_private=party.sealing_private,
    )
    return keys


def secrets_of_key() -> list[int]:
    p, q = safe_primes(2048)
    n, m = p * q, (p - 1) // 2 * ((q - 1) // 2)
    return [p, q, (p - 1) // 2, (q - 1) // 2, m, m * pow(m, -1, n)]


def test_each_agent_gets_its_own_share_and_together_they_decrypt(
    full_house: House, agents: Sequence[Party]
) -> None:
    written = rotate(full_house)
    federation = written.federation
    assert list(holders_of(federation)) == ["h1", "h2", "h3"]
    key = threshold_key(federation)
    assert (key.threshold, key.holders, federation.epoch) == (3, 3, 2)
    found = [opened(full_house, party) for party in agents]
    assert all(isinstance(keys, ShareKeys) for keys in found)
    assert len({keys.share for keys in found if isinstance(keys, ShareKeys)}) == 3
    ciphers = [MeteredShare.create(k.key, k.index, k.share) for k in found if isinstance(k, ShareKeys)]
    sums = [int.from_bytes(raw, "big") for raw in ciphers[0].encrypt([41, 7])]
    assert combine(key, [cipher.partial(sums, b"ctx") for cipher in ciphers]) == [41, 7]
    for cipher in ciphers:
        cipher.close()


def test_the_factors_leave_no_trace_in_files_or_objects(
    full_house: House, agents: Sequence[Party], tmp_path: Path
) -> None:
    written = rotate(full_house)
    n = int(written.federation.n, 16)
    held = integers(opened(full_house, agents[0])) | integers(written.federation)
    content = b"".join(path.read_bytes() for path in sorted(tmp_path.rglob("*")) if path.is_file())
    assert f"{n:x}".encode() in content
    assert n in held  # the controls: what must be there is found in the same way
    for secret in secrets_of_key():
        raw = secret.to_bytes((secret.bit_length() + 7) // 8, "big")
        spelt = [raw, f"{secret:x}".encode(), str(secret).encode(), encode_base64url(raw).encode()]
        assert not any(text in content for text in spelt)
        assert secret not in held


def integers(value: object) -> set[int]:
    """Every integer that can be reached from an object of ours."""
    if isinstance(value, int):
        return {int(value)}
    if is_dataclass(value):
        return set().union(*(integers(getattr(value, field.name)) for field in fields(value)))
    if isinstance(value, Federation):
        return {int(value.n, 16)} | integers(threshold_key(value))
    if isinstance(value, dict):
        return set().union(set(), *map(integers, value.values()))
    if isinstance(value, (tuple, list)):
        return set().union(set(), *map(integers, value))
    return {int(value)} if hasattr(value, "bit_length") else set()  # type: ignore[call-overload]


def test_and_back_to_a_key_that_everyone_holds_whole(full_house: House, agents: Sequence[Party]) -> None:
    rotate(full_house)
    written = ceremony.rotate(
        full_house.vault, key_bits=None, out=full_house.vault.out, now=NOW, key_mode="shared"
    )
    assert written.federation.threshold is None
    assert b"threshold" not in written.document.read_bytes()
    assert isinstance(opened(full_house, agents[0]), FederationKeys)


def test_the_mode_stays_unless_another_is_asked_for(full_house: House) -> None:
    rotate(full_house)
    again = rotate(full_house, key_mode=None).federation
    assert again.threshold is not None
    assert again.epoch == 3


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"threshold": 1}, "the threshold of 3 holders is 2 to 3, not 1"),
        ({"threshold": 4}, "the threshold of 3 holders is 2 to 3, not 4"),
        ({"key_mode": "shared", "threshold": 3}, "belongs to key mode threshold"),
    ],
)
def test_a_threshold_that_keeps_no_promise_changes_nothing(
    full_house: House, changes: dict[str, Any], words: str
) -> None:
    before = full_house.vault.federation()
    with pytest.raises(InputError, match=words):
        rotate(full_house, **changes)
    assert full_house.vault.federation() == before


def test_a_smaller_threshold_is_warned_of(full_house: House) -> None:
    federation = rotate(full_house, threshold=2).federation
    told = " ".join(describing.warnings_of(full_house.vault, federation, NOW))
    assert "2 of 3 agents open a sum together" in told
    assert "fewer than 1 of the agents" in told
    whole = rotate(full_house, threshold=3).federation
    assert "open a sum together" not in " ".join(describing.warnings_of(full_house.vault, whole, NOW))
    assert "of which 3 open a sum; held by h1, h2, h3" in describing.shown(full_house.vault, whole, NOW).text


def test_too_few_agents_get_no_shares(house: House, agents: Sequence[Party]) -> None:
    house.certify(cloud(), *agents[:2])
    with pytest.raises(InputError, match="at least 3 agents, and 2 are certified"):
        rotate(house)


def test_who_comes_later_has_no_share_until_the_next_rotation(
    full_house: House, agents: Sequence[Party]
) -> None:
    rotate(full_house)
    newcomer = Party("h4")
    written = full_house.certify(newcomer)
    assert "h4" not in written.bundles
    assert "h4 came after the key was dealt" in " ".join(
        describing.warnings_of(full_house.vault, written.federation, NOW)
    )
    federation = rotate(full_house).federation
    assert list(holders_of(federation)) == ["h1", "h2", "h3", "h4"]
    assert isinstance(opened(full_house, newcomer), ShareKeys)


def test_a_renewed_certificate_keeps_its_share(full_house: House, agents: Sequence[Party]) -> None:
    rotate(full_house)
    before = opened(full_house, agents[1])
    full_house.certify(agents[1], replace=True)
    after = opened(full_house, agents[1])
    assert isinstance(before, ShareKeys)
    assert isinstance(after, ShareKeys)
    assert (after.index, after.share) == (before.index, before.share)


def test_the_bundle_of_another_holder_does_not_open(full_house: House, agents: Sequence[Party]) -> None:
    rotate(full_house)
    body = full_house.agent_bundle("h1")
    with pytest.raises(PeerError):
        open_bundle(
            body,
            full_house.root_sha256,
            identity_public=agents[1].identity.public,
            sealing_private=agents[1].sealing_private,
        )


def test_an_agent_joins_with_its_share(
    found: Callable[..., House], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The command's way: an agent's own keys, its request certified, the bundle after the dealing imported."""
    house = found()
    ring = Keyring.create(tmp_path / "h9", "h9")
    request = tmp_path / "h9" / "h9.csr"
    others = [party.write_request(house.desk) for party in (cloud(), Party("h1"), Party("h2"))]
    checked = ceremony_requests(house, [request, *others])
    ceremony.certify(house.vault, checked, out=house.vault.out, now=NOW)
    rotate(house)
    federation = ring.join(house.vault.out / "h9.bundle", house.root_sha256, "h9")
    keys = ring.hospital_keys().round_keys
    assert keys.key_mode == "threshold"
    assert keys.share.threshold_key == threshold_key(federation)
    assert keys.holders == {"h1": 1, "h2": 2, "h9": 3}
    ring.close()


def ceremony_requests(house: House, paths: list[Path]) -> Any:
    from trusted_authority.requests import read_requests

    return read_requests(house.vault, paths, replace=False)
