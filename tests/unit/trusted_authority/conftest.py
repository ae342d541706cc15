from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pytest

from shared.crypto.paillier_private import PrivateKey
from shared.wire.enrolment import MAX_BUNDLE_BYTES, AgentBundle, CloudBundle
from tests.support.members import Party, cloud
from tests.support.toy_keys import fixed_key
from trusted_authority import ceremony, describing
from trusted_authority.bundles import Written
from trusted_authority.requests import read_requests
from trusted_authority.vault import Vault

NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)


@pytest.fixture(autouse=True)
def fixed_paillier_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """No test here waits for primes, except the one that runs the command as users do."""

    def of_size(bits: int) -> PrivateKey:
        return fixed_key(bits)

    monkeypatch.setattr(ceremony, "generate", of_size)
    monkeypatch.delenv("PRIVET_AUTHORITY_PASSPHRASE", raising=False)


@dataclass(frozen=True)
class House:
    """A founded federation of 2048 bits, and where its members leave their requests."""

    vault: Vault
    desk: Path

    @property
    def root_sha256(self) -> str:
        return describing.root_fingerprint(self.vault)

    def certify(self, *parties: Party, replace: bool = False, now: datetime = NOW) -> Written:
        paths = [party.write_request(self.desk) for party in parties]
        requests = read_requests(self.vault, paths, replace=replace)
        return ceremony.certify(self.vault, requests, out=self.vault.out, now=now)

    def agent_bundle(self, member: str) -> AgentBundle:
        raw = (self.vault.out / f"{member}.bundle").read_bytes()
        return AgentBundle.parse(raw, what="bundle", max_bytes=MAX_BUNDLE_BYTES)

    def cloud_bundle(self) -> CloudBundle:
        raw = (self.vault.out / "cloud.bundle").read_bytes()
        return CloudBundle.parse(raw, what="bundle", max_bytes=MAX_BUNDLE_BYTES)


@pytest.fixture
def found(tmp_path: Path) -> Callable[..., House]:
    """Found a federation, with or without a passphrase."""

    def build(passphrase: str | None = None) -> House:
        desk = tmp_path / "desk"
        desk.mkdir()
        vault, _ = ceremony.found(
            tmp_path / "authority", name="Test", key_bits=2048, passphrase=passphrase, now=NOW
        )
        return House(vault, desk)

    return build


@pytest.fixture
def house(found: Callable[..., House]) -> House:
    return found()


@pytest.fixture
def agents() -> Sequence[Party]:
    return [Party("h1"), Party("h2"), Party("h3")]


@pytest.fixture
def full_house(house: House, agents: Sequence[Party]) -> House:
    """Cloud and three agents certified."""
    house.certify(cloud(), *agents)
    return house
