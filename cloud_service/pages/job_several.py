"""One plan that stands for several jobs: for each fold, for each tree of a fold, for each hospital left out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from cloud_service.leaving_out import each_without_one
from cloud_service.pages.frame import Form
from cloud_service.pages.study_form import Values
from cloud_service.service.planning import JobPlan
from cloud_service.service.refusals import ConflictError, UnknownThingError
from cloud_service.service.studies import StudyView
from cloud_service.service.tallying import SelectionPlan
from cloud_service.tally_options import each_fold
from shared.errors import InputError, PeerError
from shared.texts import text

FOLDS: Final = ("folds/3", "folds/5", "folds/10")
"""Choices of the field `hold_out` beside shares: so many parts, of which each job holds out another one."""
FIELDS: Final = ("without_one", "every_fold")
MOST: Final = 64
"""Jobs that one form starts. Each is a transaction of its own, and people wait."""
_PREFIX: Final = "folds/"


@dataclass(frozen=True, slots=True)
class Begun:
    """`first`: the first job's id. `jobs`: how many there are."""

    first: str
    jobs: int


def folds_of(values: Values) -> int:
    """The number of folds; 0 without."""
    said = values.value("hold_out")
    return int(said.removeprefix(_PREFIX)) if said in FOLDS else 0


def plans_of(form: Form, view: StudyView, values: Values, plan: JobPlan, seed: str) -> list[JobPlan]:
    """The plans of all jobs, in a fixed order. Args: seed: 32 hex digits, of the folds.

    Raises: InputError: too many jobs at once; or some hospital is left out that has not consented.
    """
    plans = [plan]
    if folds := folds_of(values):
        partings = [SelectionPlan.of_fold(fold, folds) for fold in range(1, folds + 1)]
        plans = [replace(plan, selection=replace(one, seed=seed)) for one in partings]
    if values.has("every_fold") and plan.tally is not None and plan.tally.kind == "evaluation":
        counts = each_fold(form.services.jobs, plan.tally)
        plans = [replace(plan, tally=count) for count in counts]
    if values.has("without_one"):
        by_hospital = each_without_one(form.services.jobs, view, plans)
        plans = [one for mine in by_hospital.values() for one in mine]
    if len(plans) > MOST:
        raise InputError(text("cloud.start.fault.too_many", n=len(plans), most=MOST), where="hold_out")
    return plans


def start_all(form: Form, view: StudyView, plans: Sequence[JobPlan], key: str) -> Begun:
    """Start them one after another; the same form again starts only those that are missing.

    Raises: InputError, PeerError, ConflictError: one was refused; those before it run, which the words say.
    """
    jobs: list[str] = []
    for place, plan in enumerate(plans):
        own = None if not key else key if place == 0 else f"{key}-{place}"
        try:
            begun = form.services.jobs.start(view, plan, actor=form.caller.name, key=own)
        except (InputError, PeerError, ConflictError, UnknownThingError) as error:
            if not jobs:
                raise
            raise ConflictError(
                text("cloud.start.fault.some_started", n=len(jobs), all=len(plans), why=str(error))
            ) from None
        jobs.append(begun.stored.job.manifest.job)
    return Begun(jobs[0], len(jobs))
