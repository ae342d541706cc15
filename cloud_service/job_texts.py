"""A job as `privet cloud job` shows it: a plain document, and lines for a person."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from cloud_service.store.jobs import StoredJob
from shared.protocol.growing_words import growing_words
from shared.protocol.noise_words import noise_words
from shared.protocol.phases import phase_in_words
from shared.protocol.states import CloudState
from shared.protocol.tallies import tally_sentences
from shared.protocol.waiting import from_document, of_job
from shared.wire.manifest import Manifest

_MEGABYTE: Final = 1e6
_NEXT: Final = {
    "counts": "evaluation DIR {job}",
    "classes": "classes DIR {job}",
    "shared": "models show DIR {job} (nobody holds the tree; the hospital's page of the model asks it about a patient)",
    "tree": "models show DIR {job}",
}
"""What people at a hospital do with a result, by its kind."""


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
        "members": list(job.roster),
        "rounds": job.round + 1 if job.roster and secret is None else None,
        "created": stored.created,
        "finished": stored.finished,
        "result": _result(stored),
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


def _result(stored: StoredJob) -> dict[str, Any] | None:
    """Who holds which result, of a job that is done. `sha256`: None while some have not told, or where they differ."""
    job = stored.job
    if job.state is not CloudState.DONE:
        return None
    told = {str(agent): job.members[agent].attested for agent in job.roster}
    hashes = set(told.values())
    return {
        "sha256": next(iter(hashes)) if len(hashes) == 1 else None,
        "attested": {agent: sha256 for agent, sha256 in told.items() if sha256 is not None},
        "missing": [agent for agent, sha256 in told.items() if sha256 is None],
        "published": job.manifest.publish_tree,
        "kind": _kind(job.manifest),
    }


def _kind(manifest: Manifest) -> str:
    """What the job came to: `counts`, `classes`, a tree that stays `shared`, or a `tree` at hospitals."""
    if manifest.tally is not None:
        return "counts"
    if manifest.secret is None:
        return "tree"
    if manifest.secret.purpose == "predict":
        return "classes"
    return "shared" if manifest.secret.result == "shared" else "tree"


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
    return "\n".join(
        [line_of(document), *_course(document), *waits, *rules, *declined, *told, *_outcome(document)]
    )


def _course(document: Mapping[str, Any]) -> Iterator[str]:
    """Who took part, and how long it took."""
    if not document["members"]:
        return
    rounds = "" if document["rounds"] is None else f"; {_many(document['rounds'], 'round')}"
    over = document["finished"]
    took = (
        "" if over is None else f"; {_many(over - document['created'], 'second')} from its start to its end"
    )
    yield f"  took part: {', '.join(document['members'])}{rounds}{took}"


def _outcome(document: Mapping[str, Any]) -> Iterator[str]:
    """What a job that is done came to, and what can be done next."""
    result = document["result"]
    if result is None:
        return
    if result["missing"]:
        yield f"  have not told yet what they hold: {', '.join(result['missing'])}"
    elif result["sha256"] is None:
        yield "  The hospitals hold different results: use none of them, and compare their logs (privet audit verify)."
    else:
        yield f"  all {len(result['attested'])} hospitals hold the same result, SHA-256 {result['sha256']}"
    short = document["job"][:8]
    yield f"  Next, at a hospital: privet agent {_NEXT[result['kind']].format(job=short)}"
    if result["kind"] == "tree":
        study = document["study"]
        yield f"  How good it is: privet cloud job create CLOUD --study {study} --evaluate {short}"


def _many(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


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
