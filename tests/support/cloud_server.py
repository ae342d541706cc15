"""A real cloud on a free loopback port, in a thread of this process, over fixed keys.

    with running_cloud(tmp_path) as cloud:
        cloud.people.get("/v1/jobs")

`bits=512` is a toy modulus behind a seam that only tests have: `FixedMembership`.
"""

from __future__ import annotations

import ssl
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import httpx2
from fastapi import FastAPI

from cloud_service.api.server import Server, server_config
from cloud_service.app import create_app
from cloud_service.service.federation import Joined, Membership
from cloud_service.service.folder import CloudKeyPair
from cloud_service.service.services import Services, build_services, unix_time
from cloud_service.settings import Settings
from cloud_service.store import schema
from cloud_service.store.database import Database
from shared.crypto.paillier import PublicKey
from shared.ids import CLOUD, AgentId
from shared.protocol.enrolment import fingerprint, seal_bundle, sign_federation, trust_of
from shared.protocol.key_shares import threshold_spec
from shared.protocol.polling import Registration, SignedRegistration, sign_registration
from shared.wire.base import encode_base64url
from shared.wire.enrolment import (
    AgentBundle,
    CloudBundle,
    Federation,
    FederationSecrets,
    Member,
    ShareSecrets,
    SignedFederation,
)
from tests.support.databases import give_tables
from tests.support.toy_keys import fixed_key
from tests.support.world import SECRET, UNWRAPPING, Parties

HOSPITALS = ("h1", "h2", "h3")
ALL_ROLES = ("operator", "coordinator", "analyst", "auditor")
"""Of the token that most tests use; `test_access_matrix.py` tries each role alone."""


def key_pair(parties: Parties) -> CloudKeyPair:
    """The cloud's own keys in this federation."""
    return CloudKeyPair(parties.identities[CLOUD], UNWRAPPING)


def federation_of(
    parties: Parties, *, epoch: int = 1, issued: int = 1, without: Sequence[str] = ()
) -> Federation:
    """The document over all parties; real key sizes only."""
    members = [
        Member(id=name, role="cloud" if name == CLOUD else "agent", certificate_sha256=fingerprint(der))
        for name, der in sorted(parties.certificates.items())
        if name not in without
    ]
    public = parties.public
    dealt = parties.dealt
    return Federation(
        name="test federation",
        epoch=epoch,
        key_id=public.key_id,
        n=f"{public.n:x}",
        key_bits=public.bits,  # type: ignore[arg-type]  # checked by the model
        root_certificate=encode_base64url(parties.root),
        members=members,
        issued=issued,
        threshold=None if dealt is None else threshold_spec(dealt.key, [str(name) for name in parties.names]),
    )


def signed_federation(parties: Parties, **changes: Any) -> SignedFederation:
    """The document as the trusted authority hands it out."""
    return sign_federation(parties.root_key, federation_of(parties, **changes))


def cloud_bundle(parties: Parties, **changes: Any) -> bytes:
    """The file `cloud.bundle`."""
    document = signed_federation(parties, **changes)
    return CloudBundle(
        certificate=encode_base64url(parties.certificates[CLOUD]), federation=document
    ).canonical()


def agent_bundle(parties: Parties, agent: str, **changes: Any) -> AgentBundle:
    """The file `<agent>.bundle`; opens with the sealing key whose public half stands in the certificate."""
    document = signed_federation(parties, **changes)
    certificate = trust_of(document.federation).certificate(parties.certificates[agent], role="agent")
    if parties.dealt is not None:
        index = parties.names.index(AgentId(agent)) + 1
        own = ShareSecrets(
            share=f"{parties.dealt.shares[index - 1]:x}",
            index=index,
            G=SECRET.hex(),
            key_id=document.federation.key_id,
            epoch=document.federation.epoch,
        )
        return seal_bundle(parties.root_key, certificate, document, own)
    secrets = FederationSecrets(
        p=f"{int(parties.key.p):x}",
        q=f"{int(parties.key.q):x}",
        G=SECRET.hex(),
        key_id=document.federation.key_id,
        epoch=document.federation.epoch,
    )
    return seal_bundle(parties.root_key, certificate, document, secrets)


class FixedMembership(Membership):
    """The seam for toy keys: the joined document's key is replaced by one that no document could name."""

    def __init__(self, database: Database, keys: CloudKeyPair, public: PublicKey) -> None:
        super().__init__(database, keys)
        self._public_key = public

    def current(self) -> Joined:
        """The document in force, naming the toy key."""
        joined = super().current()
        federation = joined.federation.model_copy(update={"key_id": self._public_key.key_id})
        return replace(joined, federation=federation)

    def public_key(self, key_id: str) -> PublicKey:
        """The toy key."""
        assert key_id == self._public_key.key_id
        return self._public_key


