"""What a study's document says to a new job: whether it may begin, whom it may invite, and its rules' defaults."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, Final

from sqlalchemy import Connection

from cloud_service.service.planning import SECRET_MODES, JobPlan, NoisePlan, SecretPlan
from cloud_service.service.refusals import ConflictError
from cloud_service.store import directory, governance
from shared.errors import ErrorCode, InputError, PeerError
from shared.protocol.asking import Earlier, asked_of, too_often
from shared.protocol.expiry import day_of
from shared.protocol.governing import outside
from shared.protocol.versions import knows_of
from shared.wire.asking import Ask
from shared.wire.base import encode_base64url
from shared.wire.consent import MAX_CONSENTS, Consent, SignedConsent
from shared.wire.manifest import Manifest
from shared.wire.noise import NoiseSpec
from shared.wire.study import StudyDocument

_DEFAULTS: Final = JobPlan()
_SECRET: Final = SecretPlan()
STATE_OF: Final[Mapping[str, str]] = {
    "approve": "approved",
    "decline": "declined",
    "withdraw": "withdrawn",
}
"""What a hospital's last answer makes of it; without one it is `pending`."""
PENDING: Final = "pending"
RULES_SINCE: Final = (0, 4)
"""Agents of before cannot read a document that publishes figures, or lets hospitals ask shared trees."""


@dataclass(frozen=True, slots=True)
class Terms:
    """A study that takes jobs. `states`: of its members, as `STATE_OF` has them. `consents`: for the manifest.

    `readers`: hospitals whose agents can read the document; others refuse manifests that name one.
    """

    document: StudyDocument
    states: Mapping[str, str]
    consents: Sequence[SignedConsent]
    readers: Collection[str]

    def named_to(self, invited: Sequence[str]) -> dict[str, Any]:
        """The manifest's members about the study; none while an agent is invited that does not know them."""
        if not set(invited) <= set(self.readers):
            return {}
        return {"study_sha256": self.document.sha256, "consents": list(self.consents) or None}

    @property
    def candidates(self) -> frozenset[str]:
        """Hospitals that a job may invite."""
        needed = states_that_start(self.document)
        return frozenset(agent for agent, state in self.states.items() if state in needed)

    def check_invited(self, invited: Sequence[str]) -> None:
        """Whether those whom a person named may be invited.

        Raises: InputError: no member of the study. ConflictError: it has declined, withdrawn, or not approved yet.
        """
        for agent in invited:
            state = self.states.get(agent)
            if state is None:
                raise InputError(
                    f"{agent} is not a member of study {self.document.id}",
                    where="invited",
                    remedy="Leave it out, or create another study with it: members approve a document with its list.",
                )
            if agent not in self.candidates:
                why = "has not approved yet" if state == PENDING else f"has {state}"
                raise ConflictError(f"{agent} {why}; study {self.document.id} starts no job with it")

    def fit(self, plan: JobPlan) -> JobPlan:
        """The plan with what was left to its defaults made as strict as the document asks."""
        document = self.document
        changes: dict[str, Any] = {
            name: max(getattr(_DEFAULTS, name), getattr(document, name))
            for name in ("min_hospitals", "min_node", "min_child")
            if getattr(plan, name) == getattr(_DEFAULTS, name)
        }
        if plan.max_shrinks == _DEFAULTS.max_shrinks:
            changes["max_shrinks"] = min(plan.max_shrinks, document.max_shrinks)
        if plan.max_depth == _DEFAULTS.max_depth and plan.max_depth and document.max_depth:
            changes["max_depth"] = min(plan.max_depth, document.max_depth)
        if plan.noise is None and document.noise is not None:
            changes["noise"] = _noise_plan(document.noise)
        fitted = replace(plan, **changes, **self._mode(plan))
        if fitted.mode == "ppsdt" and fitted.criterion not in document.criteria:
            fitted = replace(fitted, **self._criterion(fitted))
        return fitted if fitted.mode == "ppsdt" else replace(fitted, secret=self._secret(fitted.secret))

    def _mode(self, plan: JobPlan) -> dict[str, Any]:
        """The document's only profile, where the person chose none."""
        profiles = self.document.profiles
        chosen = (plan.mode, plan.profile) != (_DEFAULTS.mode, _DEFAULTS.profile)
        if chosen or len(profiles) > 1 or profiles == [_DEFAULTS.profile]:
            return {}
        (only,) = profiles
        return {"mode": SECRET_MODES[only]} if only in SECRET_MODES else {"profile": only}

    def _criterion(self, plan: JobPlan) -> dict[str, Any]:
        # A job that only counts chooses no split: any criterion that was approved will do.
        chosen = plan.tally is None and len(self.document.criteria) > 1
        if plan.criterion != _DEFAULTS.criterion or chosen:
            return {}
        return {"criterion": self.document.criteria[0]}

    def _secret(self, plan: SecretPlan) -> SecretPlan:
        document = self.document
        changes: dict[str, Any] = {}
        if plan.compute_parties is None and plan.purpose == "train":
            changes["compute_parties"] = document.compute_parties
        if plan.result_parties is None and plan.result == "open" and plan.purpose == "train":
            changes["result_parties"] = document.result_parties
        if plan.max_records == _SECRET.max_records:
            asking = document.asking if plan.purpose == "predict" else None
            most = (document.max_records, None if asking is None else asking.records, plan.max_records)
            changes["max_records"] = min(n for n in most if n is not None)
        return replace(plan, **changes)

    def check(self, manifest: Manifest) -> None:
        """Raises: InputError: the job would do more than the document allows."""
        reason = outside(self.document, manifest)
        if reason is not None:
            raise InputError(
                reason.rstrip("."),
                where="job",
                remedy="Change the job's rules, or have hospitals approve another study.",
            )


