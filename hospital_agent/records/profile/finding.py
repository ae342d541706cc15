"""One thing that a data steward should know, and the very option that deals with it."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Final

from shared.texts import text

MISSING_IN: Final = "--missing-in"
"""The option that takes a text of one column for an empty field."""


class Weight(StrEnum):
    """How much a finding matters.

    `stop`: no study can be made so. `act`: the tree would be wrong or unlawful. `look`: a person who knows the data
    should decide. `note`: worth knowing.
    """

    STOP = "stop"
    ACT = "act"
    LOOK = "look"
    NOTE = "note"


@dataclass(frozen=True, slots=True)
class Advice:
    """An option of `privet data draft` that does what a finding advises, such as `--drop id`."""

    option: str
    value: str

    def __str__(self) -> str:
        return f"{self.option} {shlex.quote(self.value)}"


@dataclass(frozen=True, slots=True)
class Finding:
    """`says`: what it is and what it means. `remedy`: what to do, in words. `advice`: options that do it."""

    code: str
    weight: Weight
    columns: tuple[str, ...]
    says: str
    remedy: str
    advice: tuple[Advice, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """For `--json`."""
        return {
            "code": self.code,
            "weight": self.weight.value,
            "columns": list(self.columns),
            "says": self.says,
            "remedy": self.remedy,
            "options": [[advice.option, advice.value] for advice in self.advice],
        }

    @property
    def text(self) -> str:
        """For people."""
        place = f"{', '.join(self.columns)}: " if self.columns else ""
        options = ""
        if self.advice:
            options = f" {text('finding.option', options=' '.join(map(str, self.advice)))}"
        return f"[{self.weight.value}] {self.code}: {place}{self.says} {self.remedy}{options}"


def finding(
    code: str,
    weight: Weight,
    columns: tuple[str, ...],
    *,
    advice: tuple[Advice, ...] = (),
    key: str | None = None,
    **places: object,
) -> Finding:
    """A finding with its two sentences, texts by the name of its code.

    Args: key: by which name instead, where a code has several sentences. places: of the first sentence.
    """
    name = f"finding.{key or code}"
    return Finding(code, weight, columns, text(f"{name}.says", **places), text(f"{name}.remedy"), advice)


def joined(findings: Sequence[Finding]) -> list[Finding]:
    """Findings that say the same of several columns as one."""
    alike: dict[tuple[str, str], list[Finding]] = {}
    for finding in findings:
        alike.setdefault((finding.code, finding.says), []).append(finding)
    return [_as_one(group) for group in alike.values()]


def _as_one(group: Sequence[Finding]) -> Finding:
    first = group[0]
    advice = [advice for finding in group for advice in finding.advice]
    texts = {one.value.rpartition("=")[2] for one in advice if one.option == MISSING_IN}
    if len(group) > 1 and texts:
        advice = [Advice("--missing", text) for text in sorted(texts)]
    columns = tuple(column for finding in group for column in finding.columns)
    return replace(first, columns=columns, advice=tuple(advice))


def drop(column: str) -> Advice:
    """Leave a column out."""
    return Advice("--drop", column)


def missing_code(column: str, text: str) -> Advice:
    """Take a text of one column for an empty field."""
    return Advice(MISSING_IN, f"{column}={text}")
