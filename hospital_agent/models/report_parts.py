"""What a report takes from other jobs and from single hospitals: folds of a cross-validation, handed-over results."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

from hospital_agent.models.model import Model
from hospital_agent.models.shelf import Shelf
from hospital_agent.models.tallies import TallyResult, confusion_of
from machine.files import read_file
from shared.errors import InputError
from shared.evaluation.comparing import Paired
from shared.evaluation.confusion import Confusion
from shared.evaluation.report_subject import SiteResult
from shared.evaluation.table import leaf_table
from shared.ids import is_valid_id
from shared.protocol.report_facts import judged_on, parts_of
from shared.tree.frontier import MAX_COUNT
from shared.wire.tally import Use

_MAX_SITE_BYTES = 2**26


def fold_matrices(model: Model, results: Iterable[TallyResult], shelf: Shelf) -> list[Confusion]:
    """One matrix a fold. Args: results: evaluations of the folds' trees, whose models are on the shelf.

    Raises: InputError: another study or other classes, records that their tree was grown on, or a part judged twice.
    """
    matrices: list[Confusion] = []
    seen: set[tuple[str, str | None, int, int]] = set()
    for result in results:
        grown = _grown(model, result, shelf)
        selection = result.manifest.selection
        if selection is None or _on(grown, result) != "held-out":
            raise _refused(result, "its tree was grown on some of the records that it judged")
        division = (selection.seed, selection.hash, selection.parts)
        parts = {(*division, part) for part in parts_of(selection, selection.parts)}
        if parts & seen or len({one[:3] for one in parts | seen}) > 1:
            raise _refused(result, "the folds do not divide the records: one part twice, or two divisions")
        seen |= parts
        table = leaf_table(grown.shown_tree, model.schema.classes, result.places(grown.shown_tree))
        matrices.append(Confusion.of(table).with_votes(result.votes(grown) or ()))
    return matrices


def _grown(model: Model, result: TallyResult, shelf: Shelf) -> Model:
    asked = result.manifest.tally
    if asked is None or asked.model is None:
        raise _refused(result, "it evaluated no tree")
    grown = shelf.get(asked.model)
    if (grown.manifest.study, grown.schema.classes) != (model.manifest.study, model.schema.classes):
        raise _refused(result, "its tree is of another study")
    if grown.tree_sha256 != asked.tree_sha256:
        raise _refused(result, "its tree is not the one on the shelf")
    return grown


def _on(grown: Model, result: TallyResult) -> str:
    return judged_on(
        grown.manifest.selection,
        result.manifest.selection,
        frozenset(grown.hospitals),
        frozenset(result.proof.hospitals),
    )


def _refused(result: TallyResult, reason: str) -> InputError:
    return InputError(
        f"this job is no fold of a cross-validation: {reason}",
        where=f"job {result.job}",
        remedy="Give one evaluation of held-out records for each fold, of trees of this study.",
    )


def read_site(path: Path, model: Model) -> SiteResult:
    """A file that `privet agent evaluate MODEL --json` printed at a hospital.

    Raises: InputError: another form, or about another tree.
    """
    found = _read(path, model)
    if found.tree_sha256 != model.tree_sha256:
        raise InputError(
            "this is not a hospital's own evaluation of this tree",
            where=str(path),
            remedy="Have the hospital run evaluate for this model.",
        )
    took_part = "" if found.hospital in model.hospitals else ", took no part"
    return SiteResult(found.hospital, f"{found.use}{took_part}", found.matrix, found.own, found.paired)


def read_left_out(path: Path, model: Model, shelf: Shelf) -> tuple[str, Confusion]:
    """A file that `privet agent evaluate --file TREE --json` printed at a hospital which took no part in that tree.

    Raises: InputError: another form, a tree that is no model of this study here, or one that the hospital took part in.
    """
    found = _read(path, model)
    for job in shelf.ids():
        grown = shelf.get(job)
        if grown.tree_sha256 != found.tree_sha256 or grown.manifest.study != model.manifest.study:
            continue
        if found.hospital not in grown.hospitals:
            return found.hospital, found.matrix
    raise InputError(
        "no tree of this study on the shelf here is the one of that file and was grown without that hospital",
        where=str(path),
        remedy="Leave one hospital out in a job, and have it evaluate that job's exported model.",
    )


@dataclass(frozen=True, slots=True)
class _Found:
    """What a hospital's own evaluation says."""

    hospital: str
    use: str
    tree_sha256: str
    matrix: Confusion
    own: Confusion | None
    paired: Paired | None


def _read(path: Path, model: Model) -> _Found:
    raw = read_file(path, max_bytes=_MAX_SITE_BYTES, remedy="Name what evaluate --json printed.")
    try:
        data: dict[str, Any] = json.loads(raw)
        (hospital,) = data["hospitals"]
        use, sha256 = data["use"], data["tree_sha256"]
        if (data["kind"], tuple(data["classes"])) != ("local", model.schema.classes):
            raise ValueError("kind")
        if use not in (*get_args(Use), "all") or not is_valid_id(hospital):
            raise ValueError("hospital")  # it is shown as it stands
        return _Found(
            hospital,
            use,
            str(sha256),
            _matrix(model, data),
            None if "own_tree" not in data else _matrix(model, data["own_tree"]),
            None if "paired" not in data else _paired(data["paired"]),
        )
    except (ValueError, KeyError, TypeError, RecursionError, IndexError):
        raise InputError(
            "not what a hospital's own evaluation prints, with the classes of this model",
            where=str(path),
            remedy="Have the hospital run: privet agent evaluate DIR MODEL --json > FILE",
        ) from None


def _matrix(model: Model, tree: dict[str, Any]) -> Confusion:
    """The matrix of a tree that is told by its counts and answers alone."""
    size = len(model.schema.classes)
    nodes, answers, votes = tree["nodes"], tree["answers"], tree["votes"]
    for row, answer in [*zip(nodes, answers, strict=True), *((row, 0) for row in votes or ())]:
        if len(row) != size or not all(map(_is_count, row)):
            raise ValueError("row")
        if any(row) and not (type(answer) is int and 0 <= answer < size):
            raise ValueError("answer")
    cells = confusion_of(nodes, answers, votes, size)
    return Confusion(model.schema.classes, tuple(map(tuple, cells)))


def _paired(data: dict[str, Any]) -> Paired:
    names = ("both_right", "only_joint_right", "only_own_right", "neither_right")
    counts = [data[name] for name in names]
    if not all(map(_is_count, counts)):
        raise ValueError("count")
    return Paired(*counts)


def _is_count(value: object) -> bool:
    """Whether it is a number of records, which measures can reckon with."""
    return type(value) is int and 0 <= value <= MAX_COUNT
