"""`status`, `offers`, `approve`, `decline`, `forget`: what people see of jobs and say to them."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hospital_agent.commands.arguments import Folder, JobPrefix
from shared.errors import InputError
from shared.reports import Report

if TYPE_CHECKING:
    from hospital_agent.journal import JobEntry, Journal


def status(folder: Folder) -> Report:
    """What the agent does and has done, with seconds and bytes by part."""
    document = status_document(folder)
    lines = [_head(document), *(line for job in document["jobs"] for line in (_line(job), *_wait_lines(job)))]
    lines[1:1] = [line.strip() for line in _wait_lines(document)]
    if document["certificate_notice"]:
        lines.insert(1, f"Note: {document['certificate_notice']}")
    if not document["jobs"]:
        lines.append("No jobs yet.")
    return Report(document, "\n".join([*lines, _next_step(folder, document)]))


def status_document(
    folder: Path, clock: Callable[[], float] = time.time, *, ended: int | None = None
) -> dict[str, Any]:
    """The same as plain JSON; also what the local API shows. `certificate_until` is in Unix seconds, as by `clock`.

    Args: ended: how many of the jobs that are over, the newest; all of them by default.
    """
    from hospital_agent.daemon.lock import is_running
    from hospital_agent.journal import Journal
    from hospital_agent.journal.contact import silent_since
    from hospital_agent.keyring import Keyring
    from hospital_agent.people.standings import job_document
    from hospital_agent.settings import load_settings
    from shared.protocol.expiry import ends, notice
    from shared.protocol.waiting import of_contact

    settings = load_settings(folder)
    ring = Keyring.open(folder)
    own = ring.certificate
    with Journal.open(folder) as journal:
        unsent = journal.waiting_types()
        jobs = [job_document(entry, unsent) for entry in _jobs(journal, ended)]
        waiting = _studies_waiting(folder, journal)
        silent = silent_since(journal)
    return {
        "agent": settings.id,
        "running": is_running(folder),
        "federation": None if ring.federation is None else ring.federation.name,
        "epoch": None if ring.federation is None else ring.federation.epoch,
        "newest_key": ring.is_member and ring.holds_newest_epoch,
        "certificate_until": None if own is None else ends(own),
        "certificate_notice": None if own is None else notice(own, int(clock())),
        "cloud": None if settings.cloud is None else str(settings.cloud),
        "waiting": None if silent is None else of_contact(silent).document,
        "studies_waiting": waiting,
        "jobs": jobs,
    }


def _jobs(journal: Journal, ended: int | None) -> list[JobEntry]:
    """Oldest first: all, or those that can still change and the newest of the others."""
    from hospital_agent.journal.entries import ACTIVE

    if ended is None:
        return journal.jobs()
    changing = journal.jobs(*ACTIVE)
    newest = [entry for entry in journal.jobs_page(0, ended + len(changing)) if entry.is_over]
    return sorted([*newest[:ended], *changing], key=lambda entry: (entry.created, entry.job))


def _studies_waiting(folder: Path, journal: Journal) -> list[str]:
    """Open studies that wait for this hospital's word, where its policy wants one."""
    from hospital_agent.journal import studies
    from hospital_agent.policy import load_policy
    from hospital_agent.settings import load_settings

    try:
        approval = load_policy(load_settings(folder).policy).approval
    except InputError:
        return []
    if approval != "study":
        return []
    return [
        entry.study
        for entry in studies.studies(journal)
        if entry.answer is studies.StudyState.PENDING and not entry.closed
    ]


def offers(folder: Folder) -> Report:
    """Offers that wait for a person, with what they ask for."""
    from hospital_agent.journal import JobStatus, Journal
    from hospital_agent.people.ledgers import figures_of
    from hospital_agent.people.offers import offer_document
    from hospital_agent.settings import load_settings

    load_settings(folder)
    with Journal.open(folder) as journal:
        waiting = [
            offer_document(entry, figures_of(journal, entry)) for entry in journal.jobs(JobStatus.AWAITING)
        ]
    text = "\n\n".join(_offer_text(offer) for offer in waiting) or "No offer waits for an answer."
    if waiting:
        text += f"\n\nNext: privet agent approve {folder} JOB, or privet agent decline {folder} JOB"
    return Report({"offers": waiting}, text)


def approve(folder: Folder, job: JobPrefix) -> Report:
    """Say yes to an offer; the policy and the data are still checked."""
    return _answer(folder, job, approve=True, reason="")


def decline(
    folder: Folder,
    job: JobPrefix,
    reason: Annotated[str, typer.Option(help="Why; stays in this hospital's journal.")] = "",
) -> Report:
    """Say no to an offer."""
    return _answer(folder, job, approve=False, reason=reason)


def forget(folder: Folder, job: JobPrefix) -> Report:
    """Remove a job that is over from the journal. Its model and its place in the difference rule stay."""
    from hospital_agent.journal import Journal
    from hospital_agent.people.forgetting import forget_job
    from hospital_agent.settings import load_settings

    load_settings(folder)
    with Journal.open(folder) as journal:
        entry = journal.find(job)
        forget_job(journal, entry)
    return Report({"job": entry.job, "forgotten": True}, f"Job {entry.job} is forgotten.")


