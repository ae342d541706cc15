"""The manifest's block `noise`: what it takes, what it refuses, and that it is not there where it is not used."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from shared.ids import AgentId
from shared.wire.manifest import Manifest
from shared.wire.noise import MAX_VARIANCE, NoiseSpec
from tests.support.clinic import SCHEMA
from tests.support.world import Parties

PARTIES = Parties([AgentId(f"h{number}") for number in range(1, 6)])


def manifest(**changes: Any) -> Manifest:
    return PARTIES.manifest(SCHEMA, **{"skip_known": False, "noise": {"sigma_squared": 400}, **changes})


def test_a_manifest_without_noise_has_the_bytes_it_always_had() -> None:
    plain = manifest(noise=None)
    assert b"noise" not in plain.canonical()
    assert b'"noise":{"delta":"0.000001","sigma_squared":400,"untrusted":1}' in manifest().canonical()
    assert Manifest.model_validate_json(manifest().canonical()) == manifest()


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"skip_known": True}, "skip_known"),
        ({"profile": "paper"}, "profile hardened"),
        ({"noise": {"sigma_squared": 400, "untrusted": 3}}, "smaller than min_hospitals"),
        ({"noise": {"sigma_squared": 15}}, "at least 16 for 5 invited"),
        ({"noise": {"sigma_squared": 3}}, "greater than or equal to 4"),
        ({"noise": {"sigma_squared": MAX_VARIANCE + 1}}, "less than or equal to"),
        ({"noise": {"sigma_squared": 400, "delta": "0"}}, "delta"),
        ({"noise": {"sigma_squared": 400, "delta": "0.5"}}, "delta"),
        ({"noise": {"sigma_squared": 400, "delta": "1e-6"}}, "delta"),
        ({"noise": {"sigma_squared": 400.0}}, "valid integer"),
        ({"noise": {"sigma_squared": 400, "epsilon": "1"}}, "epsilon"),
    ],
)
def test_noise_that_does_not_fit_is_refused(changes: dict[str, Any], told: str) -> None:
    with pytest.raises(ValidationError, match=told):
        manifest(**changes)


def test_the_least_noise_is_a_deviation_of_two_for_each_trusted_hospital() -> None:
    assert manifest(noise={"sigma_squared": 16}).noise == NoiseSpec(sigma_squared=16)
    assert manifest(noise={"sigma_squared": 12, "untrusted": 2}).noise is not None


def test_a_secret_job_adds_no_noise() -> None:
    secret = {"compute_parties": ["h1", "h2", "h3"]}
    rules = {"profile": "secret-id3", "secret": secret, "max_shrinks": 0, "disclosure": "class"}
    assert manifest(**rules, noise=None).is_secret
    with pytest.raises(ValidationError, match="profile hardened"):
        manifest(**rules)
