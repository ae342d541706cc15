"""Characters and numbers that PostgreSQL cannot store: refused in words, by every door that takes text."""

from __future__ import annotations

from pathlib import Path

import httpx2

from tests.support.clinic import SCHEMA
from tests.support.cloud_server import running_cloud

ZERO = "\x00"


def test_a_zero_character_is_refused_in_words(tmp_path: Path, database_url: str) -> None:
    with running_cloud(tmp_path / "cloud", database_url, bits=512) as cloud:
        people = cloud.people
        answers = [
            people.get("/v1/jobs", params={"before": ZERO}),
            people.get("/v1/jobs", params={"study": ZERO}),
            *(people.get(path) for path in ("/v1/jobs/%00", "/v1/studies/%00", "/v1/studies/a%00b/dossier")),
            people.post("/v1/jobs/%00/cancel"),
            people.post("/v1/studies", json={"id": "zero", "question": f"a{ZERO}", "schema": SCHEMA}),
            people.post("/v1/sign-in", json={"name": f"a{ZERO}", "password": "x"}),
            people.post("/v1/sign-in", json={"name": "a", "password": ZERO}),
            httpx2.get(f"{cloud.base_url}/v1/agent/studies/%00", trust_env=False),
        ]
    assert {answer.status_code for answer in answers} <= {401, 404, 422}, [one.text for one in answers]
    assert all(answer.headers["content-type"] == "application/problem+json" for answer in answers)
    assert not any("psycopg" in answer.text or "SELECT" in answer.text for answer in answers)
