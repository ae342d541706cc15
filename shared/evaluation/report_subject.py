"""What a report is about, as plain values: whoever holds a model fills this in, and nothing is guessed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from shared.evaluation.judging import Judgement
from shared.tree.model import Tree
from shared.tree.schema import Schema

Disclosure = Literal["class", "probability", "counts"]
JudgedOn = Literal["training", "held-out", "mixed", "folds", "own"]
"""On which records: those of the training, others held out at all hospitals, both mixed, each fold's by a tree of the
others, or those of the hospital that writes the report."""


@dataclass(frozen=True, slots=True)
class Judged:
    """One judgement, and of what. `hospitals`: whose records were judged. `note`: how they were chosen, in words."""

    on: JudgedOn
    hospitals: tuple[str, ...]
    judgement: Judgement
    note: str = ""


@dataclass(frozen=True, slots=True)
class Subject:
    """A model as a report tells of it.

    `tree`: None where it is not shown here. `rules`: of growing, as words by name. `day_agreed`, `day_done`: ISO days.
    `privacy`: lines of the ledger, as (who, what, how much). `importance`: (attribute, share) where it is known.
    `lines_of_tree`: its drawing. `version`: of the program. `noise`: in words, empty without.
    """

    job: str
    study: str
    question: str
    schema: Schema = field(repr=False)
    hospitals: tuple[str, ...]
    mode: str
    rules: Mapping[str, str]
    disclosure: Disclosure
    tree: Tree | None = field(repr=False)
    tree_sha256: str | None
    manifest_sha256: str
    lines_of_tree: str = field(repr=False)
    day_agreed: str
    day_done: str
    notice: str
    version: str
    synthetic: bool = False
    published: bool = False
    noise: str = ""
    class_weights: tuple[int, ...] | None = None
    privacy: tuple[tuple[str, str, str], ...] = ()
    importance: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True, slots=True)
class Report:
    """A report ready to be written. `floor`: None where it is for the hospital's own eyes only.

    `by_hospital`: measures of hospitals that show their own, by name; None for one that does not.
    """

    subject: Subject
    judged: Sequence[Judged]
    floor: int | None
    by_hospital: Mapping[str, Any] | None = None
