"""Which hash a new job parts records by: the one that every invited agent knows, and of a seed always the same."""

from __future__ import annotations

from pathlib import Path

from shared.protocol.polling import Registration, sign_registration
from shared.rng import random_bytes
from tests.support.clinic import SCHEMA
from tests.support.cloud_server import CloudUnderTest, running_cloud

NAMES = ("h1", "h2", "h3", "h4")
EARLIER = NAMES[1:]
"""With the one agent that is of another release for a while."""


def register(cloud: CloudUnderTest, agent: str, version: str) -> None:
    claim = cloud.registration(agent).registration.model_copy(update={"version": version})
    signed = sign_registration(
        Registration.model_validate(claim.model_dump()), cloud.parties.identities[agent]
    )
    answer = cloud.people.post(
        "/v1/hospitals", content=signed.canonical(), headers={"content-type": "application/json"}
    )
    assert answer.status_code == 200, answer.text


def hash_of(
    cloud: CloudUnderTest, invited: tuple[str, ...], seed: str | None = None, parts: int = 5
) -> str | None:
    wanted = {"parts": parts, "first": 0, "last": 1} | ({} if seed is None else {"seed": seed})
    job = cloud.job(invited=list(invited), selection=wanted)
    told = cloud.people.get(f"/v1/jobs/{job}").json()["selection"]
    assert seed in (None, told["seed"])
    found: str | None = told.get("hash")
    return found


def test_a_job_names_a_hash_that_all_its_agents_know(tmp_path: Path, sqlite_url: str) -> None:
    with running_cloud(tmp_path, sqlite_url, hospitals=NAMES, bits=512) as cloud:
        cloud.study(SCHEMA)
        cloud.register(*NAMES)
        before, after = random_bytes(16).hex(), random_bytes(16).hex()
        register(cloud, "h4", "0.3.2")
        assert hash_of(cloud, NAMES[:3]) == "hmac-sha256"
        assert hash_of(cloud, EARLIER) is None
        assert hash_of(cloud, EARLIER, before) is None
        assert hash_of(cloud, NAMES[:3], after) == "hmac-sha256"
        register(cloud, "h4", "0.4.0")
        assert hash_of(cloud, EARLIER) == "hmac-sha256"
        assert hash_of(cloud, EARLIER, before) is None, "its folds are of a division that jobs have used"
        assert hash_of(cloud, EARLIER, before, parts=4) == "hmac-sha256"
        register(cloud, "h4", "0.3.2")
        assert hash_of(cloud, EARLIER, after) == "hmac-sha256"
