"""The import contracts catch what they are for: one planted violation each, in a copy of the packages."""

from __future__ import annotations

import ast
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ("shared", "machine", "cloud_service", "hospital_agent", "trusted_authority", "privet")

PLANTED = [
    ("shared/wire/base.py", "import hospital_agent", "programs"),
    ("cloud_service/api/__init__.py", "import hospital_agent.records", "programs"),
    ("trusted_authority/vault.py", "import privet", "programs"),
    ("shared/crypto/paillier.py", "import shared.tree", "rooms of shared"),
    ("shared/rng.py", "import shared.wire.base", "rooms of shared"),
    ("shared/helpers.py", "", "rooms of shared"),
    ("machine/supervisor.py", "import cloud_service.settings", "programs"),
    ("machine/misc.py", "", "rooms of the machine"),
    ("machine/supervisor.py", "import shared.protocol.tracing", "the machine knows no protocol"),
    ("machine/supervisor.py", "import httpx", "one door from the hospital to the network"),
    ("cloud_service/store/__init__.py", "import cloud_service.api", "rooms of the cloud"),
    ("cloud_service/misc.py", "", "rooms of the cloud"),
    ("hospital_agent/misc.py", "", "rooms of the hospital"),
    ("hospital_agent/records/__init__.py", "import hospital_agent.cloud", "rooms of the hospital"),
    ("hospital_agent/cloud/__init__.py", "import hospital_agent.records", "rooms of the hospital"),
    ("hospital_agent/policy.py", "import hospital_agent.daemon", "rooms of the hospital"),
    ("trusted_authority/dealing.py", "import trusted_authority.ceremony", "rooms of the trusted authority"),
    ("shared/crypto/paillier.py", "import os", "no I/O, no clock in shared"),
    ("shared/tree/__init__.py", "import time", "no I/O, no clock in shared"),
    ("shared/tree/__init__.py", "import random", "one door to randomness"),
    ("hospital_agent/records/__init__.py", "import secrets", "one door to randomness"),
    ("cloud_service/service/__init__.py", "import gmpy2", "one door to big-number libraries"),
    ("shared/secure_tree/__init__.py", "import phe", "one door to big-number libraries"),
    ("hospital_agent/records/__init__.py", "import httpx", "one door from the hospital to the network"),
    ("hospital_agent/records/__init__.py", "import socket", "one door from the hospital to the network"),
    ("hospital_agent/daemon/loop.py", "import websockets", "one door from the hospital to the network"),
    ("hospital_agent/computing/__init__.py", "import socket", "one door from the hospital to the network"),
    ("hospital_agent/links/mesh.py", "import socket", "one door from the hospital to the network"),
    ("hospital_agent/links/link.py", "import hospital_agent.computing.driver", "rooms of the hospital"),
    ("cloud_service/service/__init__.py", "import duckdb", "patients' records only in their room"),
    ("cloud_service/service/__init__.py", "import shared.crypto.paillier_private", "private keys"),
    ("hospital_agent/records/__init__.py", "import shared.crypto.key_holder", "private keys"),
    ("hospital_agent/daemon/__init__.py", "import shared.crypto.paillier_private", "private keys"),
    ("trusted_authority/dealing.py", "import httpx", "the authority needs no network"),
    ("privet/client/calls.py", "import privet.client.blocking", "rooms of the client"),
    ("privet/client/misc.py", "", "rooms of the client"),
    ("privet/simulating.py", "import hospital_agent.records.draft", "a scientist's program"),
    ("shared/wire/base.py", "import shared.wire.envelope", "no circles"),
]


def lint(folder: Path) -> str:
    """What import-linter says about the packages in `folder`; the copies are found before the installed ones."""
    code = "import sys; from importlinter.cli import lint_imports; sys.exit(lint_imports(no_cache=True))"
    result = subprocess.run(
        [sys.executable, "-c", code],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        env={"PYTHONPATH": "."},
    )
    return result.stdout + result.stderr


def copy_to(folder: Path) -> None:
    for package in PACKAGES:
        shutil.copytree(ROOT / package, folder / package, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", folder)


@pytest.mark.long
def test_the_copy_itself_keeps_every_contract(tmp_path: Path) -> None:
    copy_to(tmp_path)
    assert "0 broken" in lint(tmp_path)


@pytest.mark.long
@pytest.mark.parametrize(("file", "line", "contract"), PLANTED)
def test_a_planted_violation_is_caught(tmp_path: Path, file: str, line: str, contract: str) -> None:
    copy_to(tmp_path)
    path = tmp_path / file
    former = path.read_text(encoding="utf-8") if path.exists() else ""
    path.write_text(f"{former}\n{line}\n", encoding="utf-8")
    broken = [row for row in lint(tmp_path).splitlines() if " BROKEN" in row]
    assert any(row.startswith(contract) for row in broken), broken


def imports_of(path: Path) -> set[str]:
    """Every `module.name` that a file imports with `from module import name`."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {
        f"{node.module}.{alias.name}"
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }


def test_keys_are_generated_by_the_authority_alone() -> None:
    users = {
        path.relative_to(ROOT).parts[0]
        for package in PACKAGES
        for path in (ROOT / package).rglob("*.py")
        if "shared.crypto.paillier_private.generate" in imports_of(path)
    }
    assert users == {"trusted_authority"}
