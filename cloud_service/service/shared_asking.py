"""A hospital asks a tree that stays shared, by its own agent: a job of purpose `predict` for it alone.

Only where the operator has switched it on (`agents_may_ask`) and the study's document says how often: who may ask
without end can rebuild a tree from its answers. The signed wish stands in the job's manifest. So every agent of such a
job counts it too, and decides by its own policy, as about any other; the log of acts says who asked.
"""

from __future__ import annotations

from collections.abc import Sequence

from cloud_service.service.governance import Governance
from cloud_service.service.jobs import Jobs
from cloud_service.service.planning import JobPlan, SecretPlan
from cloud_service.service.refusals import UnknownThingError
from cloud_service.service.requests import Request
from cloud_service.service.results import Results
from cloud_service.service.studies import Studies
from cloud_service.store import planning
from cloud_service.store.jobs import StoredJob
from shared.errors import ErrorCode, PeerError
from shared.ids import AgentId
from shared.protocol.asking import DAY_SECONDS, attest_ask, verify_ask
from shared.protocol.participation import schema_of
from shared.wire.asking import AttestedAsk, SignedAsk


def ask_shared(
    governance: Governance, studies: Studies, jobs: Jobs, results: Results, study: str, signed: SignedAsk
) -> str:
    """The job that answers; the same question again starts no second one.

    Raises: PeerError: `malformed`: about another study than the address names; `roster_mismatch`: no shared tree of
        this study was grown with the hospital; `policy_profile`: not allowed here or by the study, or no more;
        `unknown_agent`; `bad_signature`.
        InputError, ConflictError: as `Jobs.start`. RateLimitedError.
    """
    now = governance.clock()
    agent = AgentId(signed.ask.hospital)
    with governance.database.read() as connection:
        certificate = governance.admission.caller(connection, agent)
    ask = verify_ask(signed, certificate.public_key, now)
    governance.presence.saw(agent)
    governance.rates.spend(agent)
    if ask.study != study:
        raise PeerError(ErrorCode.MALFORMED, "ask: it is about another study than the address names")
    if not jobs.settings.agents_may_ask:
        raise PeerError(
            ErrorCode.POLICY_PROFILE,
            "this cloud lets no hospital ask shared trees by itself (setting agents_may_ask); ask the coordinator",
        )
    done, view = _grown(results, ask.model, study, agent), studies.get(study)
    if view.document is None or view.document.asking is None:
        raise PeerError(
            ErrorCode.POLICY_PROFILE,
            "the study's document lets no hospital ask a shared tree by itself; ask the coordinator to start the job, "
            "or for a study that allows it",
        )
    plan = _plan(done, attest_ask(signed, certificate.der))
    _check_day(jobs, Request.of(agent, ask.question, study, plan), now)
    return jobs.start(view, plan, actor=agent, key=ask.question).stored.job.manifest.job


def _check_day(jobs: Jobs, request: Request, now: int) -> None:
    """Let no hospital keep the others' machines busy, in all studies together. Raises: PeerError: `policy_profile`."""
    most = jobs.settings.limits.asked_jobs_per_day
    with jobs.database.read() as connection:
        is_known = request.job(connection) is not None
        asked = planning.count_requests(connection, request.actor, now - DAY_SECONDS)
    if not is_known and asked >= most:
        raise PeerError(
            ErrorCode.POLICY_PROFILE,
            f"this hospital has asked shared trees {most} times within 24 hours, which is all that it may (setting "
            "asked_jobs_per_day under [limits]); ask more records in one question, or tomorrow",
        )


def _grown(results: Results, model: str, study: str, agent: AgentId) -> StoredJob:
    """The job that grew the shared tree."""
    unfit = PeerError(
        ErrorCode.ROSTER_MISMATCH, "ask: no tree of this study that stays shared was grown with the sender"
    )
    try:
        done = results.finished(model)
    except UnknownThingError:
        raise unfit from None
    manifest = done.job.manifest
    is_shared = manifest.secret is not None and manifest.secret.result == "shared"
    if not is_shared or manifest.study != study or agent not in done.job.roster:
        raise unfit
    return done


def _plan(done: StoredJob, asked: AttestedAsk) -> JobPlan:
    """The tree asked as it was grown, by as few hospitals as the study allows: parties, who asks, then the others."""
    manifest, agent = done.job.manifest, asked.ask.hospital
    secret = manifest.secret
    if secret is None:
        raise PeerError(ErrorCode.ROSTER_MISMATCH, "ask: the tree is not shared")
    names = [attribute.name for attribute in schema_of(manifest).attributes]
    return JobPlan(
        invited=_invited(secret.compute_parties, agent, done.job.roster, manifest.min_hospitals),
        mode="gain-ratio",
        min_hospitals=manifest.min_hospitals,
        max_depth=manifest.max_depth,
        min_node=manifest.min_node,
        min_child=manifest.min_child,
        max_shrinks=manifest.max_shrinks,
        deadlines=manifest.deadlines,
        secret=SecretPlan(
            compute_parties=secret.compute_parties,
            purpose="predict",
            result_parties=[agent],
            grid={names[entry.attribute]: entry.step for entry in secret.grid},
            max_records=asked.ask.records,
            model=manifest.job,
            asked=asked,
        ),
    )


def _invited(parties: Sequence[str], agent: str, roster: Sequence[str], least: int) -> list[str]:
    found = list(dict.fromkeys([*parties, agent]))
    others = [name for name in roster if name not in found]
    return sorted([*found, *others[: max(0, least - len(found))]])
