"""What was found out about a file before its records were read: the reading report.

Everything in it is for the hospital's own eyes. A finding names what was decided, why, and the setting of `[data]` that
decides it otherwise (`--NAME` on the command line), so that nothing is guessed that cannot be corrected.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from shared.texts import has_text, text

Found = str | int | bool | None


@dataclass(frozen=True, slots=True)
class Finding:
    """One decision. `why`: the evidence, or that a setting said so. `setting`: what overrides it; empty for none."""

    subject: str
    found: Found
    why: str = ""
    setting: str = ""

    def to_json(self) -> dict[str, Found]:
        """For `--json`."""
        return {"subject": self.subject, "found": self.found, "why": self.why, "setting": self.setting}

    def __str__(self) -> str:
        shown: object = self.found
        if isinstance(self.found, bool):
            shown = text("common.yes" if self.found else "common.no")
        elif self.found is None:
            shown = text("common.none")
        name = f"reading.subject.{self.subject.replace(' ', '_')}"
        told = f"{text(name) if has_text(name) else self.subject}: {shown}"
        if self.why:
            told = f"{told}: {self.why}"
        return text("reading.with_setting", told=told, setting=self.setting) if self.setting else told


@dataclass(frozen=True, slots=True)
class ReadingReport:
    """How a file was read. `format`: text, ARFF, Excel or Parquet. Rows are records, without the header."""

    where: str
    format: str
    row_count: int
    column_count: int
    findings: tuple[Finding, ...]

    def find(self, subject: str) -> Found:
        """What was found of a subject; None where nothing was said of it."""
        return next((finding.found for finding in self.findings if finding.subject == subject), None)

    def with_findings(self, more: Iterable[Finding]) -> ReadingReport:
        """The same report with findings added."""
        return ReadingReport(
            self.where, self.format, self.row_count, self.column_count, (*self.findings, *more)
        )

    def to_json(self) -> dict[str, Any]:
        """For `--json`."""
        return {
            "file": self.where,
            "format": self.format,
            "rows": self.row_count,
            "columns": self.column_count,
            "findings": [finding.to_json() for finding in self.findings],
        }

    def lines(self) -> Iterator[str]:
        """For people, one finding a line."""
        sizes = {"rows": self.row_count, "columns": self.column_count}
        yield text("reading.file", where=self.where, format=self.format, **sizes)
        yield from map(str, self.findings)