def _answer(folder: Path, prefix: str, *, approve: bool, reason: str) -> Report:
    from hospital_agent.daemon.lock import is_running
    from hospital_agent.journal import Answer, JobStatus, Journal
    from hospital_agent.settings import load_settings

    load_settings(folder)
    with Journal.open(folder) as journal:
        entry = journal.find(prefix)
        if entry.status is not JobStatus.AWAITING:
            raise InputError(
                f"the job is {entry.status.value} and takes no answer",
                where=f"job {entry.job}",
                remedy="See `privet agent offers DIR` for the offers that wait.",
            )
        with journal.transaction():
            journal.answer(Answer(entry.job, approve, reason))
    word = "approved" if approve else "declined"
    running = is_running(folder)
    when = "The agent acts on it now." if running else f"It counts once it runs: privet agent run {folder}"
    return Report({"job": entry.job, "answer": word, "running": running}, f"Job {entry.job}: {word}. {when}")


def _head(document: dict[str, Any]) -> str:
    state = "runs" if document["running"] else "does not run"
    federation, cloud = document["federation"] or "none yet", document["cloud"] or "none yet"
    return f"Agent {document['agent']} {state}; federation: {federation}; cloud: {cloud}"


def _wait_lines(document: dict[str, Any]) -> list[str]:
    """Whom it waits for, if it waits."""
    from shared.protocol.waiting import from_document

    return [f"  {from_document(document['waiting']).text}"] if document["waiting"] else []


def _line(job: dict[str, Any]) -> str:
    spent = ", ".join(f"{part} {value:.2f} s" for part, value in job["seconds"].items() if value)
    sent, received = sum(job["bytes"]["sent"].values()), sum(job["bytes"]["received"].values())
    why = f" ({job['code']}: {job['reason']})" if job["reason"] else ""
    phase = "" if job["phase"] == job["status"] else f" {job['phase']};"
    return (
        f"{job['job'][:8]}  {job['study']}  {job['status']}{why};{phase} "
        f"{spent or 'no work yet'}; {sent} bytes out, {received} in"
    )


def _next_step(folder: Path, document: dict[str, Any]) -> str:
    statuses = {job["status"] for job in document["jobs"]}
    if document["federation"] is None:
        return f"Next: privet agent join {folder} --bundle FILE --root-sha256 HEX"
    if document["studies_waiting"]:
        return f"Next: privet agent studies show {folder} {document['studies_waiting'][0]}"
    if "awaiting" in statuses:
        return f"Next: privet agent offers {folder}"
    if not document["running"]:
        return f"Next: privet agent run {folder}"
    if "complete" in statuses:
        return f"Next: privet agent predict {folder} --set ATTRIBUTE=VALUE"
    return "It waits for jobs."


def _offer_text(offer: dict[str, Any]) -> str:
    return (
        f"{offer['job'][:8]}  study {offer['study']}: {offer['question']}\n"
        f"  with {', '.join(offer['hospitals'])} (at least {offer['min_hospitals']})\n"
        f"  profile {offer['profile']}, {offer['criterion']}; nodes from {offer['min_node']}, children from "
        f"{offer['min_child']} records; depth up to {offer['max_depth'] or 'any'}\n"
        f"  predictions show {offer['disclosure']}; tree published: {'yes' if offer['publish_tree'] else 'no'}\n"
        f"{_lines(offer['growing'])}"
        f"{_secret_text(offer)}"
        f"{_noise_text(offer)}"
        f"{_lines(offer['counts'])}"
        f"  uses {', '.join(offer['attributes'])}; class {offer['class']}"
    )


def _lines(sentences: list[str]) -> str:
    return "".join(f"  {sentence}\n" for sentence in sentences)


def _noise_text(offer: dict[str, Any]) -> str:
    noise = offer["noise"]
    if noise is None:
        return ""
    return "".join(f"  {sentence}\n" for sentence in noise["meaning"])


def _secret_text(offer: dict[str, Any]) -> str:
    """What a person should weigh of a secret job: who computes, and who learns the result."""
    secret = offer["secret"]
    if secret is None:
        return ""
    told = "nobody, the tree stays shared" if secret["result"] == "shared" else "every hospital"
    if secret["result_parties"] is not None:
        told = ", ".join(secret["result_parties"])
    what = (
        "grows a tree"
        if secret["purpose"] == "train"
        else f"asks the shared tree of job {secret['model'][:8]}"
    )
    if secret["asked_by"]:
        what = f"lets {secret['asked_by']}, by its own wish, ask the shared tree of job {secret['model'][:8]} about "
        what += f"{secret['max_records']} of its records,"
    return (
        f"  {what} on shares of the records at {', '.join(secret['compute_parties'])}, any two of whom could put the "
        f"records together; told: {told}\n"
    )
