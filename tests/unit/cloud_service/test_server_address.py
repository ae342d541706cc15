"""The address that `privet cloud serve` tells a person to open."""

from __future__ import annotations

from pathlib import Path

import pytest

from cloud_service.api.server import address_of
from cloud_service.settings import Settings


@pytest.mark.parametrize(
    ("host", "tls", "address"),
    [
        ("127.0.0.1", False, "http://127.0.0.1:8700/"),
        ("0.0.0.0", False, "http://localhost:8700/"),
        ("::", True, "https://localhost:8700/"),
        ("::1", False, "http://[::1]:8700/"),
        ("cloud.example.org", True, "https://cloud.example.org:8700/"),
    ],
)
def test_it_can_be_opened_at_this_machine(host: str, tls: bool, address: str) -> None:
    files = {"tls_certificate": Path("tls.crt"), "tls_key": Path("tls.key")} if tls else {}
    settings = Settings.model_construct(host=host, folder=Path(), **files)
    assert address_of(settings, 8700) == address
