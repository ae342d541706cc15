"""What this hospital has said to a study, applied to a job: whether it stays within the document, and who decides.

The policy is another matter, and stands above: see `hospital_agent.policy`.
"""

from __future__ import annotations

from hospital_agent.daemon.casework import Casework
from hospital_agent.daemon.office import Office
from hospital_agent.journal import studies
from hospital_agent.journal.studies import REFUSED, StudyEntry, StudyState
from hospital_agent.policy import DECLINED, Refusal
from shared.errors import PeerError
from shared.protocol.asking import Earlier, asked_of, asked_when, too_often, verify_asked
from shared.protocol.expiry import day_of
from shared.protocol.governing import outside
from shared.protocol.polling import MAX_SKEW_SECONDS
from shared.texts import text
from shared.wire.manifest import Manifest


def study_refusal(office: Office, casework: Casework, manifest: Manifest) -> Refusal | None:
    """Why a job cannot run under its study here, or None.

    A document that was shown binds every job of its study, also one that does not name it. A job of a study that has
    shown none is another matter.
    """
    entry = studies.study(office.journal, manifest.study)
    if manifest.study_sha256 is None and entry is None and asked_of(manifest) is None:
        return None
    if entry is None or manifest.study_sha256 not in (None, entry.sha256):
        return Refusal(DECLINED, text("outside.not_shown", study=manifest.study))
    reason = _not_now(entry, int(office.clock()))
    if reason is None:
        asks = asked_of(manifest) is not None
        reason = (_unasked if asks else _too_many)(office, entry, casework, manifest)
    if reason is None:
        reason = outside(entry.document, manifest)
    return None if reason is None else Refusal(DECLINED, reason)


def is_decided(office: Office, manifest: Manifest) -> bool:
    """Whether no person needs to be asked about this very job: the rules decide, or its study was approved."""
    if office.policy.approval == "study":
        return studies.states(office.journal).get(manifest.study) is StudyState.APPROVED
    return office.policy.approval == "automatic"


def ended_by(office: Office, casework: Casework) -> list[str]:
    """Jobs under way of studies that this hospital has declined or withdrawn from."""
    states = studies.states(office.journal)
    return [job for job, case in casework.cases.items() if states.get(case.entry.study) in REFUSED]


def _not_now(entry: StudyEntry, now: int) -> str | None:
    if entry.answer in REFUSED:
        is_declined = entry.answer is StudyState.DECLINED
        return text("outside.declined_here" if is_declined else "outside.withdrew_here", study=entry.study)
    if entry.closed:
        return text("outside.closed", study=entry.study, day=day_of(entry.closed))
    expires = entry.document.expires
    if now > expires + MAX_SKEW_SECONDS:
        return text("outside.ended", study=entry.study, day=day_of(expires))
    return None


def _unasked(office: Office, entry: StudyEntry, casework: Casework, manifest: Manifest) -> str | None:
    """Whether a hospital has asked this question, and may; its questions that may still begin are counted too."""
    try:
        ask = verify_asked(manifest, office.keyring.hospital_trust())
    except PeerError as error:
        return text("outside.nobody_asked", error=error)
    if ask is None:
        return None
    if ask.hospital == office.own and office.questions.claim(ask.question, manifest.job) is None:
        return text("outside.not_asked_here")
    now = int(office.clock())
    earlier = studies.asked_by(office.journal, entry.study, ask.hospital)
    begun = {one.question for one in earlier}
    for job, case in casework.cases.items():
        other = asked_of(case.participation.manifest)
        if other is None or job == manifest.job or other.question in begun:
            continue
        if (other.study, other.hospital) == (ask.study, ask.hospital):
            created = asked_when(case.participation.manifest, now)
            earlier.append(Earlier(other.question, other.records, created))
    return too_often(entry.document.asking, ask, asked_when(manifest, now), earlier)


def _too_many(_office: Office, entry: StudyEntry, casework: Casework, manifest: Manifest) -> str | None:
    """Jobs that began are counted in the journal; those that were accepted and did not begin yet may still."""
    waiting = sum(
        case.entry.study == entry.study
        and not case.participation.members
        and asked_of(case.participation.manifest) is None
        for job, case in casework.cases.items()
        if job != manifest.job
    )
    if entry.begun + waiting >= entry.document.max_jobs:
        return text("outside.jobs_used", study=entry.study, n=entry.document.max_jobs)
    return None
