"""Where a compute party listens: settings to an endpoint, one port a job."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from hospital_agent.computing.endpoints import choose_endpoint
from hospital_agent.links.meeting import listen
from hospital_agent.links.tls import JobCertificate
from hospital_agent.settings import ComputeSection
from shared.errors import InputError

PRIVATE, MH = bytes([7]) * 32, bytes([9]) * 32


def test_without_an_address_there_is_no_endpoint() -> None:
    assert choose_endpoint(ComputeSection(), [], PRIVATE, MH) is None


def test_the_endpoint_names_the_jobs_certificate_and_a_free_port() -> None:
    section = ComputeSection(listen="127.0.0.1:0", advertise="h1.example")
    found = choose_endpoint(section, [], PRIVATE, MH)
    assert found is not None
    assert found.host == "h1.example"
    assert found.certificate_sha256 == JobCertificate.of(PRIVATE, mh=MH).sha256
    listen("127.0.0.1", found.port).close()


def test_ports_of_running_jobs_and_of_others_are_passed_over() -> None:
    with listen("127.0.0.1", 0) as other:
        first = int(other.getsockname()[1])
        section = ComputeSection(listen=f"127.0.0.1:{first}-{first + 20}")
        found = choose_endpoint(section, [first + 1], PRIVATE, MH)
        assert found is not None
        assert found.port not in (first, first + 1)
        with pytest.raises(InputError, match="cannot listen"):
            choose_endpoint(ComputeSection(listen=f"127.0.0.1:{first}"), [], PRIVATE, MH)
    with pytest.raises(InputError, match="taken by a running job"):
        choose_endpoint(ComputeSection(listen=f"127.0.0.1:{first}"), [first], PRIVATE, MH)


@pytest.mark.parametrize(
    "section",
    [
        {"listen": "127.0.0.1"},
        {"listen": "127.0.0.1:70000"},
        {"listen": "127.0.0.1:9000-8000"},
        {"listen": "0.0.0.0:9000"},
        {"channel": "pigeon"},
    ],
)
def test_addresses_that_cannot_be_are_refused(section: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        ComputeSection(**section)
