"""What a person asks of a job that only counts, or that holds records out, and what the manifest says then."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, Literal

from pydantic import ValidationError

from cloud_service.service.results import Results
from cloud_service.service.studies import StudyView
from cloud_service.store.journal import Event
from shared.errors import InputError
from shared.protocol.disclosure import nodes_at, terms_of
from shared.protocol.tallies import schema_asked
from shared.rng import random_bytes
from shared.wire.base import describe
from shared.wire.manifest import MAX_CELLS, Manifest
from shared.wire.tally import MAX_PARTS, MAX_PLACES, SelectionSpec, TallyKind, TallySpec

Records = Literal["test", "train", "all"]
_SEED_BYTES: Final = 16
_SPARE: Final = 64


@dataclass(frozen=True, slots=True)
class TallyPlan:
    """A job that only counts. `model`: of an evaluation, the job whose tree it is.

    `records`: those held out of that job, those it was grown on, or all; None for those held out where some were.
    `places`: at least the nodes of the tree; None for a bound from what the cloud has seen of its growth.
    """

    kind: TallyKind
    model: str | None = None
    records: Records | None = None
    places: int | None = None


@dataclass(frozen=True, slots=True)
class SelectionPlan:
    """A job on the records that are left when a part is held out. `seed`: None for a fresh one."""

    parts: int
    first: int
    last: int
    seed: str | None = None

    @classmethod
    def hold_out(cls, share: str) -> SelectionPlan:
        """Args: share: as `30%`, `0.3` or `1/3`. Raises: InputError: no share that at most 20 equal parts make."""
        try:
            text = share.strip()
            part = Fraction(text.rstrip("%")) / (100 if text.endswith("%") else 1)
        except (ValueError, ZeroDivisionError):
            part = Fraction(0)
        if not 0 < part < 1 or part.denominator > MAX_PARTS:
            raise InputError(
                f"expected a share such as 30% or 1/3, in parts of which there are at most {MAX_PARTS}",
                where="hold-out",
                remedy="Take a multiple of 5%, or a third or a seventh: finer shares would tell of few records.",
            )
        return cls(part.denominator, 0, part.numerator)

    @classmethod
    def of_fold(cls, fold: int, folds: int) -> SelectionPlan:
        """Fold `fold` of `folds`, from 1 on, is held out. Raises: InputError: there is no such fold."""
        if not (2 <= folds <= MAX_PARTS and 1 <= fold <= folds):
            raise InputError(
                f"expected fold 1 to {folds}, of 2 to {MAX_PARTS} folds",
                where="fold",
                remedy="For example fold 1 of 5, then 2 to 5 with the same seed.",
            )
        return cls(folds, fold - 1, fold)

    def spec(self) -> SelectionSpec:
        """The manifest's block, for growing. Raises: InputError: no part, or all, would be held out."""
        seed = random_bytes(_SEED_BYTES).hex() if self.seed is None else self.seed
        try:
            return SelectionSpec(seed=seed, parts=self.parts, first=self.first, last=self.last, use="train")
        except ValidationError as error:
            raise InputError(describe(error), where="selection", remedy="Change what is held out.") from None


def tally_rules(
    study: StudyView,
    tally: TallyPlan | None,
    selection: SelectionPlan | None,
    results: Results,
    events: Callable[[str], Sequence[Event]],
) -> dict[str, Any]:
    """The members of a manifest that a tally or a selection changes; none without either.

    Args: results: of the cloud's jobs. events: the story of a job.
    Raises: InputError: the evaluation names no finished tree of this study, or one too large to be evaluated.
        UnknownThingError: there is no such job.
    """
    rules: dict[str, Any] = {} if selection is None else {"selection": selection.spec()}
    if tally is None:
        return rules
    rules |= {"max_depth": 1, "publish_tree": False}
    if tally.kind == "histogram":
        measured = next((a.name for a in study.schema.attributes if a.numeric is not None), None)
        if measured is not None:
            raise InputError(
                f"a histogram counts listed values and intervals, and attribute {measured[:200]!r} has neither",
                where="histogram",
                remedy="Start it under a study whose schema has fine cut points for it.",
            )
        return rules | {"tally": TallySpec(kind="histogram")}
    if selection is not None:
        raise InputError(
            "an evaluation takes the parting of the job that grew the tree",
            where="hold-out",
            remedy="Leave it out, and say which records with --records test, train or all.",
        )
    spec, grown = _evaluation(study, tally, results, events)
    taken = _records_of(grown, tally.records)
    return rules | {"tally": spec, "selection": taken, "schema_": schema_asked(study.schema, spec)}


def _evaluation(
    study: StudyView, tally: TallyPlan, results: Results, events: Callable[[str], Sequence[Event]]
) -> tuple[TallySpec, Manifest]:
    job = tally.model or ""
    found, grown = results.result(job), results.manifest(job)
    wrong = [
        (grown.study != study.id, "its tree is of another study"),
        (grown.tally is not None, "it only counted and has no tree"),
        (found.tree_sha256 is None, "not every hospital has attested the same tree yet"),
        (grown.secret is not None and not _is_shown(grown), "its tree is not shown to every hospital"),
    ]
    reason = next((text for broken, text in wrong if broken), None)
    if reason is not None:
        raise InputError(
            f"job {job} cannot be evaluated: {reason}",
            where="evaluate",
            remedy="Name a finished job of this study whose tree all its hospitals have.",
        )
    limit = min(MAX_PLACES, MAX_CELLS // len(grown.schema_.class_.labels))
    places = tally.places or _bound(grown, events(job))
    if places is None or places > limit:
        raise InputError(
            "the cloud does not know how many nodes the tree has"
            if places is None
            else f"an evaluation counts at most {limit} places of a tree with these classes",
            where="places",
            remedy="Ask a hospital for the number of nodes (privet agent models list), and give it with --places.",
        )
    return TallySpec(kind="evaluation", model=job, tree_sha256=found.tree_sha256, places=places), grown


def _is_shown(grown: Manifest) -> bool:
    secret = grown.secret
    return secret is None or (secret.result, secret.result_parties, secret.purpose) == ("open", None, "train")


def _records_of(grown: Manifest, wanted: Records | None) -> SelectionSpec | None:
    parted = grown.selection
    if wanted == "all" or (wanted is None and parted is None):
        return None
    if parted is None:
        raise InputError(
            "no records were held out when this tree was grown",
            where="records",
            remedy="Evaluate it on all of them (--records all; too good by nature), or grow one with --hold-out.",
        )
    return parted.model_copy(update={"use": wanted or "test"})


def _bound(grown: Manifest, events: Sequence[Event]) -> int | None:
    """At least the nodes of a tree, as far as the cloud can tell; None where it cannot within reason."""
    terms = terms_of(grown)
    widest = max(terms.values, default=0) or 2
    if grown.profile == "secret-gainratio":
        return (2 << (grown.max_depth or 0)) - 1
    if grown.secret is not None:
        depth = len(terms.values) if grown.max_depth is None else grown.max_depth
        most = sum(nodes_at(terms, level) for level in range(depth + 1))
        return most if most <= MAX_PLACES else None
    opened = 1 + sum(int(event.data.get("nodes", 0)) for event in events if event.kind == "level")
    # Nodes whose cells all followed from others were never asked, hence some to spare; agents check it.
    return min(1 + opened * widest + _SPARE, MAX_PLACES)