@dataclass
class CloudUnderTest:
    """A running cloud and its whole federation. `people`: an HTTP client with a token."""

    folder: Path
    parties: Parties
    settings: Settings
    membership_key: PublicKey | None
    services: Services = field(init=False)
    app: FastAPI = field(init=False)
    base_url: str = field(init=False)
    token: str = field(init=False)
    people: httpx2.Client = field(init=False)

    def __post_init__(self) -> None:
        give_tables(self.settings.database)
        database = Database(self.settings.database)
        schema.upgrade(database)
        real = self.parties if self.membership_key is None else _with_real_key(self.parties)
        root = fingerprint(self.parties.root)
        Membership(database, key_pair(self.parties)).join(cloud_bundle(real), root, unix_time())
        database.dispose()
        self.start()
        self.token = self.services.tokens.create("test", ALL_ROLES)
        self._connect()

    def start(self) -> None:
        """Begin to serve, on a new port."""
        self.services = self._build()
        ready = threading.Event()
        ports: list[int] = []

        def note(port: int) -> None:
            ports.append(port)
            ready.set()

        self.app = create_app(self.services)
        config = server_config(self.app, self.settings)
        self._server = Server(config, self.services.notifier.close, note)
        self._thread = threading.Thread(target=self._server.run, name="cloud", daemon=True)
        self._thread.start()
        assert ready.wait(30), "the cloud did not start"
        scheme = "http" if self.settings.tls_files is None else "https"
        self.base_url = f"{scheme}://127.0.0.1:{ports[0]}"

    def stop(self) -> None:
        """End the server and its workers."""
        self._server.should_exit = True
        self._thread.join(30)
        assert not self._thread.is_alive(), "the cloud did not stop"

    def restart(self) -> None:
        """Stop, and start from what is in the database."""
        self.people.close()
        self.stop()
        self.start()
        self._connect()

    def close(self) -> None:
        """Stop everything."""
        self.people.close()
        self.stop()

    def second(self) -> Services:
        """The use cases of another replica over the same database; its owner stops what it starts."""
        return self._build()

    def _build(self) -> Services:
        database = Database(self.settings.database)
        keys = key_pair(self.parties)
        if self.membership_key is None:
            return build_services(self.settings, database, keys, Membership(database, keys))
        membership = FixedMembership(database, keys, self.membership_key)
        return build_services(self.settings, database, keys, membership)

    def _connect(self) -> None:
        headers = {"Authorization": f"Bearer {self.token}"}
        tls = self.settings.tls_files
        trusted = ssl.create_default_context(cafile=None if tls is None else str(tls[0]))
        self.people = httpx2.Client(
            base_url=self.base_url, headers=headers, timeout=30, trust_env=False, verify=trusted
        )

    def registration(self, agent: str, time: int | None = None) -> SignedRegistration:
        """What an agent sends to register."""
        certificate = encode_base64url(self.parties.certificates[agent])
        claim = Registration(
            certificate=certificate, version=version("privet"), time=unix_time() if time is None else time
        )
        return sign_registration(claim, self.parties.identities[agent])

    def register(self, *agents: str) -> None:
        """Register hospitals."""
        for agent in agents:
            answer = self.people.post(
                "/v1/hospitals",
                content=self.registration(agent).canonical(),
                headers={"content-type": "application/json"},
            )
            assert answer.status_code == 200, answer.text

    def study(self, schema_: dict[str, Any], *, name: str = "study", **changes: Any) -> str:
        """Create a study; its id."""
        body = {"id": name, "question": "does it work?", "schema": schema_, "synthetic": True, **changes}
        answer = self.people.post("/v1/studies", json=body)
        assert answer.status_code == 201, answer.text
        return name

    def job(self, study: str = "study", **changes: Any) -> str:
        """Start a job with rules as loose as can be; its id."""
        loose = {"min_node": 1, "min_child": 1, "max_depth": None}
        answer = self.people.post(f"/v1/studies/{study}/jobs", json={**loose, **changes})
        assert answer.status_code == 201, answer.text
        return str(answer.json()["id"])


def _with_real_key(parties: Parties) -> Parties:
    real = Parties.__new__(Parties)
    real.__dict__.update(parties.__dict__)
    real.key = fixed_key(2048)
    return real


@contextmanager
def running_cloud(
    folder: Path,
    database_url: str = "",
    *,
    hospitals: Sequence[str] = HOSPITALS,
    bits: int = 2048,
    parties: Parties | None = None,
    **settings: Any,
) -> Iterator[CloudUnderTest]:
    """A cloud with registered hospitals. `settings`: changes to the cloud's settings."""
    folder.mkdir(exist_ok=True)
    federation = parties or Parties([AgentId(name) for name in hospitals], fixed_key(bits))
    chosen = Settings.model_validate({"folder": folder, "port": 0, "database_url": database_url, **settings})
    toy = federation.key.public if bits < 2048 else None
    cloud = CloudUnderTest(folder, federation, chosen, toy)
    try:
        cloud.register(*hospitals)
        yield cloud
    finally:
        cloud.close()
