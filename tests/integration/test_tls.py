"""TLS 1.3 and nothing older (protocol section 2), from either side."""

from __future__ import annotations

import ssl
from pathlib import Path

import httpx
import pytest
from fastapi import FastAPI

from cloud_service.api.server import server_config
from cloud_service.settings import Settings
from hospital_agent.cloud import CloudClient
from shared.crypto.identity import IdentityKey
from tests.support.certificates import self_signed


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """With `tls.crt` and `tls.key`, self-signed."""
    return self_signed(tmp_path).parent


def test_the_cloud_offers_tls_1_3_only(folder: Path) -> None:
    settings = Settings(folder=folder, tls_certificate=Path("tls.crt"), tls_key=Path("tls.key"))
    config = server_config(FastAPI(), settings)
    config.load()
    assert config.ssl is not None
    assert config.ssl.minimum_version is ssl.TLSVersion.TLSv1_3


def test_an_agent_speaks_tls_1_3_only(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[ssl.SSLContext] = []
    real = httpx.Client

    def client(**options: object) -> httpx.Client:
        context = options["verify"]
        assert isinstance(context, ssl.SSLContext)
        made.append(context)
        return real(verify=context)

    monkeypatch.setattr(httpx, "Client", client)
    CloudClient.connect("https://cloud.example", "h1", IdentityKey.generate()).http.close()
    assert [context.minimum_version for context in made] == [ssl.TLSVersion.TLSv1_3]
