"""Where this hospital's policy is narrower than a study's document, for who is about to approve it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from shared.protocol.governing import DISCLOSURE_ORDER

if TYPE_CHECKING:
    from hospital_agent.policy import Policy
    from shared.wire.study import StudyDocument

_FLOORS: Final = ("min_hospitals", "min_node", "min_child")


def narrower(policy: Policy, document: StudyDocument, own: str) -> list[str]:
    """Sentences about jobs that the document allows and the policy declines; none where it declines nothing more."""
    said = [
        f"jobs whose {name} is below {getattr(policy, name)}"
        for name in _FLOORS
        if getattr(document, name) < getattr(policy, name)
    ]
    depth = document.max_depth
    if policy.max_depth and (depth is None or depth > policy.max_depth):
        said.append(f"jobs deeper than {policy.max_depth}")
    if document.max_shrinks > policy.max_shrinks:
        said.append(f"jobs whose max_shrinks is above {policy.max_shrinks}")
    if DISCLOSURE_ORDER.index(document.disclosure) > DISCLOSURE_ORDER.index(policy.disclosure):
        said.append(f"jobs whose predictions show {document.disclosure}")
    named = None if policy.compute_parties is None else {*policy.compute_parties, own}
    strangers = sorted(set(document.compute_parties or ()) - (named or set(document.members)))
    declined = [
        (document.publish_tree and not policy.allow_publish_tree, "every job, since its tree is published"),
        (
            policy.studies is not None and document.id not in policy.studies,
            "every job, since studies does not name this study",
        ),
        ("paper" in document.profiles and not policy.allow_paper_profile, "jobs of profile paper"),
        (document.is_secret and not policy.allow_secret_modes, "jobs on secret shares"),
        (
            own in (document.compute_parties or ()) and not policy.may_compute,
            "jobs on secret shares, since this agent may not compute",
        ),
        (
            bool(strangers),
            f"jobs on secret shares, since compute_parties does not name {', '.join(strangers)}",
        ),
        (policy.require_noise and document.noise is None, "jobs without noise"),
        (
            document.noise is not None and document.noise.untrusted == 0,
            "jobs that count on the noise of all hospitals (untrusted 0)",
        ),
        (document.shared_result and not policy.allow_shared_result, "jobs that keep their tree shared"),
        (
            document.asking is not None and not policy.allow_asking,
            "jobs by which a hospital asks a shared tree by itself",
        ),
        (
            bool(document.schema_.fractional) and not policy.allow_fractional,
            "jobs that grow a tree, since missing values are fractional and allow_fractional is off",
        ),
    ]
    said += [
        f"jobs that only count ({kind})"
        for kind in document.tallies or ()
        if not getattr(policy, f"allow_{kind}")
    ]
    return said + [text for narrow, text in declined if narrow]
