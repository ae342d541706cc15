"""What a report is about, as plain values: whoever holds a model fills this in, and nothing is guessed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from shared.evaluation.combining import may_be_shown
from shared.evaluation.comparing import Paired
from shared.evaluation.confusion import Confusion
from shared.evaluation.costs import Costs
from shared.evaluation.judging import Judgement
from shared.evaluation.measures import CONFIDENCE_95, Confidence
from shared.tree.model import Tree
from shared.tree.schema import Schema

Disclosure = Literal["class", "probability", "counts"]
JudgedOn = Literal["training", "held-out", "mixed"]
"""On which records: those of the training, others held out at all hospitals, or both mixed."""


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
    `privacy`: lines of the ledger, as (who, what, how much). `importance`: of the attributes
    that the tree asks, shares of the decrease of Gini impurity and of entropy.
    `lines_of_tree`: its drawing. `version`: of the program. `noise`: in words, empty without. `grown_on`: records of
    the training, None where the tree came without counts.
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
    importance: tuple[tuple[str, float, float], ...] = ()
    grown_on: int | None = None

    @property
    def parted(self) -> tuple[str, ...]:
        """The attributes of which a record without a value goes down all branches in parts."""
        return tuple(a.name for a in self.schema.attributes if a.is_fractional)


@dataclass(frozen=True, slots=True)
class SiteResult:
    """What one hospital handed over of its own: the tree on its records, and beside it a tree of its own.

    `on`: which of its records: test, train or all. `own`: the tree that it grew on its own records alone; `paired`: the
    two on the same records, this report's tree first.
    """

    hospital: str
    on: str
    matrix: Confusion
    own: Confusion | None = None
    paired: Paired | None = None


@dataclass(frozen=True, slots=True)
class Report:
    """A report ready to be written. `floor`: None where it is for the hospital's own eyes only.

    `folds`: of a cross-validation of the same study, one matrix a fold. `left_out`: of hospitals, each by a tree of the
    study that was grown without it. `sites`: of hospitals that handed over their own result with this tree. `costs`: of
    errors, one class each, by which the tree is also judged.
    """

    subject: Subject
    judged: Sequence[Judged]
    floor: int | None
    confidence: Confidence = CONFIDENCE_95
    folds: Sequence[Confusion] = ()
    left_out: Sequence[tuple[str, Confusion]] = ()
    sites: Sequence[SiteResult] = ()
    costs: Sequence[Costs] = ()

    @property
    def shown_sites(self) -> Sequence[SiteResult]:
        """Those that may stand beside the pooled results; in a shared report none by which one or two others follow."""
        names = [site.hospital for site in self.sites]
        if self.floor is not None and not all(may_be_shown(names, entry.hospitals) for entry in self.judged):
            return ()
        return self.sites