def _noise_plan(noise: NoiseSpec) -> NoisePlan:
    """A plan that comes to at least this noise: its variance is rounded up once more."""
    return NoisePlan(Decimal(noise.sigma_squared).sqrt(), noise.untrusted, noise.delta)


def terms_of(connection: Connection, study: str, now: int, asked: Ask | None = None) -> Terms | None:
    """The terms of a study, locked until the transaction ends; None for one of before documents.

    Args: asked: the wish of a hospital that asks a shared tree by itself, which is counted apart.
    Raises: ConflictError: it is closed, over, or has had all its jobs. PeerError: `policy_profile`: the hospital may
        not ask this.
    """
    row = governance.document(connection, study, lock=True)
    if row is None:
        return None
    document = StudyDocument.model_validate_json(row.document)
    if row.closed is not None:
        raise ConflictError(f"study {study} was closed on {day_of(row.closed)}: it takes no more jobs")
    if is_over(document, now):
        raise ConflictError(f"study {study} ended on {day_of(document.expires)}: create another one")
    if asked is not None:
        _check_asked(connection, document, asked, now)
    elif governance.jobs_begun(connection, study) >= document.max_jobs:
        raise ConflictError(f"study {study} has had its {document.max_jobs} jobs: create another one")
    states = states_of(connection, document)
    consents = consents_for(connection, document.sha256)
    return Terms(document, states, consents, _readers(connection, document))


def _readers(connection: Connection, document: StudyDocument) -> frozenset[str]:
    """Those who know of documents, and of what this one has that is new; others work as under no document."""
    known = governance.readers(connection)
    if document.quality is None and document.asking is None:
        return known
    versions = {row.id: row.version for row in directory.hospitals(connection)}
    return frozenset(agent for agent in known if knows_of(versions.get(agent, ""), RULES_SINCE))


def _check_asked(connection: Connection, document: StudyDocument, asked: Ask, now: int) -> None:
    rows = governance.asked_by(connection, document.id, asked.hospital)
    earlier = [Earlier(row.question, row.records, row.created) for row in rows]
    reason = too_often(document.asking, asked, now, earlier)
    if reason is not None:
        raise PeerError(ErrorCode.POLICY_PROFILE, reason.rstrip("."))


def note_asked(connection: Connection, manifest: Manifest) -> None:
    """Count a new job with its hospital's questions, where it is one."""
    ask = asked_of(manifest)
    if ask is None:
        return
    row = {"study": ask.study, "hospital": ask.hospital, "question": ask.question, "records": ask.records}
    governance.add_question(connection, {"job": manifest.job, **row, "created": manifest.created})


def is_over(document: StudyDocument, now: int) -> bool:
    """Whether its time has passed, so that it takes no more jobs."""
    return now > document.expires


def states_that_start(document: StudyDocument) -> frozenset[str]:
    """States of the members that a job may invite."""
    return frozenset({"approved"} if document.start == "approved" else {"approved", PENDING})


def states_of(connection: Connection, document: StudyDocument) -> dict[str, str]:
    """Each member's state by its last answer."""
    states = dict.fromkeys(document.members, PENDING)
    for row in governance.answers_of(connection, document.id):
        states[row.agent] = STATE_OF[row.answer]
    return states


def consents_for(connection: Connection, sha256: str) -> list[SignedConsent]:
    """The consents that name the document, each under the hospital's present certificate."""
    certificates = {row.id: row.certificate for row in directory.hospitals(connection)}
    return [
        SignedConsent(
            consent=Consent.model_validate_json(row.consent),
            signature=row.signature,
            certificate=encode_base64url(bytes(certificates[row.agent])),
        )
        for row in governance.consents_of(connection, sha256, MAX_CONSENTS)
        if row.agent in certificates
    ]
