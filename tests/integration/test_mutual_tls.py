"""Mutual TLS on loopback: client certificates as a second lock before signatures, from either side."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from itertools import count
from pathlib import Path

import httpx2
import pytest

from cloud_service.settings import Settings, check_listening
from hospital_agent.cloud import CloudClient, Patience, RelayDoor
from hospital_agent.cloud.connecting import open_http
from hospital_agent.settings import load_settings
from shared.errors import ErrorCode, InputError, PeerError, TemporaryError
from shared.ids import AgentId
from shared.wire.base import encode_base64url
from tests.support.certificates import Authority, self_signed
from tests.support.cloud_server import CloudUnderTest, running_cloud
from tests.support.toy_keys import fixed_key
from tests.support.world import Parties

NUMBERS = map(str, count())


@dataclass(frozen=True)
class Files:
    """The cloud's folder with its TLS files, and clients' certificates with their keys."""

    folder: Path
    good: tuple[Path, Path]
    foreign: tuple[Path, Path]

    @property
    def server(self) -> Path:
        return self.folder / "tls.crt"


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Files:
    folder = tmp_path_factory.mktemp("mutual")
    self_signed(folder)
    trusted, other = Authority.found("clients"), Authority.found("clients")
    (folder / "clients.crt").write_bytes(trusted.pem)
    return Files(folder, trusted.client(folder, "h1"), other.client(folder, "foreign"))


@contextmanager
def cloud_with(files: Files, *, required: bool) -> Iterator[CloudUnderTest]:
    with running_cloud(
        files.folder,
        f"sqlite:///{files.folder / next(NUMBERS)}.db",
        bits=512,
        hospitals=(),
        parties=Parties([AgentId(name) for name in ("h1", "h2", "h3")], fixed_key(512)),
        tls_certificate="tls.crt",
        tls_key="tls.key",
        tls_client_ca="clients.crt",
        tls_client_required=required,
    ) as cloud:
        yield cloud


def register(cloud: CloudUnderTest, files: Files, shown: tuple[Path, Path] | None) -> None:
    """As the agent h1 does when it starts."""
    identity = cloud.parties.identities[AgentId("h1")]
    certificate = encode_base64url(cloud.parties.certificates[AgentId("h1")])
    quick = Patience(first_seconds=0.01, most_seconds=0.01, total_seconds=0.01)
    with CloudClient.connect(
        cloud.base_url, "h1", identity, ca_bundle=files.server, client_files=shown, patience=quick
    ) as client:
        client.register(certificate, version("privet"))


def test_without_a_certificate_nobody_gets_through_where_one_is_required(files: Files) -> None:
    with cloud_with(files, required=True) as cloud:
        register(cloud, files, files.good)
        with pytest.raises(TemporaryError):
            register(cloud, files, None)
        with pytest.raises(TemporaryError):
            register(cloud, files, files.foreign)
        with pytest.raises(httpx2.TransportError):
            cloud.people.get("/healthz")
        registered = cloud.services.hospitals.all()
    assert [hospital.id for hospital in registered] == ["h1"]


def test_people_need_none_where_it_is_not_required_but_a_foreign_one_is_refused(files: Files) -> None:
    with cloud_with(files, required=False) as cloud:
        register(cloud, files, files.good)
        register(cloud, files, None)
        assert cloud.people.get("/v1/hospitals").status_code == 200
        with pytest.raises(TemporaryError):
            register(cloud, files, files.foreign)


def test_a_client_certificate_stands_for_nobody(files: Files) -> None:
    """Whoever has one still signs as itself: h1's certificate does not let h2's messages be h1's."""
    with cloud_with(files, required=True) as cloud:
        identity = cloud.parties.identities[AgentId("h2")]
        certificate = encode_base64url(cloud.parties.certificates[AgentId("h1")])
        with (
            CloudClient.connect(
                cloud.base_url, "h1", identity, ca_bundle=files.server, client_files=files.good
            ) as client,
            pytest.raises(PeerError) as refused,
        ):
            client.register(certificate, version("privet"))
        assert refused.value.code is ErrorCode.BAD_SIGNATURE
        door = RelayDoor(
            cloud.base_url, "h1", "0" * 32, identity, ca_bundle=files.server, client_files=files.good
        )
        for open_way in (door.websocket, door.long_poll):  # TLS lets it in, the cloud answers
            with pytest.raises(PeerError):
                open_way()


WRONG = [
    ({"tls_client_required": True}, "nobody says whose certificates count"),
    ({"tls_client_ca": "clients.crt"}, "for a cloud that ends TLS itself"),
    (
        {
            "tls_client_ca": "clients.crt",
            "tls_client_required": True,
            "tls_certificate": "tls.crt",
            "tls_key": "tls.key",
            "replica": {"address": "https://10.0.0.5:8443"},
        },
        "none of them could reach another",
    ),
    ({"tls_client_ca": "none.crt", "tls_certificate": "tls.crt", "tls_key": "tls.key"}, "no PEM file"),
    ({"tls_client_ca": "tls.key", "tls_certificate": "tls.crt", "tls_key": "tls.key"}, "no PEM file"),
]


@pytest.mark.parametrize(("values", "said"), WRONG)
def test_settings_that_would_protect_nothing_stop_the_start(
    files: Files, values: dict[str, object], said: str
) -> None:
    with pytest.raises(InputError, match=said) as refused:
        check_listening(Settings.model_validate({"folder": files.folder, **values}))
    assert refused.value.number == "C004"


def test_an_agent_names_both_files_or_neither(files: Files, tmp_path: Path) -> None:
    lines = 'id = "h1"\nclient_certificate = "h1.crt"\n'
    (tmp_path / "agent.toml").write_text(lines)
    with pytest.raises(InputError, match="goes with client_key"):
        load_settings(tmp_path)
    (tmp_path / "agent.toml").write_text(lines + 'client_key = "h1.key"\n')
    assert load_settings(tmp_path).client_files == (tmp_path / "h1.crt", tmp_path / "h1.key")
    with pytest.raises(InputError, match="no client certificate"):
        open_http("https://cloud.example", files.server, (files.good[0], files.foreign[1]))
