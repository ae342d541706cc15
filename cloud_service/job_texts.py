"""A job as `privet cloud job` shows it: a plain document, and lines for a person."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from cloud_service.store.jobs import StoredJob
from shared.protocol.growing_words import growing_words
from shared.protocol.noise_words import noise_words
from shared.protocol.phases import phase_in_words
from shared.protocol.tallies import tally_sentences
from shared.protocol.waiting import from_document, of_job
from shared.wire.manifest import Manifest

_MEGABYTE: Final = 1e6


def document_of(stored: StoredJob) -> dict[str, Any]:
    """What `--json` prints. `declined`: hospital to the code that it declined with."""
    job = stored.job
    secret = job.manifest.secret
    words = noise_words(job.manifest)
    waiting = of_job(job)
    return {
        "job": job.manifest.job,
        "study": stored.study,
        "profile": job.manifest.profile,
        "key_mode": job.manifest.key_mode,
        "state": job.state.value,
        "failure": job.failure,
        "paused": job.paused_since is not None,
        "hospitals": list(job.manifest.invited),
        "compute_parties": [] if secret is None else list(secret.compute_parties),
        "declined": {str(agent): m.declined for agent, m in job.members.items() if m.declined is not None},
        "waiting_for": list(job.waiting_for),
        "waiting": None if waiting is None else waiting.document,
        "longest_silent": job.longest_silent,
        "criterion": job.manifest.criterion,
        "growing": growing_words(job.manifest),
        "noise": None
        if words is None
        else {"epsilon_at_most": str(words.epsilon), "meaning": list(words.sentences)},
        "counts": _counts(job.manifest),
        "progress": {
            str(agent): member.progress.model_dump(mode="json", exclude={"agent", "job"})
            for agent, member in job.members.items()
            if member.progress is not None
        },
    }


def _counts(manifest: Manifest) -> dict[str, Any] | None:
    """What a job counts in place of growing a tree, and which records it takes; None for all of them and a tree."""
    tally, selection = manifest.tally, manifest.selection
    if tally is None and selection is None:
        return None
    return {
        "tally": None if tally is None else tally.model_dump(mode="json"),
        "selection": None if selection is None else selection.model_dump(mode="json"),
        "meaning": " ".join(tally_sentences(manifest)),
    }


def line_of(document: Mapping[str, Any]) -> str:
    """The job in one line."""
    # With too few left, a job ends as one whose deadline passed: who said no is what a person needs to know.
    declined = f", declined by {', '.join(document['declined'])}" if document["declined"] else ""
    failure = f" ({document['failure']}{declined})" if document["failure"] else ""
    waits = f"; waits for {', '.join(document['waiting_for'])}" if document["waiting_for"] else ""
    paused = ", paused" if document["paused"] else ""
    return f"{document['job']}  {document['study']}  {document['profile']}  {document['state']}{failure}{paused}{waits}"


def paragraph_of(document: Mapping[str, Any]) -> str:
    """The job with what it waits for, its rules in words, who declined, and where members of a secret job stand."""
    declined = [
        f"  {agent}: declined ({code}); its own `privet agent status` says why"
        for agent, code in document["declined"].items()
    ]
    rules = [f"  {sentence}" for sentence in document["growing"]]
    rules += [f"  {sentence}" for sentence in (document["noise"] or {"meaning": []})["meaning"]]
    rules += [] if document["counts"] is None else [f"  {document['counts']['meaning']}"]
    told = [f"  {agent}: {standing(progress)}" for agent, progress in document["progress"].items()]
    waits = [f"  {from_document(document['waiting']).text}"] if document["waiting"] else []
    return "\n".join([line_of(document), *waits, *rules, *declined, *told])


def standing(progress: Mapping[str, Any]) -> str:
    """Where a member stands, by the progress that it told last."""
    waits = f", waits for {', '.join(progress['waiting_for'])}" if progress["waiting_for"] else ""
    is_done = progress["phase"] == "done"
    if progress["part"] == "contributor":
        # It has nothing to do between giving its shares and taking the result, and would name the phase of the latter.
        shared = "is sharing" if progress["phase"] == "sharing records" else "has shared"
        return f"{'done; has shared' if is_done else shared} its records{waits}"
    layer = (
        f"layer {progress['layer']} of {progress['layers']}: " if progress["layers"] and not is_done else ""
    )
    phase = phase_in_words(progress["phase"])
    left = progress["remaining_seconds"]
    about = "" if is_done or left is None else f", about {left} s left"
    way = {"direct": " directly", "relayed": " through the cloud"}.get(progress["channel"] or "", "")
    sent = f"{progress['sent_bytes'] / _MEGABYTE:.1f} MB sent{way}"
    return f"{layer}{phase}; {progress['rounds']} rounds, {sent}{about}{waits}"
