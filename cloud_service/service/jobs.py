"""Jobs as people see them: start, look, cancel."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from pydantic import ValidationError
from sqlalchemy import Connection
from sqlalchemy.exc import IntegrityError

from cloud_service.service import acts
from cloud_service.service.aftermath import Aftermath
from cloud_service.service.federation import Membership
from cloud_service.service.folder import CloudKeyPair
from cloud_service.service.inviting import Invitations
from cloud_service.service.key_modes import key_rules
from cloud_service.service.parting import with_hash
from cloud_service.service.planning import JobPlan, secret_spec, weights_of
from cloud_service.service.quotas import Quotas
from cloud_service.service.recording import Recorder
from cloud_service.service.refusals import ConflictError, UnknownThingError
from cloud_service.service.requests import Request
from cloud_service.service.results import Results
from cloud_service.service.studies import StudyView
from cloud_service.service.tallying import tally_rules
from cloud_service.service.terms import Terms, note_asked, terms_of
from cloud_service.settings import Settings
from cloud_service.store import job_lists, jobs, journal
from cloud_service.store.database import Database
from cloud_service.store.jobs import StoredJob
from shared.errors import ErrorCode, InputError, InternalError, PeerError
from shared.ids import AgentId, JobId, StudyId
from shared.protocol import coordinator, stages
from shared.protocol.key_mode_words import key_mode_words
from shared.protocol.layout import contribution_bytes, root_prompts, root_slots
from shared.protocol.states import CloudState
from shared.rng import random_bytes
from shared.tree.criteria import f_table_sha256
from shared.wire.base import describe, encode_base64url
from shared.wire.manifest import SECRET_CRITERIA, Manifest

_F_TABLE_BITS: Final = 32
_MANY: Final = 10_000
"""More events than a job has."""


@dataclass(frozen=True, slots=True)
class Changed:
    """A job as a change has left it, read before its commit: who is told that nothing was done may ask again."""

    stored: StoredJob
    costs: list[journal.Cost]


@dataclass(frozen=True, slots=True)
class _Planned:
    """A manifest, and the certificates of those whom it invites."""

    manifest: Manifest
    certificates: dict[AgentId, bytes]


@dataclass(frozen=True, slots=True)
class Jobs:
    """Use cases of people on jobs."""

    settings: Settings
    database: Database
    membership: Membership
    keys: CloudKeyPair
    aftermath: Aftermath
    quotas: Quotas
    clock: Callable[[], int]

    def start(
        self, study: StudyView, plan: JobPlan, *, actor: str = acts.OPERATOR, key: str | None = None
    ) -> Changed:
        """Invite the hospitals to a new job under a study.

        Args: actor: who starts it, for the log of acts. key: of the request; the same again starts no second job.
        Raises: InputError: the plan breaks a rule, a limit or the study's document. PeerError: `policy_profile`,
            `policy_min_hospitals`. ConflictError: the study takes no more jobs, or none with a hospital that was named;
            the key was of another request.
        """
        now, request = self.clock(), None if key is None else Request.of(actor, key, study.id, plan)
        with self.database.read() as connection:
            known = None if request is None else request.job(connection)
        if known is not None:
            return self._as_it_is(known)
        plan, changes = self._checked(study, plan, now)
        try:
            with self.database.write() as connection:
                planned = self._planned(connection, study, plan, now, changes)
                step = coordinator.create(planned.manifest, planned.certificates, now)
                stored = StoredJob(step.job, StudyId(study.id), 0, now, None, None)
                jobs.add(connection, stored)
                note_asked(connection, planned.manifest)
                recorder = Recorder(self.database, connection, stored, self.keys.identity, now)
                recorder.take(step)
                news, job = recorder.finish(), planned.manifest.job
                details: dict[str, acts.Detail] = {"study": study.id, "manifest_sha256": step.job.mh}
                acts.record(connection, actor=actor, act="job_created", subject=job, now=now, details=details)
                if request is not None:
                    request.keep(connection, job, now)
                changed = _changed(connection, job)
        except IntegrityError:
            with self.database.read() as connection:
                known = None if request is None else request.job(connection)
            if known is None:
                raise
            return self._as_it_is(known)
        self.aftermath.follow(JobId(job), news)
        return changed

    def preview(self, study: StudyView, plan: JobPlan) -> Manifest:
        """The manifest that a job would have, were it started now; nothing is kept. Raises: as `start`."""
        now = self.clock()
        plan, changes = self._checked(study, plan, now)
        with self.database.write() as connection:
            return self._planned(connection, study, plan, now, changes).manifest

    def _as_it_is(self, job_id: str) -> Changed:
        with self.database.read() as connection:
            return _changed(connection, job_id)

    def _checked(self, study: StudyView, plan: JobPlan, now: int) -> tuple[JobPlan, dict[str, Any]]:
        """The plan with whom an evaluation invites, and what a tally or a selection changes in the manifest."""
        plan.check()
        changes = tally_rules(
            study, plan.tally, plan.selection, Results(self.database), lambda job: self.events(job, 0, _MANY)
        )
        if plan.invited is None and plan.tally is not None and plan.tally.model is not None:
            # Only they have the tree.
            plan = replace(plan, invited=list(map(str, self.get(plan.tally.model).job.roster)))
        Invitations(self.membership, now + plan.deadlines.invite_seconds).check_own()
        return plan, changes

    def _planned(
        self, connection: Connection, study: StudyView, plan: JobPlan, now: int, changes: Mapping[str, Any]
    ) -> _Planned:
        asked = plan.secret.asked
        terms = terms_of(connection, study.id, now, None if asked is None else asked.ask)
        if terms is not None:
            plan = terms.fit(plan)
            terms.check_invited(plan.invited or ())
        self._check_profile(study, plan)
        invitations = Invitations(self.membership, now + plan.deadlines.invite_seconds)
        certificates = invitations.choose(connection, plan, None if terms is None else terms.candidates)
        self.quotas.check_jobs(connection, certificates)
        if plan.selection is not None:
            parted = with_hash(connection, study.id, changes["selection"], certificates)
            changes = {**changes, "selection": parted}
        manifest = self._manifest(study, plan, sorted(certificates), now, terms, changes)
        self._check_size(manifest)
        return _Planned(manifest, certificates)

    def _check_profile(self, study: StudyView, plan: JobPlan) -> None:
        if plan.mode != "ppsdt" or plan.profile != "paper":
            return
        if not self.settings.allow_paper_profile:
            raise PeerError(
                ErrorCode.POLICY_PROFILE,
                "profile paper is for test data and switched off here (allow_paper_profile in cloud.toml)",
            )
        if not study.synthetic:
            raise PeerError(
                ErrorCode.POLICY_PROFILE, "profile paper is for test data: the study must be marked synthetic"
            )

    def _manifest(
        self,
        study: StudyView,
        plan: JobPlan,
        invited: Sequence[str],
        now: int,
        terms: Terms | None,
        changes: Mapping[str, Any],
    ) -> Manifest:
        joined = self.membership.current()
        key = key_rules(joined.federation, plan)
        secret = None if plan.mode == "ppsdt" else secret_spec(study, plan.secret, invited)
        profile = plan.manifest_profile
        rules: dict[str, Any] = {
            "job": random_bytes(16).hex(),
            "study": study.id,
            "question": study.question,
            "profile": profile,
            "criterion": SECRET_CRITERIA.get(profile, plan.criterion),
            "schema_": study.schema,
            "invited": list(invited),
            "key_id": joined.federation.key_id,
            "cloud_certificate": encode_base64url(joined.certificate),
            "rsa_public_key": encode_base64url(self.membership.unwrapping().public.to_der()),
            "f_table_sha256": f_table_sha256(_F_TABLE_BITS),
            "key_mode": key.key_mode,
            "threshold": key.threshold,
            "min_hospitals": max(plan.min_hospitals, key.least),
            "min_node": plan.min_node,
            "min_child": plan.min_child,
            "max_depth": plan.max_depth,
            "split_on_zero_gain": plan.split_on_zero_gain,
            "skip_known": plan.skip_known and profile == "hardened" and plan.noise is None,
            "publish_tree": study.publish_tree,
            # A secret tree has no counts, and its roster never shrinks.
            "disclosure": study.disclosure if secret is None else "class",
            "synthetic": study.synthetic,
            "max_shrinks": plan.max_shrinks if secret is None else 0,
            "deadlines": plan.deadlines,
            "created": now,
            "expires": now + plan.deadlines.invite_seconds,
            "secret": secret,
            "noise": None if plan.noise is None else plan.noise.spec(),
            "min_gain": plan.min_gain,
            "class_weights": weights_of(study, plan),
            "pruning": plan.pruning,
            "thresholds": plan.thresholds,
            **({} if terms is None else terms.named_to(invited)),
            **changes,
        }
        try:
            manifest = Manifest(**rules)
        except ValidationError as error:
            raise InputError(
                describe(error),
                where="job",
                remedy="Change the job's rules, or start it under a study that fits them.",
            ) from None
        if terms is not None:
            terms.check(manifest)
        return manifest

    def _check_size(self, manifest: Manifest) -> None:
        """Whether the first round's messages would fit through the door at all."""
        if manifest.is_secret:
            return
        slots, hospitals = root_slots(manifest.schema_), len(manifest.invited)
        bits = self.membership.public_key(manifest.key_id).bits
        paper = manifest.profile == "paper"
        prompts = root_prompts(manifest.schema_) if paper else ()
        limit = self.settings.max_paper_body_bytes if paper else self.settings.max_body_bytes
        if contribution_bytes(slots, prompts, hospitals, bits) > limit:
            raise InputError(
                f"a contribution to the first round would be longer than {limit} bytes",
                where="schema",
                remedy="Drop attributes or values, or raise max_body_bytes in cloud.toml.",
            )

    def get(self, job_id: str) -> StoredJob:
        """One job. Raises: UnknownThingError."""
        with self.database.read() as connection:
            stored = jobs.load(connection, job_id)
        if stored is None:
            raise UnknownThingError("there is no such job")
        return stored

    def named(self, prefix: str) -> JobId:
        """The job whose id begins so. Raises: UnknownThingError: none does. ConflictError: several do."""
        with self.database.read() as connection:
            found = jobs.beginning_with(connection, prefix) if prefix else []
        if not found:
            raise UnknownThingError("there is no such job")
        if len(found) > 1:
            raise ConflictError("several jobs begin with that; write more of the id")
        return found[0]

    def left_out(self, stored: StoredJob) -> dict[AgentId, str]:
        """Members that the job could not invite, with the day on which their certificates end."""
        with self.database.read() as connection:
            return Invitations(self.membership, stored.job.manifest.expires).left_out(connection)

    def key_mode_words(self, stored: StoredJob) -> tuple[str, ...]:
        """What the job's key mode means and costs, for a person; nothing for a key that every hospital holds whole."""
        federation = self.membership.current().federation
        holders = 0 if federation.threshold is None else len(federation.threshold.holders)
        bits = self.membership.public_key(stored.job.manifest.key_id).bits
        return key_mode_words(stored.job.manifest, bits, holders)

    def costs(self, job_id: str) -> list[journal.Cost]:
        """What the job has cost."""
        with self.database.read() as connection:
            return journal.costs(connection, job_id)

    def page(
        self,
        *,
        study: str | None,
        state: CloudState | None,
        before: str | None,
        limit: int,
        hospital: str | None = None,
    ) -> list[StoredJob]:
        """Jobs from the newest on. Args: before: the last job of the page before. hospital: only those inviting it."""
        last = None if before is None else self.get(before)
        cursor = None if last is None else (last.created, last.job.manifest.job)
        with self.database.read() as connection:
            return jobs.page(
                connection, study=study, state=state, before=cursor, limit=limit, hospital=hospital
            )

    def living(self, *, is_waiting: bool, limit: int, hospital: str | None) -> list[StoredJob]:
        """Jobs that go on, the newest first. Args: is_waiting: those that wait for a hospital, or the others."""
        with self.database.read() as connection:
            return job_lists.living(connection, is_waiting=is_waiting, limit=limit, hospital=hospital)

    def count_living(self, hospital: str | None) -> tuple[int, int]:
        """How many wait for a hospital, and how many go on without one."""
        with self.database.read() as connection:
            return job_lists.count_living(connection, hospital)

    def finished(self, *, limit: int, hospital: str | None) -> list[StoredJob]:
        """Jobs that are over, from the one that ended last on."""
        with self.database.read() as connection:
            return job_lists.finished(connection, limit=limit, hospital=hospital)

    def counted_in(self, tree: StoredJob, hospital: str | None) -> list[StoredJob]:
        """The newest jobs that hold records against a job's tree. Args: hospital: only those inviting it."""
        with self.database.read() as connection:
            return jobs.counted_in(connection, tree, hospital)

    def cancel(self, job_id: str, *, actor: str = acts.OPERATOR) -> Changed:
        """Stop a job. Args: actor: who does. Raises: UnknownThingError. ConflictError: it is over already."""
        now = self.clock()
        with self.database.write() as connection:
            stored = jobs.load(connection, job_id, lock=True)
            if stored is None:
                raise UnknownThingError("there is no such job")
            try:
                step = stages.cancel(stored.job)
            except PeerError as error:
                raise ConflictError(str(error)) from None
            recorder = Recorder(self.database, connection, stored, self.keys.identity, now)
            recorder.take(step)
            news = recorder.finish()
            acts.record(connection, actor=actor, act="job_cancelled", subject=job_id, now=now)
            changed = _changed(connection, job_id)
        self.aftermath.follow(JobId(job_id), news)
        return changed

    def events(self, job_id: str, after: int, limit: int) -> list[journal.Event]:
        """The job's story beyond the event `after`. Raises: UnknownThingError."""
        with self.database.read() as connection:
            if jobs.state(connection, job_id) is None:
                raise UnknownThingError("there is no such job")
            return journal.events(connection, job_id, after=after, limit=limit)


def _changed(connection: Connection, job_id: str) -> Changed:
    stored = jobs.load(connection, job_id)
    if stored is None:
        raise InternalError("a job that was just written is not there")
    return Changed(stored, journal.costs(connection, job_id))
