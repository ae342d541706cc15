"""What members make sure of among themselves before they compute: one roster, and records shared in one way.

Nobody between them could see to it. A cloud may send each member another roster of true acceptances, and so have
fewer hospitals' records computed on than those agreed to that shared theirs. A hospital may send two compute parties
different words for the part of its shares that both hold; what is computed from those is neither its records nor
anybody's, and positions that are opened under a shuffle are then no longer uniform.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from hospital_agent.computing.assignment import Assignment
from hospital_agent.links.mesh import Mesh
from shared.errors import JobCode, JobFailure
from shared.ids import AgentId
from shared.mpc.program import Spec
from shared.mpc.ring import U8, Words
from shared.secure_tree.contributing import held_parts

_HASH_BYTES: Final = 32
_HASH: Final = Spec((_HASH_BYTES,), U8)


def agree_on_roster(mesh: Mesh, assignment: Assignment) -> None:
    """Before any record leaves: this member and all it has links to know the same members, keys and numbers.

    Raises: JobFailure: `diverged`.
    """
    own = np.frombuffer(assignment.roster_sha256, U8)
    peers = assignment.linked
    said = mesh.exchange([(peer, (own,)) for peer in peers], [(peer, (_HASH,)) for peer in peers])
    for peer, words in zip(peers, said, strict=True):
        if not np.array_equal(words[0], own):
            raise JobFailure(
                JobCode.DIVERGED,
                f"{peer} was sent another roster of this job than this hospital; no record has left, "
                "and the job ends here",
            )


def check_inputs(
    mesh: Mesh, assignment: Assignment, index: int, came: Mapping[AgentId, Sequence[Words]]
) -> None:
    """At compute party `index`: each part of each member's shares is the same at its two holders.

    Args: came: every member's message, the own one included.
    Raises: JobFailure: `share_inconsistent`, with the member's name.
    """
    members = list(assignment.records)
    held = [held_parts(index, came[agent]) for agent in members]
    own, following = (np.stack([_digest(parts[place]) for parts in held]) for place in range(2))
    previous, after = assignment.neighbours
    spec = (Spec.of(own),)
    theirs = mesh.exchange([(previous, (own,)), (after, (following,))], [(previous, spec), (after, spec)])
    for words, mine in zip(theirs, (own, following), strict=True):
        for agent, differs in zip(members, (words[0] != mine).any(axis=1), strict=True):
            if differs:
                raise JobFailure(
                    JobCode.SHARE_INCONSISTENT,
                    f"{agent} has sent two compute parties different words for the same part of its records; "
                    "the job ends here",
                )


def _digest(part: Sequence[Words]) -> Words:
    digest = hashlib.sha256()
    for words in part:
        digest.update(np.ascontiguousarray(words).data)
    return np.frombuffer(digest.digest(), U8)
