"""`privet cloud job`: what a coordinator plans at the cloud's own machine.

They write to the cloud's database, as the API does; a cloud that serves beside them goes on from there within a second.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cloud_service import growing_options, leaving_out, tally_options
from cloud_service.job_choices import CriterionName, KeyModeName, ModeName, ProfileName, ResultName
from cloud_service.places import Folder
from shared.errors import InputError
from shared.reports import Report

if TYPE_CHECKING:
    from cloud_service.service.planning import JobPlan
    from cloud_service.service.services import Services
    from cloud_service.service.tallying import TallyPlan

jobs = typer.Typer(help="Start, see and cancel jobs.", no_args_is_help=True, add_completion=False)

JobId = Annotated[str, typer.Argument(help="The job's id, or its beginning.", metavar="JOB")]
_DEPTH = 8
_GREATEST_NUMBER = 10**12


@jobs.command("create")
def create_job(
    folder: Folder,
    study: Annotated[str, typer.Option(help="The study's id.")],
    mode: Annotated[
        ModeName,
        typer.Option(help="ppsdt adds encrypted counts; id3 and gain-ratio compute on secret shares."),
    ] = ModeName.PPSDT,
    hospital: Annotated[
        list[str] | None, typer.Option(metavar="ID", help="Invite this one (repeatable); without it, all.")
    ] = None,
    compute: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ID",
            help="Secret modes: a compute party; give three, in order. By default the first three invited, with --ask "
            "those who hold the tree.",
        ),
    ] = None,
    result: Annotated[
        ResultName, typer.Option(help="gain-ratio: open the tree to the result parties, or keep it shared.")
    ] = ResultName.OPEN,
    result_party: Annotated[
        list[str] | None,
        typer.Option(metavar="ID", help="gain-ratio: open the result to this one (repeatable)."),
    ] = None,
    ask: Annotated[
        str | None,
        typer.Option(
            metavar="JOB", help="gain-ratio: ask the tree that this job kept shared for classes of records."
        ),
    ] = None,
    grid: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=STEP", help="gain-ratio: round an attribute's thresholds to a step (repeatable)."
        ),
    ] = None,
    open_empty: Annotated[
        bool, typer.Option("--open-empty", help="id3: also open which nodes are empty.")
    ] = False,
    max_records: Annotated[
        int | None, typer.Option(min=1, help="Secret modes: most records of all hospitals.")
    ] = None,
    profile: Annotated[ProfileName, typer.Option(help="Of mode ppsdt.")] = ProfileName.HARDENED,
    criterion: Annotated[
        CriterionName,
        typer.Option(
            help="Of mode ppsdt. c45: gain ratio among attributes of at least average gain; a study must allow it."
        ),
    ] = CriterionName.INFORMATION_GAIN,
    key_mode: Annotated[
        KeyModeName | None,
        typer.Option(
            help="Of mode ppsdt: who opens sums, every hospital by itself (shared) or several together (threshold). "
            "The federation's key decides it; say it here to be refused where the key is of the other mode."
        ),
    ] = None,
    min_hospitals: Annotated[int, typer.Option(min=3, help="Fewest that must accept.")] = 3,
    min_node: Annotated[int, typer.Option(min=1, help="Fewer records make a leaf.")] = 10,
    min_child: Annotated[int, typer.Option(min=1, help="Least records of a child.")] = 5,
    max_depth: Annotated[
        str | None,
        typer.Option(
            metavar="N|none", help="Questions on a path; 8 by default. Left out with --ask: that tree's own."
        ),
    ] = None,
    split_on_zero_gain: Annotated[
        bool, typer.Option("--split-on-zero-gain", help="Go on where the best gain is exactly 0.")
    ] = False,
    min_gain: growing_options.MinGain = None,
    class_weight: growing_options.ClassWeight = None,
    thresholds: growing_options.Thresholds = None,
    prune: growing_options.Prune = None,
    prune_confidence: growing_options.PruneConfidence = None,
    prune_bound: growing_options.PruneBound = None,
    prune_alpha: growing_options.PruneAlpha = None,
    prune_cost: growing_options.PruneCost = None,
    prune_share: growing_options.PruneShare = None,
    hold_out: tally_options.HoldOut = None,
    fold: tally_options.Fold = None,
    seed: tally_options.Seed = None,
    evaluate: tally_options.Evaluate = None,
    records: tally_options.Records = None,
    places: tally_options.Places = None,
    all_folds: tally_options.AllFolds = False,
    histogram: tally_options.Histogram = False,
    leave_one_out: leaving_out.LeaveOneOut = False,
    noise_sigma: Annotated[
        str | None,
        typer.Option(
            metavar="SIGMA",
            help="Differential privacy (mode ppsdt): noise of this standard deviation on every summed count.",
        ),
    ] = None,
    noise_delta: Annotated[
        str, typer.Option(metavar="DELTA", help="The chance beside which epsilon is told.")
    ] = "1e-6",
    noise_untrusted: Annotated[
        int, typer.Option(min=0, help="Hospitals that may leave out their part of the noise.")
    ] = 1,
) -> Report:
    """Invite hospitals to a job under a study; their agents decide by their own policies."""
    from cloud_service.service.planning import JobPlan, NoisePlan, SecretPlan
    from shared.wire.secret import DEFAULT_RECORDS

    compute_parties, depth = _parties_and_depth(folder, ask, compute or None, max_depth)
    secret = SecretPlan(
        compute_parties=compute_parties,
        purpose="train" if ask is None else "predict",
        result=result.value,
        result_parties=result_party or None,
        open_empty=open_empty,
        grid=_steps(grid or []),
        max_records=max_records or DEFAULT_RECORDS,
        model=ask,
    )
    plan = JobPlan(
        invited=hospital or None,
        mode=mode.value,
        secret=secret,
        profile=profile.value,
        criterion=criterion.value,
        key_mode=None if key_mode is None else key_mode.value,
        min_hospitals=min_hospitals,
        min_node=min_node,
        min_child=min_child,
        max_depth=depth,
        split_on_zero_gain=split_on_zero_gain,
        min_gain=growing_options.least_gain(min_gain),
        class_weights=growing_options.class_weights(class_weight or []),
        thresholds=None if thresholds is None else thresholds.value,
        pruning=growing_options.pruning(
            prune, prune_confidence, prune_bound, prune_alpha, prune_cost, prune_share
        ),
        noise=None
        if noise_sigma is None
        else NoisePlan(
            _number(noise_sigma, "--noise-sigma"),
            noise_untrusted,
            f"{_number(noise_delta, '--noise-delta'):f}",
        ),
    )
    partings = tally_options.selections(hold_out, fold, seed)
    with _services(folder) as services:
        counted = tally_options.tally(evaluate, records, places, services.jobs.named, histogram=histogram)
        counts: list[TallyPlan | None] = [counted]
        if all_folds:
            counts = list(tally_options.each_fold(services.jobs, counted))
        plans = [replace(plan, selection=parting, tally=tally) for parting in partings for tally in counts]
        if leave_one_out:
            by_hospital = leaving_out.each_without_one(services.jobs, services.studies.get(study), plans)
            return leaving_out.told(
                [(one, _begin(services, folder, study, p)) for one, mine in by_hospital.items() for p in mine]
            )
        begun = [_begin(services, folder, study, one) for one in plans]
    if len(begun) == 1:
        return begun[0]
    return Report({"jobs": [dict(one.document) for one in begun]}, "\n".join(one.text for one in begun))


def _begin(services: Services, folder: Path, study: str, plan: JobPlan) -> Report:
    """Start one job and say what it is."""
    from cloud_service.job_texts import document_of

    stored = services.jobs.start(services.studies.get(study), plan).stored
    left_out = {} if plan.invited else services.jobs.left_out(stored)
    meaning = services.jobs.key_mode_words(stored)
    document = {**document_of(stored), "not_invited": left_out}
    text = f"Job {document['job']} invites {', '.join(document['hospitals'])}."
    if document["compute_parties"]:
        text += f"\nCompute parties: {', '.join(document['compute_parties'])}."
    for agent, day in left_out.items():
        text += f"\nNot invited: {agent}, whose certificate ends on {day}."
    if meaning:
        document["key_mode_meaning"] = list(meaning)
        text += "\n" + "\n".join(meaning)
    if document["noise"] is not None:
        text += "\n" + "\n".join(document["noise"]["meaning"])
    if document["counts"] is not None:
        text += f"\n{document['counts']['meaning']}"
    return Report(document, f"{text}\nNext: privet cloud job show {folder} {document['job']}")


@jobs.command("list")
def list_jobs(folder: Folder) -> Report:
    """The newest jobs."""
    from cloud_service.job_texts import document_of, line_of

    with _services(folder) as services:
        found = services.jobs.page(study=None, state=None, before=None, limit=50)
    documents = [document_of(stored) for stored in found]
    return Report({"jobs": documents}, "\n".join(map(line_of, documents)) or "No jobs yet.")


@jobs.command("show")
def show_job(folder: Folder, job: JobId) -> Report:
    """Where a job stands, who declined it, and each member of a secret job with what it told last."""
    from cloud_service.job_texts import document_of, paragraph_of

    with _services(folder) as services:
        document = document_of(services.jobs.get(services.jobs.named(job)))
    return Report(document, paragraph_of(document))


@jobs.command("cancel")
def cancel_job(folder: Folder, job: JobId) -> Report:
    """End a job without a tree; every agent is told."""
    from cloud_service.job_texts import document_of

    with _services(folder) as services:
        document = document_of(services.jobs.cancel(services.jobs.named(job)).stored)
    return Report(document, f"Job {document['job']} is cancelled.")


@contextmanager
def _services(folder: Path) -> Iterator[Services]:
    """The use cases over the folder's database, with nothing running in the background.

    What they refuse for reasons of people is told as wrong input.
    """
    from cloud_service.app import prepare
    from cloud_service.service.refusals import ConflictError, UnknownThingError
    from cloud_service.settings import load_settings

    services = prepare(load_settings(folder))
    try:
        yield services
    except UnknownThingError as error:
        raise InputError(
            str(error), remedy=f"See: privet cloud job list {folder}, privet cloud study list {folder}"
        ) from None
    except ConflictError as error:
        raise InputError(str(error)) from None
    finally:
        services.database.dispose()


def _steps(texts: Sequence[str]) -> dict[str, str]:
    steps: dict[str, str] = {}
    for text in texts:
        name, equals, step = text.rpartition("=")
        if not equals or not name or name in steps:
            raise InputError(
                "expected NAME=STEP, once for each attribute",
                where="--grid",
                remedy='For example: --grid "temperature=0.5".',
            )
        steps[name] = step.strip()
    return steps


def _parties_and_depth(
    folder: Path, ask: str | None, parties: list[str] | None, max_depth: str | None
) -> tuple[list[str] | None, int | None]:
    """Compute parties and depth as typed; of a job that asks a shared tree, those that the tree was grown with."""
    depth = _DEPTH if max_depth is None else _depth(max_depth)
    if ask is None:
        return parties, depth
    with _services(folder) as services:
        grown = services.jobs.get(ask).job.manifest
    if grown.secret is None or grown.secret.result != "shared":
        raise InputError(
            f"job {ask} kept no tree shared",
            where="--ask",
            remedy="Name a job that was created with --result shared.",
        )
    own = grown.secret.compute_parties
    for option, differs in (
        ("--compute", parties not in (None, own)),
        ("--max-depth", max_depth is not None and depth != grown.max_depth),
    ):
        if differs:
            raise InputError(
                f"the tree of job {ask} was grown at {', '.join(own)} with at most {grown.max_depth} questions, "
                "and is asked in the same way",
                where=option,
                remedy=f"Leave {option} out.",
            )
    return list(own), grown.max_depth


def _number(text: str, option: str) -> Decimal:
    try:
        number = Decimal(text.strip())
    except InvalidOperation:
        number = Decimal("NaN")
    if number.is_finite() and 0 < number < _GREATEST_NUMBER:
        return number
    raise InputError("expected a number above 0", where=option, remedy="For example: 20, or 1e-6.")


def _depth(text: str) -> int | None:
    if text.strip().lower() == "none":
        return None
    if text.isascii() and text.isdecimal() and int(text) >= 1:
        return int(text)
    raise InputError("expected a number from 1 on, or none", where="--max-depth")
