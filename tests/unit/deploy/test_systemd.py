"""The systemd units: correct, hardened to a stated exposure, and of the programs that they start."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from cloud_service.places import PLACES as CLOUD_PLACES
from cloud_service.settings import all_settings as cloud_settings
from hospital_agent.settings import all_settings as agent_settings
from privet.programs import PROGRAMS

FOLDER = Path(__file__).resolve().parents[3] / "deploy" / "systemd"
UNITS = sorted(FOLDER.glob("*.service"))
MOST_EXPOSED = 15
"""In tenths of systemd's exposure level (0 to 10); it was 1.2 for both when this was written."""
needs_systemd = pytest.mark.skipif(
    shutil.which("systemd-analyze") is None,
    reason="systemd-analyze is not installed: apt-get install systemd",
)


def installed(unit: Path, folder: Path, old: str = "", new: str = "") -> Path:
    """The unit with a program that is there, in the folder; and with one change."""
    text = unit.read_text().replace("/opt/privet/bin/privet", shutil.which("true") or "/bin/true")
    assert old in text
    copy = folder / unit.name
    copy.write_text(text.replace(old, new))
    return copy


def analyze(*words: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["systemd-analyze", *map(str, words)], capture_output=True, text=True, check=False, timeout=60
    )


@needs_systemd
@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
def test_the_unit_is_correct(unit: Path, tmp_path: Path) -> None:
    found = analyze("verify", "--man=no", installed(unit, tmp_path))
    assert (found.returncode, found.stderr) == (0, "")
    wrong = analyze("verify", "--man=no", installed(unit, tmp_path, "ProtectClock=", "ProtectWatch="))
    assert "ProtectWatch" in wrong.stderr, "the positive control"


@needs_systemd
@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
def test_the_unit_is_hardened(unit: Path, tmp_path: Path) -> None:
    words = ("security", "--offline=true", "--no-pager", f"--threshold={MOST_EXPOSED}")
    found = analyze(*words, installed(unit, tmp_path))
    assert found.returncode == 0, found.stdout
    opened = installed(unit, tmp_path, "SystemCallFilter=@system-service", "SystemCallFilter=")
    assert analyze(*words, opened).returncode != 0, "the positive control"


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
def test_the_unit_starts_what_there_is(unit: Path) -> None:
    text = unit.read_text()
    (program, word) = re.findall(r"^ExecStart=/opt/privet/bin/privet (\w+) (\w+)$", text, re.MULTILINE)[0]
    commands = PROGRAMS[program].load().commands  # type: ignore[union-attr]
    assert word in commands
    for line in ("Type=notify", "NoNewPrivileges=yes", "ProtectSystem=strict", "MemoryDenyWriteExecute=yes"):
        assert f"\n{line}\n" in text
    known = {one.file_name for one in (cloud_settings() if program == "cloud" else agent_settings())}
    loaded = re.findall(r"^LoadCredential=(\w+):", text, re.MULTILINE)
    assert loaded
    assert set(loaded) <= known
    assert loaded == re.findall(r"^SetCredential=(\w+):\\n$", text, re.MULTILINE), (
        "an empty one where none is"
    )


def test_the_tls_drop_in_sets_settings() -> None:
    text = (FOLDER / "privet-cloud.service.d" / "tls.conf").read_text()
    named = re.findall(r"(PRIVET_\w+)=%d/([\w.]+)", text)
    assert {name for name, _ in named} <= {one.variable(CLOUD_PLACES.prefix) for one in cloud_settings()}
    assert {file for _, file in named} == set(re.findall(r"^LoadCredential=([\w.]+):", text, re.MULTILINE))


@pytest.mark.skipif(os.geteuid() != 0, reason="giving folders to another user needs root")
@needs_systemd
def test_the_user_and_the_folders(tmp_path: Path) -> None:
    made = subprocess.run(
        ["systemd-sysusers", "--dry-run", str(FOLDER / "privet.sysusers")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert made.returncode == 0, made.stderr
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc" / "passwd").write_text("privet:x:995:995::/var/lib/privet:/usr/sbin/nologin\n")
    (tmp_path / "etc" / "group").write_text("privet:x:995:\n")
    made = subprocess.run(
        ["systemd-tmpfiles", "--create", f"--root={tmp_path}", str(FOLDER / "privet.tmpfiles")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert made.returncode == 0, made.stderr
    folders = {
        path.relative_to(tmp_path).as_posix(): path.stat() for path in tmp_path.rglob("*") if path.is_dir()
    }
    for name, mode, user in (
        ("etc/privet", 0o750, 0),
        ("etc/privet/credentials", 0o700, 0),
        ("var/lib/privet/cloud", 0o700, 995),
        ("var/lib/privet/agent", 0o700, 995),
    ):
        assert (folders[name].st_mode & 0o777, folders[name].st_uid) == (mode, user), name
