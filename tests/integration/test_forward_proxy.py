"""Hospitals behind a real forward proxy: squid, by CONNECT, to a cloud whose name only the proxy can look up."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.certificates import FAR_NAME
from tests.support.clinic import SCHEMA
from tests.support.nginx import needs_nginx, nginx_before
from tests.support.programs import Founded, free_port, real_federation
from tests.support.weighted_clinic import pooled_tree, write_files

SQUID = shutil.which("squid", path="/usr/sbin:/usr/bin")
pytestmark = [
    needs_nginx,
    pytest.mark.skipif(SQUID is None, reason="squid is not installed: apt-get install squid"),
    pytest.mark.long,
    pytest.mark.xdist_group("nginx"),
]
_CONFIGURATION = """\
http_port 127.0.0.1:{port}
pid_filename none
hosts_file {folder}/hosts
cache deny all
access_log stdio:{folder}/access.log
cache_log {folder}/cache.log
netdb_filename none
coredump_dir {folder}
shutdown_lifetime 1 second
acl cloud dstdomain {name}
acl tunnel method CONNECT
http_access allow tunnel cloud
http_access deny all
"""


@contextmanager
def squid(port: int) -> Iterator[Path]:
    """A running squid that lets nobody through but to the cloud; its access log."""
    assert SQUID is not None
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as made:
        folder = Path(made)
        folder.chmod(0o777)  # started as root, squid writes as a user of its own
        (folder / "hosts").write_text(f"127.0.0.1 {FAR_NAME}\n")
        (folder / "squid.conf").write_text(_CONFIGURATION.format(port=port, folder=folder, name=FAR_NAME))
        for file in folder.iterdir():
            file.chmod(0o644)
        process = subprocess.Popen([SQUID, "-N", "-f", str(folder / "squid.conf")], stdin=subprocess.DEVNULL)
        try:
            _wait_for(folder / "access.log", process)
            yield folder / "access.log"
        finally:
            process.terminate()
            process.wait(30)


def _wait_for(file: Path, process: subprocess.Popen[bytes]) -> None:
    for _ in range(600):
        assert process.poll() is None, "squid ended by itself"
        if file.exists():
            return
        time.sleep(0.05)
    raise AssertionError("squid does not start")


def test_a_job_through_a_forward_proxy(
    founded_federation: Founded, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    proxy = free_port()

    @contextmanager
    def through(port: int) -> Iterator[str]:
        public = free_port()
        with nginx_before(tmp_path / "front", public, [port]) as front:
            os.environ["SSL_CERT_FILE"] = str(front.certificate)
            yield f"https://{FAR_NAME}:{public}"

    monkeypatch.setenv("SSL_CERT_FILE", "")
    monkeypatch.setenv("HTTPS_PROXY", f"http://127.0.0.1:{proxy}")
    with squid(proxy) as log, real_federation(founded_federation, tmp_path, through=through) as federation:
        records = tmp_path / "records"
        records.mkdir()
        files = write_files(records, founded_federation.hospitals)
        job = federation.start_job(SCHEMA, files)
        federation.wait_until_done(job)
        assert {federation.model(name, job).tree for name in federation.agents} == {
            pooled_tree(founded_federation.hospitals)
        }
        for program in federation.agents.values():
            program.stop()
        tunnels = [line for line in log.read_text().splitlines() if f"CONNECT {FAR_NAME}:" in line]
        assert len(tunnels) >= len(federation.agents)
        assert all("/200 " in line for line in tunnels)
