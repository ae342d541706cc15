"""Figures of a finished job on their way to the cloud: made only where the study's document publishes them.

They ride in the attestation, which is journalled with the job's end: whatever stops the agent, the same bytes go out.
What keeps figures here never keeps the job from its end; a person is told.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from hospital_agent.daemon.finishing import model_of
from hospital_agent.journal import OutgoingMessage, studies
from hospital_agent.journal.studies import StudyState
from hospital_agent.models.published import evaluation_of, importance_of
from hospital_agent.models.tallies import TallyResult
from shared.errors import InputError, InternalError, PeerError
from shared.protocol.agent_effects import Completed, Say, Step
from shared.protocol.audit_log import record_of
from shared.protocol.envelopes import unseal
from shared.protocol.participation import Participation
from shared.protocol.quality import published_kind, read_figures
from shared.tree.tallying import TallyGrowth
from shared.wire.envelope import MessageType, SignedEnvelope
from shared.wire.quality import Figures, QualityKind, QualitySpec
from shared.wire.rounds import Attest

if TYPE_CHECKING:
    from hospital_agent.daemon.office import Office

_TOLD: Final = ("published", "quality_sha256")
_MAX_ATTEST_BYTES: Final = 2**23


def with_figures(office: Office, step: Step, certificates: Sequence[str]) -> Step:
    """The step that ends a job, its attestation with figures where the study publishes some; any other as it is.

    Args: certificates: of all who joined, base64url.
    """
    ending = next((effect for effect in step.effects if isinstance(effect, Completed)), None)
    if ending is None:
        return step
    text = _figures(office, step.participation, certificates, ending.statements)
    if text is None:
        return step
    effects = tuple(
        Say(effect.type, effect.body.model_copy(update={"quality": text}))
        if isinstance(effect, Say) and isinstance(effect.body, Attest)
        else effect
        for effect in step.effects
    )
    return replace(step, effects=effects)


def left_with(message: OutgoingMessage) -> dict[str, Any]:
    """What the own log says of an attestation beside its hash: whether the tree left with it, and which figures."""
    if message.type != MessageType.ATTEST or message.raw is None:
        return {}
    record = record_of(unseal(message.raw, max_bytes=_MAX_ATTEST_BYTES))
    return {name: record[name] for name in _TOLD if record.get(name)}


def _figures(
    office: Office,
    after: Participation,
    certificates: Sequence[str],
    statements: tuple[SignedEnvelope, ...],
) -> str | None:
    """The document as text; None where nothing is to be sent."""
    entry = studies.study(office.journal, after.manifest.study)
    document = None if entry is None else entry.document
    kind = published_kind(document, after.manifest)
    if entry is None or document is None or document.quality is None or kind is None:
        return None
    kept = _kept_here(office, entry.answer)
    try:
        if kept:
            raise InputError(kept, where=f"figures of job {after.manifest.job}")
        made = _made(office, kind, document.quality, after, certificates, statements)
        text = made.canonical().decode()
        read_figures(text, kind, document.quality, after.manifest, list(map(str, after.roster)))
    except (InputError, InternalError, PeerError, ValueError) as error:
        office.progress.warn(
            f"the figures that study {document.id} publishes do not leave this hospital: {error}",
            job=after.manifest.job,
        )
        return None
    return text


def _kept_here(office: Office, answer: StudyState) -> str:
    """Why this hospital does not send what a document publishes; empty where it does."""
    if not office.policy.allow_publish_quality:
        return "allow_publish_quality in the policy is off"
    if office.policy.approval == "study" and answer is not StudyState.APPROVED:
        return "no person here has approved the study's document"
    return ""


def _made(
    office: Office,
    kind: QualityKind,
    spec: QualitySpec,
    after: Participation,
    certificates: Sequence[str],
    statements: tuple[SignedEnvelope, ...],
) -> Figures:
    made = model_of(after, certificates, statements)
    if kind == "importance":
        return importance_of(made)
    growth, tally = after.growth, after.manifest.tally
    if not isinstance(growth, TallyGrowth) or growth.tables is None or tally is None:
        raise InternalError("an evaluation is complete without its tables")
    return evaluation_of(office.shelf.get(str(tally.model)), TallyResult(made, growth.tables), spec)
