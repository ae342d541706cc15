"""`privet cloud`: from an empty folder to a served API, and what it refuses."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import httpx2
import pytest

from privet.__main__ import run

Capture = pytest.CaptureFixture[str]


def privet(capsys: Capture, *arguments: object) -> tuple[int, dict[str, Any]]:
    """Run a command with --json; its exit code and its one document."""
    code = run([str(argument) for argument in arguments] + ["--json"])
    return code, json.loads(capsys.readouterr().out)


@pytest.fixture
def joined(tmp_path: Path, capsys: Capture) -> Path:
    """A cloud's folder that has joined a federation made by the real authority."""
    ta, cloud = tmp_path / "ta", tmp_path / "cloud"
    assert privet(capsys, "cloud", "init", cloud)[0] == 0
    code, made = privet(capsys, "authority", "init", ta, "--name", "test", "--key-bits", "2048")
    assert code == 0
    assert privet(capsys, "authority", "certify", ta, cloud / "cloud.csr", "--yes")[0] == 0
    root = " ".join(made["root_sha256"][start : start + 4] for start in range(0, 64, 4))
    bundle = ta / "out" / "cloud.bundle"
    code, found = privet(capsys, "cloud", "join", cloud, "--bundle", bundle, "--root-sha256", root)
    assert (code, found["federation"]) == (0, "test")
    assert privet(capsys, "cloud", "join", cloud, "--bundle", bundle)[0] == 0
    return cloud


def test_folder_is_private_and_never_overwritten(tmp_path: Path, capsys: Capture) -> None:
    folder = tmp_path / "cloud"
    assert privet(capsys, "cloud", "init", folder)[0] == 0
    modes = {path.name: path.stat().st_mode & 0o777 for path in folder.iterdir()}
    assert folder.stat().st_mode & 0o777 == 0o700
    assert (modes["identity.pem"], modes["rsa.pem"], modes["cloud.toml"]) == (0o600, 0o600, 0o600)
    before = (folder / "rsa.pem").read_bytes()
    code, found = privet(capsys, "cloud", "init", folder)
    assert (code, found["exit_code"]) == (3, 3)
    assert (folder / "rsa.pem").read_bytes() == before


def test_join_believes_only_the_root_it_was_told(tmp_path: Path, joined: Path, capsys: Capture) -> None:
    other = tmp_path / "other"
    privet(capsys, "cloud", "init", other)
    bundle = tmp_path / "ta" / "out" / "cloud.bundle"
    assert privet(capsys, "cloud", "join", other, "--bundle", bundle)[0] == 3
    assert privet(capsys, "cloud", "join", other, "--bundle", bundle, "--root-sha256", "00" * 32)[0] == 4
    assert privet(capsys, "cloud", "join", other, "--bundle", bundle, "--root-sha256", "xyz")[0] == 3
    assert privet(capsys, "cloud", "join", joined, "--bundle", bundle, "--root-sha256", "00" * 32)[0] == 3
    assert privet(capsys, "cloud", "join", joined, "--bundle", tmp_path / "none")[0] == 3
    code, found = privet(capsys, "cloud", "join", joined, "--bundle", joined / "cloud.toml")
    assert (code, "this is no bundle for a cloud" in found["detail"]) == (3, True)


def test_serve_says_what_is_missing(tmp_path: Path, joined: Path, capsys: Capture) -> None:
    fresh = tmp_path / "fresh"
    privet(capsys, "cloud", "init", fresh)
    code, found = privet(capsys, "cloud", "serve", fresh)
    assert (code, "privet cloud migrate" in found["remedy"]) == (3, True)
    assert privet(capsys, "cloud", "migrate", fresh, "--check")[0] == 3
    assert privet(capsys, "cloud", "migrate", fresh)[0] == 0
    assert privet(capsys, "cloud", "migrate", fresh, "--check")[0] == 0
    code, found = privet(capsys, "cloud", "serve", fresh)
    assert (code, "privet cloud join" in found["remedy"]) == (3, True)
    assert privet(capsys, "cloud", "serve", joined, "--host", "0.0.0.0")[0] == 3
    (joined / "rsa.pem").write_bytes((fresh / "rsa.pem").read_bytes())
    code, found = privet(capsys, "cloud", "serve", joined)
    assert (code, "do not belong" in found["detail"]) == (3, True)
    (joined / "rsa.pem").chmod(0o644)
    assert privet(capsys, "cloud", "serve", joined)[0] == 3


def test_a_port_that_is_taken_is_named(joined: Path, capsys: Capture) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        code, found = privet(capsys, "cloud", "serve", joined, "--port", port)
    assert (code, found["where"]) == (3, f"settings host and port, 127.0.0.1 port {port}")


def test_tokens_are_kept_as_hashes(joined: Path, capsys: Capture) -> None:
    create = ("cloud", "token", "create", joined, "--role", "analyst", "--label")
    code, made = privet(capsys, *create, "ann")
    assert code == 0
    assert privet(capsys, *create, "ann")[0] == 3
    assert privet(capsys, *create, "No Name")[0] == 3
    files = [path.read_bytes() for path in joined.iterdir()]
    assert not any(made["token"].encode() in content for content in files)
    assert privet(capsys, "cloud", "token", "revoke", joined, "--label", "ann")[0] == 0
    assert privet(capsys, "cloud", "token", "revoke", joined, "--label", "ann")[0] == 3
    _, listed = privet(capsys, "cloud", "token", "list", joined)
    assert [(token["label"], token["revoked"] is not None) for token in listed["tokens"]] == [("ann", True)]
    assert run(["cloud", "token", "list", str(joined)]) == 0
    assert "ann" in capsys.readouterr().out


@pytest.mark.parametrize("stop", [signal.SIGTERM, signal.SIGINT])
def test_served_until_a_signal(joined: Path, capsys: Capture, stop: signal.Signals) -> None:
    command = [sys.executable, "-m", "privet", "cloud", "serve", str(joined), "--port", "0"]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=dict(os.environ)
    )
    try:
        assert process.stderr is not None
        warning, line = (json.loads(process.stderr.readline()) for _ in range(2))
        assert (warning["event"], line["event"]) == ("not encrypted", "listening")
        answer = httpx2.get(f"http://127.0.0.1:{line['port']}/readyz", timeout=10, trust_env=False)
        assert answer.json() == {"status": "ok"}
        began = time.monotonic()
        process.send_signal(stop)
        out, _ = process.communicate(timeout=20)
        assert out == ""
        assert time.monotonic() - began < 20
    finally:
        process.kill()
        process.communicate()
    assert process.returncode in (0, 130, -stop)
