"""Whether every installed dependency comes under a licence that `licences.toml` allows or names; prints the list.

Exit code 0: all do. 3: at least one does not; it is named, with what to do.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

RULES: Final = Path(__file__).with_name("licences.toml")
_PARTS: Final = re.compile(r"\s+(?:AND|OR|and|or)\s+|;\s*|[()](?=$|\s)")


@dataclass(frozen=True, slots=True)
class Rules:
    """`allowed`: licences as metadata says them. `named`: a reason for each package that needs one."""

    allowed: frozenset[str]
    named: Mapping[str, str]

    @classmethod
    def load(cls) -> Rules:
        """The rules beside this file."""
        values = tomllib.loads(RULES.read_text(encoding="utf-8"))
        return cls(frozenset(values["allowed"]), values["named"])

    def admits(self, package: str, licence: str) -> bool:
        """Whether a package may stay: it is named, or each part of its licence's expression is allowed."""
        if package.lower().replace("_", "-") in self.named or licence in self.allowed:
            return True
        parts = [part for part in _PARTS.split(licence) if part.strip()]
        return bool(parts) and all(part.strip() in self.allowed for part in parts)


def installed() -> list[tuple[str, str, str]]:
    """Name, version and licence of every package in this environment."""
    command = [sys.executable, "-m", "piplicenses", "--from=mixed", "--format=json", "--with-system"]
    run = subprocess.run(command, check=True, capture_output=True, text=True)  # noqa: S603 - fixed words
    found = json.loads(run.stdout)
    return sorted((entry["Name"], entry["Version"], entry["License"]) for entry in found)


def main() -> int:
    """Print the list, and what is wrong with it."""
    rules = Rules.load()
    packages = [entry for entry in installed() if entry[0] != "privet"]
    for name, version, licence in packages:
        sys.stdout.write(f"{name}\t{version}\t{licence}\n")
    wrong = [(name, licence) for name, _, licence in packages if not rules.admits(name, licence)]
    for name, licence in wrong:
        sys.stderr.write(
            f"{name}: licence {licence!r} is not allowed. Leave the package out, or name it in {RULES.name} "
            "with the reason why it may stay.\n"
        )
    sys.stderr.write(f"{len(packages)} packages, {len(wrong)} under a licence that is not allowed.\n")
    return 3 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
