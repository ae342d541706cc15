"""The shipped nginx configuration, in a real nginx, in front of a real cloud with real agents."""

from __future__ import annotations

import os
import socket
import ssl
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2
import pytest

from tests.support.certificates import self_signed
from tests.support.clinic import SCHEMA
from tests.support.cloud_server import running_cloud
from tests.support.nginx import BINARY, Front, needs_nginx, nginx_before, write_configuration
from tests.support.programs import Founded, RealFederation, free_port, real_federation
from tests.support.weighted_clinic import pooled_tree, write_files

pytestmark = [needs_nginx, pytest.mark.xdist_group("nginx")]


@pytest.fixture(scope="module")
def behind(
    founded_federation: Founded, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[RealFederation, Front]]:
    folder = tmp_path_factory.mktemp("nginx")
    fronts: list[Front] = []

    @contextmanager
    def through(port: int) -> Iterator[str]:
        with nginx_before(folder / "front", free_port(), [port]) as front:
            fronts.append(front)
            os.environ["SSL_CERT_FILE"] = str(front.certificate)
            yield front.url

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SSL_CERT_FILE", "")
        with real_federation(founded_federation, folder, through=through) as federation:
            yield federation, fronts[0]


def visitor(front: Front, **more: object) -> httpx2.Client:
    trusted = ssl.create_default_context(cafile=str(front.certificate))
    return httpx2.Client(base_url=front.url, verify=trusted, trust_env=False, timeout=30, **more)  # type: ignore[arg-type]


def test_three_agents_grow_the_pooled_tree_through_tls(behind: tuple[RealFederation, Front]) -> None:
    federation, front = behind
    records = federation.folder / "records"
    records.mkdir()
    files = write_files(records, federation.founded.hospitals)
    job = federation.start_job(SCHEMA, files)
    federation.wait_until_done(job)
    trees = {federation.model(name, job).tree for name in federation.agents}
    assert trees == {pooled_tree(files)}
    seen = front.access_log.read_text()
    assert "GET /v1/inbox 200" in seen
    assert "?" not in seen
    assert "127.0.0.1" in seen


def test_nothing_older_than_tls_1_3(behind: tuple[RealFederation, Front]) -> None:
    _, front = behind
    context = ssl.create_default_context(cafile=str(front.certificate))
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    port = int(front.url.rpartition(":")[2])
    with (
        socket.create_connection(("127.0.0.1", port)) as plain,
        pytest.raises(ssl.SSLError),
        context.wrap_socket(plain, server_hostname="localhost"),
    ):
        pass


def test_a_body_beyond_the_limit_is_refused_before_it_is_read(behind: tuple[RealFederation, Front]) -> None:
    _, front = behind
    with visitor(front) as client:
        answer = client.post("/v1/messages", content=b"", headers={"content-length": "0"})
        assert answer.status_code != 413
        large = client.post("/v1/messages", content=b"x" * (33 * 2**20))
        assert large.status_code == 413


@pytest.mark.parametrize("path", ["/metrics", "/metrics/x"])
def test_what_is_not_for_the_outside_is_not_there(behind: tuple[RealFederation, Front], path: str) -> None:
    _, front = behind
    with visitor(front) as client:
        assert client.get(path).status_code == 404
        assert client.get("/healthz").json() == {"status": "ok"}


def test_clouds_behind_are_reached_by_tls_and_must_prove_who_they_are(tmp_path: Path) -> None:
    cloud_folder, other = tmp_path / "cloud", tmp_path / "other"
    cloud_folder.mkdir()
    other.mkdir()
    own, foreign = self_signed(cloud_folder), self_signed(other)
    tls = {"tls_certificate": "tls.crt", "tls_key": "tls.key", "behind_proxy": True}
    with running_cloud(cloud_folder, **tls) as cloud:
        port = int(cloud.base_url.rpartition(":")[2])
        with nginx_before(tmp_path / "a", free_port(), [port], own) as front, visitor(front) as client:
            assert client.get("/healthz").status_code == 200
        with nginx_before(tmp_path / "b", free_port(), [port], foreign) as front, visitor(front) as client:
            assert client.get("/healthz").status_code == 502


def test_a_configuration_with_a_fault_is_noticed(tmp_path: Path) -> None:
    """The positive control of `nginx -t`, which the fixture relies on."""
    main = write_configuration(tmp_path, free_port(), [1])
    broken = tmp_path / "privet.conf"
    broken.write_text(broken.read_text().replace("proxy_buffering off;", "proxy_buffering perhaps;"))
    checked = subprocess.run(
        [str(BINARY), "-t", "-p", str(tmp_path), "-c", str(main), "-e", str(tmp_path / "main.log")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert checked.returncode != 0
    assert "proxy_buffering" in checked.stderr
