"""Members of a computing job at a real cloud's relay, without a job that computes.

with running_cloud(tmp_path) as cloud:
    job = computing_job(cloud)
    with relayed(cloud, job, "h1", ["h2"]) as first, relayed(cloud, job, "h2", ["h1"]) as second:
        first.channel("h2").send(b"frame")
        assert fetch(second.channel("h1")) == b"frame"
"""

from __future__ import annotations

import json
import select
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import update

from cloud_service.store.tables import JobRow, table_of
from hospital_agent.cloud import Patience, RelayDoor
from hospital_agent.links.relayed import Relayed, RelayedChannel
from shared.ids import AgentId
from shared.protocol.polling import RelayCall, sign_call
from shared.wire.relay import RELAY_HEADER
from tests.support.cloud_server import HOSPITALS, CloudUnderTest

HASTE = Patience(first_seconds=0.05, most_seconds=0.2)
SCHEMA = {
    "attributes": [{"name": "fever", "values": ["no", "yes"]}, {"name": "cough", "values": ["no", "yes"]}],
    "class": {"name": "ill", "labels": ["no", "yes"]},
}


def computing_job(cloud: CloudUnderTest, roster: Sequence[str] = HOSPITALS) -> str:
    """A job of which the database says that its roster computes."""
    name = f"relay-{time.monotonic_ns()}"
    job = cloud.job(cloud.study(SCHEMA, name=name))
    set_state(cloud, job, "COMPUTING", roster)
    return job


def set_state(cloud: CloudUnderTest, job: str, state: str, roster: Sequence[str] = HOSPITALS) -> None:
    """As if the job had come so far."""
    jobs = table_of(JobRow)
    with cloud.services.database.write() as connection:
        connection.execute(
            update(jobs).where(jobs.c.id == job).values(state=state, roster=json.dumps(list(roster)))
        )


def door(
    cloud: CloudUnderTest, job: str, agent: str, url: str = "", ca_bundle: Path | None = None
) -> RelayDoor:
    """An agent's door to the relay. url: of something between it and the cloud."""
    signer = cloud.parties.identities[AgentId(agent)]
    return RelayDoor(url or cloud.base_url, agent, job, signer, ca_bundle=ca_bundle, patience=HASTE)


def call_of(cloud: CloudUnderTest, job: str, agent: str, *, offset: int = 0) -> dict[str, str]:
    """The signed header, made by hand."""
    claim = RelayCall(agent=agent, job=job, time=int(time.time()) + offset)
    return {RELAY_HEADER: sign_call(claim, cloud.parties.identities[AgentId(agent)])}


@contextmanager
def relayed(
    cloud: CloudUnderTest, job: str, agent: str, peers: Sequence[str], *, url: str = "", **options: Any
) -> Iterator[Relayed]:
    """An agent's connection; `options`: of `Relayed`. What it tells is kept in `told`."""
    told: list[str] = options.pop("told", [])
    opener = door(cloud, job, agent, url, options.pop("ca_bundle", None))
    names = [AgentId(peer) for peer in peers]
    connection = Relayed(opener, names, **{"patience": HASTE, "tell": told.append, **options})
    try:
        yield connection
    finally:
        for peer in names:
            connection.channel(peer).close()


def fetch(channel: RelayedChannel, seconds: float = 20.0) -> bytes:
    """The next frame, as a link waits for it."""
    end = time.monotonic() + seconds
    while (frame := channel.receive()) is None:
        left = end - time.monotonic()
        assert left > 0, "no frame came"
        poll = select.poll()
        poll.register(channel.fileno(), select.POLLIN)
        poll.poll(min(left, 0.2) * 1000)
    return bytes(frame)
