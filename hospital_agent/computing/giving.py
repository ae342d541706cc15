"""The result on its way from the compute parties to the members: a public text, or sealed parts for those who may know.

Each member hears from all three compute parties and goes on only if they say the same. What a compute party knows
itself it is not sent.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from hospital_agent.computing.assignment import Assignment
from hospital_agent.links.mesh import Mesh
from shared.errors import JobCode, JobFailure
from shared.ids import AgentId
from shared.mpc.program import Spec
from shared.mpc.ring import U8, U64, Words
from shared.mpc.sharing import PARTIES
from shared.secure_tree.sealed_result import (
    COMMITMENTS,
    SealedShare,
    agreed_commitments,
    combine_sealed,
    part_specs,
)

MAX_TEXT_BYTES: Final = 2**26
_LENGTH: Final = (Spec((1,), U64),)


@dataclass(frozen=True, slots=True)
class Gift:
    """One sealed result: who is sent its parts, and the shapes of its arrays, which are public."""

    receivers: frozenset[AgentId]
    arrays: tuple[Spec, ...]


@dataclass(frozen=True, slots=True)
class Received:
    """What a member came to know of one sealed result. `values`: None for who may not know them."""

    commitments: list[str]
    values: tuple[Words, ...] | None = field(repr=False)


def give_text(mesh: Mesh, assignment: Assignment, text: str | None) -> str:
    """A text that all compute parties know goes to the members that only contribute.

    Args: text: None at a member that does not compute.
    Returns: the text. Raises: JobFailure: `share_inconsistent`: the compute parties say different things.
    """
    if text is not None:
        raw = np.frombuffer(text.encode(), U8)
        listeners = [agent for agent in assignment.others if agent not in assignment.compute_parties]
        mesh.exchange([(agent, (np.array([raw.size], U64),)) for agent in listeners], [])
        mesh.exchange([(agent, (raw,)) for agent in listeners], [])
        return text
    parties = assignment.compute_parties
    lengths = [int(words[0][0]) for words in mesh.exchange([], [(agent, _LENGTH) for agent in parties])]
    if len(set(lengths)) != 1 or not 0 < lengths[0] <= MAX_TEXT_BYTES:
        raise _differ()
    spec = (Spec((lengths[0],), U8),)
    texts = {words[0].tobytes() for words in mesh.exchange([], [(agent, spec) for agent in parties])}
    if len(texts) != 1:
        raise _differ()
    try:
        return texts.pop().decode("ascii")
    except UnicodeDecodeError:
        raise _differ() from None


def give_sealed(
    mesh: Mesh, assignment: Assignment, gifts: Sequence[Gift], sealed: Sequence[SealedShare] | None
) -> list[Received]:
    """Sealed results go to every member: commitments to all, parts to their receivers.

    Args: sealed: this party's shares of the gifts, in their order; None at a member that does not compute.
    Raises: JobFailure: `share_inconsistent`.
    """
    outgoing: list[tuple[AgentId, tuple[Words, ...]]] = []
    if sealed is not None and assignment.index is not None:
        index = assignment.index
        for agent in assignment.others:
            words: list[Words] = []
            for gift, share in zip(gifts, sealed, strict=True):
                words += (
                    share.commitments(),
                    *(share.own_part() if _is_sent(assignment, gift, agent, index) else ()),
                )
            outgoing.append((agent, tuple(words)))
    senders = [agent for agent in assignment.compute_parties if agent != assignment.own]
    incoming = [(agent, _specs(assignment, gifts, agent)) for agent in senders]
    came = dict(zip(senders, mesh.exchange(outgoing, incoming), strict=True))
    return [_taken(assignment, gift, place, came, gifts, sealed) for place, gift in enumerate(gifts)]


def _is_sent(assignment: Assignment, gift: Gift, receiver: AgentId, part: int) -> bool:
    """Whether `receiver` is sent part `part` by its own holder: it may know the result, and does not hold the part."""
    holders = (assignment.compute_parties[part], assignment.compute_parties[part - 1])
    return receiver in gift.receivers and receiver not in holders


def _specs(assignment: Assignment, gifts: Sequence[Gift], sender: AgentId) -> tuple[Spec, ...]:
    part = assignment.compute_parties.index(sender)
    specs: list[Spec] = []
    for gift in gifts:
        sent = _is_sent(assignment, gift, assignment.own, part)
        specs += (COMMITMENTS, *(part_specs(gift.arrays) if sent else ()))
    return tuple(specs)


def _taken(
    assignment: Assignment,
    gift: Gift,
    place: int,
    came: dict[AgentId, tuple[Words, ...]],
    gifts: Sequence[Gift],
    sealed: Sequence[SealedShare] | None,
) -> Received:
    """One gift out of what the compute parties sent, checked."""
    commitments: list[Words] = []
    parts: dict[int, Sequence[Words]] = {}
    own = None if sealed is None else sealed[place]
    for number, party in enumerate(assignment.compute_parties):
        if own is not None and number == assignment.index:
            commitments.append(own.commitments())
            parts |= {number: own.own_part(), (number + 1) % PARTIES: own.next_part()}
            continue
        start = len(_specs(assignment, gifts[:place], party))
        words = came[party][start : len(_specs(assignment, gifts[: place + 1], party)) or None]
        commitments.append(words[0])
        if len(words) > 1:
            parts[number] = words[1:]
    hashes = agreed_commitments(commitments)
    if assignment.own not in gift.receivers:
        return Received(hashes, None)
    return Received(hashes, combine_sealed([parts[number] for number in range(PARTIES)], commitments))


def _differ() -> JobFailure:
    return JobFailure(
        JobCode.SHARE_INCONSISTENT,
        "the three compute parties do not send the same result; the job ends here",
    )
