"""Where this hospital's policy is narrower than a study's document, for who is about to approve it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from shared.protocol.governing import DISCLOSURE_ORDER
from shared.texts import text

if TYPE_CHECKING:
    from hospital_agent.policy import Policy
    from shared.wire.study import StudyDocument

_FLOORS: Final = ("min_hospitals", "min_node", "min_child")


def narrower(policy: Policy, document: StudyDocument, own: str) -> list[str]:
    """Sentences about jobs that the document allows and the policy declines; none where it declines nothing more."""
    said = [
        text(f"narrower.{name}", n=getattr(policy, name))
        for name in _FLOORS
        if getattr(document, name) < getattr(policy, name)
    ]
    depth = document.max_depth
    if policy.max_depth and (depth is None or depth > policy.max_depth):
        said.append(text("narrower.max_depth", n=policy.max_depth))
    if document.max_shrinks > policy.max_shrinks:
        said.append(text("narrower.max_shrinks", n=policy.max_shrinks))
    if DISCLOSURE_ORDER.index(document.disclosure) > DISCLOSURE_ORDER.index(policy.disclosure):
        said.append(text("narrower.disclosure", shown=text(f"study.shown.{document.disclosure}")))
    said += [
        text(f"narrower.{kind}") for kind in document.tallies or () if not getattr(policy, f"allow_{kind}")
    ]
    return said + _declined(policy, document, own)


def _declined(policy: Policy, document: StudyDocument, own: str) -> list[str]:
    """What the policy does not have at all."""
    named = None if policy.compute_parties is None else {*policy.compute_parties, own}
    strangers = sorted(set(document.compute_parties or ()) - (named or set(document.members)))
    noise = document.noise
    declined = [
        (document.publish_tree and not policy.allow_publish_tree, "publish_tree"),
        (policy.studies is not None and document.id not in policy.studies, "studies"),
        ("paper" in document.profiles and not policy.allow_paper_profile, "paper"),
        (document.is_secret and not policy.allow_secret_modes, "secret"),
        (own in (document.compute_parties or ()) and not policy.may_compute, "may_compute"),
        (policy.require_noise and noise is None, "no_noise"),
        (noise is not None and noise.untrusted == 0, "untrusted"),
        (document.shared_result and not policy.allow_shared_result, "shared_result"),
        (document.asking is not None and not policy.allow_asking, "asking"),
        (bool(document.schema_.fractional) and not policy.allow_fractional, "fractional"),
    ]
    said = [text(f"narrower.{name}") for is_narrow, name in declined if is_narrow]
    return said + ([text("narrower.parties", names=", ".join(strangers))] if strangers else [])
