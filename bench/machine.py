"""What a run was measured on, in one line, so that figures are never read without it."""

from __future__ import annotations

import os
import platform
from pathlib import Path

import gmpy2  # type: ignore[import-untyped]  # publishes no types


def describe_machine() -> str:
    """Processor, cores, Python and big-integer library."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return (
        f"{_processor()}, {cores} cores, {platform.python_implementation()} {platform.python_version()}, "
        f"gmpy2 {gmpy2.version()} with {gmpy2.mp_version()}"
    )


def _processor() -> str:
    listing = Path("/proc/cpuinfo")
    if listing.is_file():
        for line in listing.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
