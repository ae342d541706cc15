"""Who is who in the tables of access: people of every role, and one who speaks for a hospital that is not invited."""

from __future__ import annotations

from typing import Final

from tests.support.clinic import SCHEMA, dealt
from tests.support.cloud_server import CloudUnderTest
from tests.support.http_hospital import hospitals_of, run_together

HOSPITALS: Final = ("h1", "h2", "h3", "h9")
INVITED: Final = ["h1", "h2", "h3"]
STRANGER: Final = "steward of another hospital"
LETTERS: Final = {"O": "operator", "C": "coordinator", "S": "steward", "A": "analyst", "U": "auditor"}


def closed_study(cloud: CloudUnderTest) -> str:
    """A study named `study` that has grown and published one tree and is closed. Gives the job."""
    cloud.study(SCHEMA, publish_tree=True, members=INVITED)
    with hospitals_of(cloud, dealt(*INVITED)) as hospitals:
        job = cloud.job(invited=INVITED)
        run_together(hospitals)
    assert cloud.people.post("/v1/studies/study/close").status_code == 200
    return job
