"""A hospital of the simulation (`tests.support.world`) that talks real HTTP: enough of an agent to test a cloud."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

import httpx2

from cloud_service.service.services import unix_time
from cloud_service.store import outbox
from shared.ids import AgentId
from shared.protocol.polling import Poll, sign_poll
from tests.support.cloud_server import CloudUnderTest
from tests.support.world import HospitalHost, Rows

JSON = {"content-type": "application/json"}
_REPEATS = 3


@dataclass
class HttpHospital:
    """Polls, steps and posts. `tamper` changes a message before it is sent; `sent` and `replies` are bytes."""

    cloud: CloudUnderTest
    name: str
    rows: Rows
    host: HospitalHost = field(init=False)
    after: int = 0
    taken: int = 0
    tamper: Callable[[bytes], bytes] = bytes
    sent: list[bytes] = field(default_factory=list)
    replies: list[bytes] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.host = HospitalHost(self.cloud.parties, AgentId(self.name), list(self.rows))
        self.http = httpx2.Client(base_url=self.cloud.base_url, timeout=60, trust_env=False)

    def reconnect(self) -> None:
        """After the cloud has moved to another port."""
        self.http.close()
        self.http = httpx2.Client(base_url=self.cloud.base_url, timeout=60, trust_env=False)

    def poll_header(self, *, after: int | None = None, at: int | None = None) -> str:
        """A signed claim to the inbox."""
        claim = Poll(
            agent=self.name,
            after=self.after if after is None else after,
            time=unix_time() if at is None else at,
        )
        return sign_poll(claim, self.cloud.parties.identities[AgentId(self.name)])

    def fetch(self, wait: float = 0) -> list[bytes]:
        """Waiting messages as their exact bytes, dealt with one by one."""
        answer = self.http.get(
            "/v1/inbox",
            params={"after": self.after, "wait": wait},
            headers={"privet-poll": self.poll_header()},
        )
        assert answer.status_code == 200, answer.text
        return self._take(answer.json()["items"])

    def _take(self, items: list[Mapping[str, object]]) -> list[bytes]:
        raws = []
        for item in items:
            raw = json.dumps(
                item["message"], sort_keys=True, separators=(",", ":"), ensure_ascii=False
            ).encode()
            raws.append(raw)
            self.host.take(self.taken, raw)
            self.taken += 1
            self.after = int(str(item["id"]))
        return raws

    def post(self, raw: bytes) -> httpx2.Response:
        """Send bytes to the message door."""
        return self.http.post("/v1/messages", content=raw, headers=JSON)

    def send_all(self) -> None:
        """Send what the outbox holds, in order; every receipt is checked. After a 503 again, as real agents do."""
        while self.host.outbox:
            raw = self.tamper(self.host.outbox[0])
            answer = self.post(raw)
            for _ in range(_REPEATS):
                if answer.status_code != 503:
                    break
                time.sleep(int(answer.headers["retry-after"]))
                answer = self.post(raw)
            self.host.outbox.pop(0)
            self.sent.append(raw)
            self.replies.append(answer.content)
            assert answer.status_code == 200, answer.text
            self.host.take_receipt(raw, answer.content)

    @property
    def is_over(self) -> bool:
        """Whether this hospital is done with its job, with nothing left to send."""
        here = self.host.participation
        return here is not None and here.state in ("COMPLETE", "ABORTED") and not self.host.outbox

    def run(self, seconds: float = 60) -> None:
        """Take part until the job is over for this hospital."""
        end = time.monotonic() + seconds
        self.send_all()  # what it has ready; nobody else may have anything to say before
        while not self.is_over:
            assert time.monotonic() < end, f"{self.name}: the job did not end"
            self.fetch(wait=5)
            self.send_all()

    def close(self) -> None:
        """Close the connection."""
        self.http.close()


@contextmanager
def hospitals_of(cloud: CloudUnderTest, rows: Mapping[str, Rows]) -> Iterator[list[HttpHospital]]:
    """One hospital for each entry, with nothing fetched so far but what came before now."""
    hospitals = [HttpHospital(cloud, name, own) for name, own in rows.items()]
    with cloud.services.database.read() as session:
        newest = outbox.newest(session)
    for hospital in hospitals:
        hospital.after = newest
    try:
        yield hospitals
    finally:
        for hospital in hospitals:
            hospital.close()


def run_together(hospitals: list[HttpHospital]) -> None:
    """All at once, each in its own thread; the first fault is raised."""
    faults: list[BaseException] = []

    def work(hospital: HttpHospital) -> None:
        try:
            hospital.run()
        except BaseException as fault:
            faults.append(fault)

    threads = [threading.Thread(target=work, args=(hospital,), daemon=True) for hospital in hospitals]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(90)
    if faults:
        raise faults[0]
