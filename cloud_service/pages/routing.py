"""All pages: one module a subject, each with its `router`. A new module gets its line here, and nowhere else."""

from __future__ import annotations

from typing import Final

from cloud_service.pages import (
    account,
    audit,
    audit_steps,
    finished,
    finished_records,
    finished_tree,
    hospitals,
    job,
    job_new,
    jobs,
    operations,
    overview,
    people,
    provider,
    sign_in,
    studies,
    study_new,
)

ROUTERS: Final = (
    sign_in.router,
    provider.router,
    account.router,
    overview.router,
    hospitals.router,
    study_new.router,
    studies.router,  # after a router with a fixed word in the place of a study's id, such as /studies/new
    jobs.router,
    people.router,
    audit.router,
    audit_steps.router,
    operations.router,
    job.router,
    job_new.router,
    finished.router,
    finished_tree.router,
    finished_records.router,
)
