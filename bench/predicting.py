"""The prediction API of a hospital under load: requests of one record, batches, beside the bare server it stands on.

Requests come from `wrk` (Debian's package) over loopback with keep-alive; the server runs in a process of its own, so
that nothing of the load generator shares its interpreter. The floor is the same uvicorn with an endpoint that reads the
body and answers twenty bytes: what no program over this server can do better.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from multiprocessing.synchronize import Event
from pathlib import Path
from typing import Any, Final

from rich.console import Console
from rich.table import Table

SECONDS: Final = 10
QUICK_SECONDS: Final = 2
CONNECTIONS: Final = (1, 8)
BATCH: Final = 1000
_RECORD: Final = {"urine pushing": "1", "lumbar pain": "1", "nausea": "0"}


@dataclass(frozen=True, slots=True)
class Measured:
    """One scenario. Milliseconds at the percentiles; `rate`: requests a second; `records`: a request.

    `cpu`: seconds of the server's CPU a request, which other work on the machine changes little.
    """

    name: str
    connections: int
    rate: float
    p50: float
    p95: float
    p99: float
    cpu: float
    records: int = 1
    failed: int = 0

    @property
    def a_core(self) -> float:
        """Records that one core answers a second when it does nothing else."""
        return self.records / self.cpu


def measure_predictions(*, quick: bool) -> list[Measured]:
    """Everything in order. Raises: RuntimeError: wrk is not there."""
    if shutil.which("wrk") is None:
        raise RuntimeError("wrk is needed: make services, or apt-get install wrk")
    seconds = QUICK_SECONDS if quick else SECONDS
    one, many = json.dumps({"record": _RECORD}), json.dumps({"records": [_RECORD] * BATCH})
    found = []
    with tempfile.TemporaryDirectory() as folder, _served("floor", folder) as server:
        for connections in CONNECTIONS:
            found.append(_wrk("bare server", server, "/", one, connections, seconds))
    with tempfile.TemporaryDirectory() as folder, _served("agent", folder) as server:
        path = "/v1/models/latest/predict"
        for connections in CONNECTIONS:
            found.append(_wrk("one record", server, path, one, connections, seconds))
        found.append(_wrk(f"{BATCH} records", server, path, many, 1, seconds, records=BATCH))
        found.append(
            _wrk(f"{BATCH} records as CSV", server, path, _csv(), 1, seconds, records=BATCH, kind="text/csv")
        )
    return found


def print_predictions(found: list[Measured], console: Console) -> None:
    """A table, with the ratio to the floor."""
    table = Table(title="prediction API of a hospital, wrk over loopback, keep-alive")
    for name in (
        "what",
        "connections",
        "requests/s",
        "records/s",
        "records/s of a core",
        "p50 ms",
        "p95 ms",
        "p99 ms",
        "of the bare server",
    ):
        table.add_column(name, justify="left" if name == "what" else "right")
    floors = {entry.connections: entry.cpu for entry in found if entry.name == "bare server"}
    for entry in found:
        ratio = f"{floors[entry.connections] / entry.cpu:.0%}" if entry.records == 1 else ""
        table.add_row(
            entry.name,
            str(entry.connections),
            f"{entry.rate:,.0f}",
            f"{entry.rate * entry.records:,.0f}",
            f"{entry.a_core:,.0f}",
            *(f"{milliseconds:.2f}" for milliseconds in (entry.p50, entry.p95, entry.p99)),
            ratio,
        )
    console.print(table)


def figures(found: list[Measured]) -> list[dict[str, Any]]:
    """For machines."""
    return [asdict(entry) for entry in found]


def _csv() -> str:
    row = ",".join(_RECORD.values())
    return "\r\n".join([",".join(_RECORD), *[row] * BATCH])


def _wrk(
    name: str,
    server: _Server,
    path: str,
    body: str,
    connections: int,
    seconds: int,
    *,
    records: int = 1,
    kind: str = "application/json",
) -> Measured:
    with tempfile.NamedTemporaryFile("w", suffix=".lua") as script:
        script.write(
            f'wrk.method = "POST"\nwrk.body = {json.dumps(body)}\nwrk.headers["Content-Type"] = "{kind}"\n'
            "done = function(summary, latency, requests)\n"
            '  io.write(string.format("told %d %d %d %d %d %d %d\\n", summary.requests, summary.duration,\n'
            "    summary.errors.status + summary.errors.read + summary.errors.timeout,\n"
            "    latency:percentile(50), latency:percentile(95), latency:percentile(99), latency.max))\nend\n"
        )
        script.flush()
        command = ["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "-s", script.name, server.url + path]
        before = server.cpu
        told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    used = server.cpu - before
    numbers = re.search(r"^told (.*)$", told, re.MULTILINE)
    if numbers is None:
        raise RuntimeError(f"wrk said nothing: {told}")
    requests, duration, failed, p50, p95, p99, _ = map(int, numbers[1].split())
    rate, cpu = requests / (duration / 1e6), used / requests
    return Measured(name, connections, rate, p50 / 1e3, p95 / 1e3, p99 / 1e3, cpu, records, failed)


@dataclass(frozen=True, slots=True)
class _Server:
    """A running server and its process."""

    url: str
    pid: int

    @property
    def cpu(self) -> float:
        """Seconds of CPU so far."""
        fields = Path(f"/proc/{self.pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextmanager
def _served(which: str, folder: str) -> Iterator[_Server]:
    """A server in a process of its own."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    stop = context.Event()
    process = context.Process(target=_serve, args=(which, folder, theirs, stop), daemon=True)
    process.start()
    try:
        if not ours.poll(60):
            raise RuntimeError("the server did not start")
        yield _Server(str(ours.recv()), process.pid or 0)
    finally:
        stop.set()
        process.join(10)


def _serve(which: str, folder: str, pipe: Any, stop: Event) -> None:
    from hospital_agent.local_api import serving
    from hospital_agent.settings import LocalSection

    app = _floor() if which == "floor" else _agent(Path(folder))
    with serving(app, LocalSection(port=0)) as url:
        pipe.send(url)
        stop.wait()


def _floor() -> Any:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import Route

    async def hello(request: Request) -> Response:
        await request.body()
        return Response(b'{"hello": "world..."}', media_type="application/json")

    return Starlette(routes=[Route("/", hello, methods=["POST"])])


def _agent(folder: Path) -> Any:
    """The local API as a running agent has it: names, counters, the log and metrics all on."""
    from hospital_agent.commands.serving_desk import desk_in
    from hospital_agent.local_api import create_app
    from hospital_agent.metrics import Figures, add_metrics
    from hospital_agent.models import shelf_of
    from hospital_agent.settings import LocalSection
    from tests.support.models import model_of, parties

    members = parties()
    shelf = shelf_of(folder, members.identities["h1"].public, members.root)
    shelf.put(model_of(members), members.identities["h1"])
    desk = desk_in(folder, shelf, LocalSection())
    app = create_app(desk.library, dict, None, desk=desk)
    add_metrics(app, Figures(folder, lambda: None, time.time, desk.drift_states))
    return app
