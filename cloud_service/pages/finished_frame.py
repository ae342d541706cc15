"""What stands around the pages of a finished job: its question, and tabs to what who looks may read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from starlette.responses import Response

from cloud_service.pages.frame import Page
from cloud_service.pages.wording import job_line
from cloud_service.service.permissions import Permission
from cloud_service.store.jobs import StoredJob
from shared.protocol.states import CloudState


@dataclass(frozen=True, slots=True)
class Tab:
    """`needs_tree`: there is nothing to see where the study does not publish its tree."""

    name: str
    permission: Permission
    needs_tree: bool = False


TABS: Final = (
    Tab("result", Permission.RESULTS_READ),
    Tab("tree", Permission.TREES_READ, needs_tree=True),
    Tab("rules", Permission.TREES_READ, needs_tree=True),
    Tab("importance", Permission.RESULTS_READ),
    Tab("evaluation", Permission.RESULTS_READ),
    Tab("downloads", Permission.TREES_READ, needs_tree=True),
    Tab("compare", Permission.TREES_READ, needs_tree=True),
    Tab("ledger", Permission.LEDGER_READ),
    Tab("audit", Permission.AUDIT_READ),
)


def show(page: Page, template: str, stored: StoredJob, tab: str, **values: Any) -> Response:
    """A page of a job under its tabs. Raises: ForbiddenError: who looks may not read jobs at all."""
    page.caller.require(Permission.JOBS_READ)  # the job's question and state stand on each
    return page.show(
        template,
        active="jobs",
        job=stored.job.manifest.job,
        line=job_line(stored),
        question=stored.job.manifest.question,
        tabs=[each.name for each in TABS if _is_shown(each, page, stored)],
        tab=tab,
        **values,
    )


def _is_shown(tab: Tab, page: Page, stored: StoredJob) -> bool:
    is_done = stored.job.state is CloudState.DONE
    if tab.needs_tree and not (is_done and stored.job.manifest.publish_tree):
        return False
    if tab.name in ("result", "importance", "evaluation") and not is_done:
        return False
    if tab.name == "importance" and not _has_importance(page, stored):
        return False
    if tab.name == "evaluation" and not (grows_a_known_tree(stored) or evaluates(stored)):
        return False
    return page.may(tab.permission)


def _has_importance(page: Page, stored: StoredJob) -> bool:
    """Whether the study publishes figures of it, or a tree from whose form something follows for who may read trees."""
    return page.services.quality.kind_of(stored) == "importance" or (
        stored.job.manifest.publish_tree and page.may(Permission.TREES_READ)
    )


def evaluates(stored: StoredJob) -> bool:
    """Whether it held records against a tree."""
    tally = stored.job.manifest.tally
    return tally is not None and tally.kind == "evaluation"


def grows_a_known_tree(stored: StoredJob) -> bool:
    """Whether there is a tree that somebody can hold records against."""
    manifest = stored.job.manifest
    secret = manifest.secret
    return manifest.tally is None and (secret is None or (secret.purpose, secret.result) == ("train", "open"))
