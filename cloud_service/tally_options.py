"""Options of `privet cloud job create` about records that are held out, and about jobs that only count."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Final

import typer

from shared.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable

    from cloud_service.service.jobs import Jobs
    from cloud_service.service.tallying import SelectionPlan, TallyPlan

_PAGE: Final = 100
_SEED_BYTES: Final = 16
_SEED: Final = re.compile(r"[0-9a-f]{32}")


class RecordsName(StrEnum):
    """Which records a tree is evaluated on."""

    TEST = "test"
    TRAIN = "train"
    ALL = "all"


HoldOut = Annotated[
    str | None,
    typer.Option(
        metavar="SHARE", help="Grow on the rest of the records: 30% or 1/3 are held out for testing."
    ),
]
Fold = Annotated[
    str | None,
    typer.Option(
        metavar="I/K",
        help="Grow on all but fold I of K; all/K starts the K jobs at once, which share a seed.",
    ),
]
Seed = Annotated[
    str | None,
    typer.Option(
        metavar="HEX", help="Hold out as another job did: its seed, 32 hex digits. Fresh by default."
    ),
]
Evaluate = Annotated[
    str | None,
    typer.Option(
        metavar="JOB",
        help="Grow nothing: count the records of each class at each place of the tree that this job grew. Hospitals "
        "read the result: privet agent evaluation.",
    ),
]
Records = Annotated[
    RecordsName | None,
    typer.Option(help="With --evaluate: the records held out of that job, by default, or others."),
]
Places = Annotated[
    int | None,
    typer.Option(
        min=1, help="With --evaluate: at least the tree's nodes, where the cloud cannot bound them."
    ),
]
Histogram = Annotated[
    bool,
    typer.Option(
        "--histogram", help="Grow nothing: count each value of each attribute, by class, for cut points."
    ),
]


AllFolds = Annotated[
    bool,
    typer.Option(
        "--all-folds",
        help="With --evaluate: one job for every tree grown with that one's seed and number of folds.",
    ),
]


def selections(hold_out: str | None, fold: str | None, seed: str | None) -> list[SelectionPlan | None]:
    """What is held out, of one job or of one a fold. Raises: InputError: two partings at once, or one that is none."""
    from dataclasses import replace

    from cloud_service.service.tallying import SelectionPlan
    from shared.rng import random_bytes

    if hold_out is None and fold is None:
        if seed is not None:
            raise InputError("a seed needs --hold-out or --fold", where="--seed")
        return [None]
    if hold_out is not None and fold is not None:
        raise InputError("give --hold-out or --fold, not both", where="--fold")
    if seed is not None and _SEED.fullmatch(seed) is None:
        raise InputError(
            "expected 32 hex digits", where="--seed", remedy="Copy it from privet cloud job show."
        )
    plans = [SelectionPlan.hold_out(hold_out)] if hold_out is not None else _folds(fold or "")
    shared = seed or random_bytes(_SEED_BYTES).hex()
    return [replace(plan, seed=shared) for plan in plans]


def each_fold(jobs: Jobs, wanted: TallyPlan | None) -> list[TallyPlan]:
    """The evaluation of every tree that was grown on a fold of the same parting, by fold.

    Of several trees for one fold the newest. Raises: InputError: no evaluation, or no fold was held out.
        UnknownThingError: no such job.
    """
    from dataclasses import replace

    if wanted is None or wanted.model is None:
        raise InputError("it belongs to --evaluate JOB", where="--all-folds")
    return [replace(wanted, model=job) for job in _fold_mates(jobs, wanted.model)]


def _fold_mates(jobs: Jobs, job: str) -> list[str]:
    from shared.protocol.states import CloudState

    own = jobs.get(job)
    parted = own.job.manifest.selection
    if parted is None:
        raise InputError("that job held nothing out, so there are no folds", where="--all-folds")
    alike = {"seed": parted.seed, "parts": parted.parts, "hash": parted.hash, "use": "train"}
    found: dict[int, str] = {}
    before: str | None = None
    while page := jobs.page(study=own.study, state=CloudState.DONE, before=before, limit=_PAGE):
        for stored in page:
            held = stored.job.manifest.selection
            fits = held is not None and {name: getattr(held, name) for name in alike} == alike
            if fits and held is not None and stored.job.manifest.tally is None:
                found.setdefault(held.first, stored.job.manifest.job)
        before = page[-1].job.manifest.job
    return [found[first] for first in sorted(found)]


def tally(
    evaluate: str | None,
    records: RecordsName | None,
    places: int | None,
    named: Callable[[str], str],
    *,
    histogram: bool,
) -> TallyPlan | None:
    """What is counted in place of a tree. Args: named: the whole id of a job from its beginning.

    Raises: InputError: two kinds at once, or an option of an evaluation without one.
    """
    from cloud_service.service.tallying import TallyPlan

    if evaluate is None:
        given = [name for name, value in (("--records", records), ("--places", places)) if value is not None]
        if given:
            raise InputError("it belongs to --evaluate JOB", where=given[0])
        return TallyPlan("histogram") if histogram else None
    if histogram:
        raise InputError("give --evaluate or --histogram, not both", where="--histogram")
    return TallyPlan("evaluation", named(evaluate), None if records is None else records.value, places)


def _folds(text: str) -> list[SelectionPlan]:
    from cloud_service.service.tallying import SelectionPlan

    fold, slash, folds = text.partition("/")
    if not (slash and (fold == "all" or fold.isdecimal()) and folds.isdecimal()):
        raise InputError("expected I/K or all/K", where="--fold", remedy="For example: --fold all/5.")
    numbers = [int(fold)] if fold != "all" else range(1, max(1, int(folds)) + 1)
    return [SelectionPlan.of_fold(number, int(folds)) for number in numbers]
