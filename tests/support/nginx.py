"""A real nginx with the configuration that deploy/ ships: only names, ports and files are those of the test."""

from __future__ import annotations

import re
import shutil
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx2
import pytest

from tests.support.certificates import self_signed

CONFIGURATION = Path(__file__).parents[2] / "deploy" / "nginx" / "privet.conf"
BINARY = shutil.which("nginx", path="/usr/sbin:/usr/bin:/usr/local/sbin:/usr/local/bin")
needs_nginx = pytest.mark.skipif(BINARY is None, reason="nginx is not installed: apt-get install nginx-light")
_MAIN = """\
daemon off;
pid {folder}/nginx.pid;
worker_processes 1;
error_log {folder}/main.log warn;
events {{ worker_connections 1024; }}
http {{
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    include {folder}/privet.conf;
}}
"""


@dataclass(frozen=True)
class Front:
    """A running nginx. `certificate`: what its visitors must trust."""

    url: str
    certificate: Path
    access_log: Path


def write_configuration(
    folder: Path, port: int, upstream_ports: Sequence[int], replicas: Path | None = None
) -> Path:
    """The shipped configuration, with this test's ports and files; the path of the main file.

    Args: replicas: what vouches for the clouds behind; without it they speak plain HTTP on this machine.
    """
    folder.mkdir(exist_ok=True)
    text = CONFIGURATION.read_text(encoding="utf-8")
    if replicas is None:
        text = re.sub(r"^ *proxy_ssl_[^\n]*\n", "", text, flags=re.MULTILINE)
        text = text.replace("proxy_pass https://", "proxy_pass http://")
    else:
        text = text.replace("/etc/privet/tls/replicas.crt", str(replicas))
        text = text.replace("proxy_ssl_name privet-cloud;", "proxy_ssl_name localhost;")
    servers = "\n".join(f"    server 127.0.0.1:{one} max_fails=2 fail_timeout=5s;" for one in upstream_ports)
    for pattern, replacement in (
        (r"(?:^    server cloud-\d:8443 [^\n]*\n)+", servers + "\n"),
        (r"listen 443 ssl http2;", f"listen 127.0.0.1:{port} ssl http2;"),
        (r"server_name cloud\.example\.org;", "server_name localhost;"),
        (r"/etc/privet/tls/", f"{folder}/"),
        (r"/var/log/nginx/", f"{folder}/"),
    ):
        text, changes = re.subn(pattern, replacement, text, flags=re.MULTILINE)
        assert changes, f"the shipped configuration has nothing like {pattern}"
    (folder / "privet.conf").write_text(text, encoding="utf-8")
    main = folder / "nginx.conf"
    main.write_text(_MAIN.format(folder=folder), encoding="utf-8")
    return main


@contextmanager
def nginx_before(
    folder: Path, port: int, upstream_ports: Sequence[int], replicas: Path | None = None
) -> Iterator[Front]:
    """nginx with TLS on a loopback port, in front of clouds on others (see `write_configuration`)."""
    assert BINARY is not None
    main = write_configuration(folder, port, upstream_ports, replicas)
    certificate = self_signed(folder)
    options = ["-p", str(folder), "-c", str(main), "-e", str(folder / "main.log")]
    checked = subprocess.run([BINARY, "-t", *options], capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stderr
    process = subprocess.Popen([BINARY, *options], stdin=subprocess.DEVNULL)
    try:
        _wait(port, process)
        yield Front(f"https://localhost:{port}", certificate, folder / "privet.log")
    finally:
        process.terminate()
        process.wait(20)


def _wait(port: int, process: subprocess.Popen[bytes]) -> None:
    for _ in range(400):
        assert process.poll() is None, "nginx ended by itself"
        try:
            httpx2.get(f"http://127.0.0.1:{port}/", trust_env=False)
        except httpx2.ConnectError:
            time.sleep(0.05)
        except httpx2.TransportError:
            return
        else:
            return
    raise AssertionError("nginx does not answer")
