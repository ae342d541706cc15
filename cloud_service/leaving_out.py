"""`privet cloud job create --leave-one-out`: a job for each hospital, by the others.

Whoever takes part in all these jobs but one can solve their sums for each hospital's counts, though no two rosters
differ by one hospital. So none starts before every hospital has signed the consent that its results may be told apart.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from shared.errors import InputError
from shared.reports import Report

if TYPE_CHECKING:
    from collections.abc import Sequence, Set

    from cloud_service.service.jobs import Jobs
    from cloud_service.service.planning import JobPlan
    from cloud_service.service.studies import StudyView
    from cloud_service.service.terms import Terms

_OPTION = "--leave-one-out"

LeaveOneOut = Annotated[
    bool,
    typer.Option(
        _OPTION,
        help="One job for each hospital, grown by the others, for it to judge; every hospital must have consented.",
    ),
]


def each_without_one(jobs: Jobs, study: StudyView, plans: Sequence[JobPlan]) -> dict[str, list[JobPlan]]:
    """The plans without each hospital, by the one left out. Nothing is written.

    Raises: InputError: plans that count or name parties, a study of before documents, or hospitals that have not
        consented, with the commands they run. ConflictError: the study takes no more jobs.
    """
    from cloud_service.service.terms import terms_of

    _check(plans)
    with jobs.database.write() as connection:
        terms = terms_of(connection, study.id, jobs.clock())
    if terms is None:
        raise InputError("the study has no document that hospitals could consent by", where=_OPTION)
    hospitals = sorted(plans[0].invited or terms.candidates)
    silent = sorted(set(hospitals) - _consenting(terms))
    if silent:
        raise InputError(
            f"not consented to be left out: {', '.join(silent)}; all these trees together tell every hospital of each "
            "other's own counts",
            where=_OPTION,
            remedy=f"At each of them: privet agent consent DIR {study.id}; then give this command again.",
        )
    return {
        left_out: [replace(plan, invited=[one for one in hospitals if one != left_out]) for plan in plans]
        for left_out in hospitals
    }


def _check(plans: Sequence[JobPlan]) -> None:
    """Raises: InputError: what goes with no job that some hospital is left out of."""
    for plan in plans:
        named = plan.secret.compute_parties or plan.secret.result_parties
        wrong = "counts nothing" if plan.tally is not None else "has parties of its own" if named else ""
        if wrong or plan.secret.purpose == "predict":
            raise InputError(
                f"each of its jobs grows a tree and {wrong or 'asks none'}",
                where=_OPTION,
                remedy="Leave the other option out.",
            )


def _consenting(terms: Terms) -> Set[str]:
    """Hospitals that let results of this study with and without them be known."""
    own = terms.document.sha256
    words = [signed.consent for signed in terms.consents]
    return {word.hospital for word in words if word.with_sha256 == word.without_sha256 == own}


def told(begun: Sequence[tuple[str, Report]]) -> Report:
    """The jobs, and what is done with their trees. Args: begun: by the hospital left out."""
    documents = [{**report.document, "left_out": left_out} for left_out, report in begun]
    lines = [f"Without {left_out}: {report.text}" for left_out, report in begun]
    return Report({"jobs": documents}, "\n".join([*lines, "", _NEXT]))


_NEXT = """When a job is done, at one of its hospitals:   privet agent models export DIR JOB --to TREE
At the hospital that was left out of it:       privet agent evaluate DIR --file TREE --json > OWN
With the files that hospitals handed over:     privet agent report DIR JOB --left-out OWN --left-out OWN
A hospital's report takes in the trees that it helped to grow, so all files but its own."""
