"""The whole job as people run it: `privet demo --json`, every party a process of its own, HTTP on loopback."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from typing import Final

from bench.product import Profile

PATIENCE_SECONDS: Final = 600
PUBLISHED_RULES: Final = (
    "--min-node",
    "1",
    "--min-child",
    "1",
    "--max-depth",
    "none",
    "--split-on-zero-gain",
)


@dataclass(frozen=True, slots=True)
class WholeJob:
    """`seconds`: wall; `total` from "start" to every hospital holding the tree. `bytes`: by message type."""

    tree_sha256: str
    seconds: dict[str, float]
    bytes: dict[str, int]


def run_whole_job(key_bits: int, profile: Profile, runs: int) -> WholeJob:
    """The quickest of some runs: a wall clock also shows what else the machine had to do."""
    return min((_run(key_bits, profile) for _ in range(runs)), key=lambda job: job.seconds["total"])


def _run(key_bits: int, profile: Profile) -> WholeJob:
    """Run the demo with the publication's rules. Raises: RuntimeError: it failed, or its trees differ."""
    command = [sys.executable, "-m", "privet", "demo", "--json", "--key-bits", str(key_bits)]
    command += ["--profile", profile, *PUBLISHED_RULES]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"privet demo ended with {done.returncode}: {done.stderr[-2000:]}")
    document = json.loads(done.stdout)
    if not document["equal"]:
        raise RuntimeError("privet demo: the trees differ")
    return WholeJob(document["tree_sha256"], document["seconds"], document["bytes"])
