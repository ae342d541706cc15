"""The state machine (protocol section 8): states, events, and one table of what may follow what.

The table is blind to messages and people: `coordinator` and `participant` name an event and this module
says whether it may happen. The diagrams in `docs/protocol.md` are printed from here
(`python -m shared.protocol.states`).
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from enum import StrEnum
from typing import Final, TypeVar

from shared.errors import InternalError


class CloudState(StrEnum):
    """Where a job stands at the cloud; `PAUSED` is a flag beside it, not a state."""

    CREATED = "CREATED"
    INVITING = "INVITING"
    KEYING = "KEYING"
    COLLECTING = "COLLECTING"
    COMMITTED = "COMMITTED"
    OPENING = "OPENING"
    DECIDING = "DECIDING"
    COMPUTING = "COMPUTING"
    DONE = "DONE"
    FAILED = "FAILED"
    CANCELLED = "CANCELLED"


class CloudEvent(StrEnum):
    """What moves a job at the cloud."""

    INVITE = "invite"
    ANSWER = "answer"
    FIX_ROSTER = "fix_roster"
    OPEN_ROUND = "open_round"
    COMPUTE = "compute"
    CONTRIBUTE = "contribute"
    SHRINK = "shrink"
    COMMIT = "commit"
    SEND_SUMS = "send_sums"
    ASK_PARTIALS = "ask_partials"
    PARTIAL = "partial"
    SEND_PARTIALS = "send_partials"
    DECIDE = "decide"
    FINISH = "finish"
    ATTEST = "attest"
    FAIL = "fail"
    CANCEL = "cancel"


class AgentState(StrEnum):
    """Where a job stands at one hospital."""

    IDLE = "IDLE"
    ACCEPTED = "ACCEPTED"
    COMPUTING = "COMPUTING"
    SENT = "SENT"
    OPENING = "OPENING"
    VERIFIED = "VERIFIED"
    DECIDED = "DECIDED"
    COMPLETE = "COMPLETE"
    ABORTED = "ABORTED"


class AgentEvent(StrEnum):
    """What moves a job at one hospital."""

    ACCEPT = "accept"
    JOIN_ROSTER = "join_roster"
    COMPUTE = "compute"
    SEND = "send"
    GIVE_PARTIAL = "give_partial"
    VERIFY = "verify"
    DECIDE = "decide"
    COMPLETE = "complete"
    ABORT = "abort"


_S, _E = CloudState, CloudEvent
CLOUD_TRANSITIONS: Final[Mapping[tuple[CloudState, CloudEvent], CloudState]] = {
    (_S.CREATED, _E.INVITE): _S.INVITING,
    (_S.INVITING, _E.ANSWER): _S.INVITING,
    (_S.INVITING, _E.FIX_ROSTER): _S.KEYING,
    (_S.KEYING, _E.OPEN_ROUND): _S.COLLECTING,
    (_S.KEYING, _E.COMPUTE): _S.COMPUTING,
    (_S.COLLECTING, _E.CONTRIBUTE): _S.COLLECTING,
    (_S.COLLECTING, _E.SHRINK): _S.COLLECTING,
    (_S.COLLECTING, _E.COMMIT): _S.COMMITTED,
    (_S.COMMITTED, _E.SEND_SUMS): _S.DECIDING,
    (_S.COMMITTED, _E.ASK_PARTIALS): _S.OPENING,
    (_S.OPENING, _E.PARTIAL): _S.OPENING,
    (_S.OPENING, _E.SEND_PARTIALS): _S.DECIDING,
    (_S.DECIDING, _E.DECIDE): _S.DECIDING,
    (_S.DECIDING, _E.OPEN_ROUND): _S.COLLECTING,
    (_S.DECIDING, _E.FINISH): _S.DONE,
    (_S.COMPUTING, _E.DECIDE): _S.COMPUTING,
    (_S.COMPUTING, _E.FINISH): _S.DONE,
    (_S.DONE, _E.ATTEST): _S.DONE,
    **{
        (state, event): target
        for state in (
            _S.CREATED,
            _S.INVITING,
            _S.KEYING,
            _S.COLLECTING,
            _S.COMMITTED,
            _S.OPENING,
            _S.DECIDING,
            _S.COMPUTING,
        )
        for event, target in ((_E.FAIL, _S.FAILED), (_E.CANCEL, _S.CANCELLED))
    },
}

_A, _V = AgentState, AgentEvent
AGENT_TRANSITIONS: Final[Mapping[tuple[AgentState, AgentEvent], AgentState]] = {
    (_A.IDLE, _V.ACCEPT): _A.ACCEPTED,
    (_A.ACCEPTED, _V.JOIN_ROSTER): _A.ACCEPTED,
    (_A.ACCEPTED, _V.SEND): _A.SENT,
    (_A.SENT, _V.SEND): _A.SENT,
    (_A.DECIDED, _V.SEND): _A.SENT,
    (_A.SENT, _V.VERIFY): _A.VERIFIED,
    (_A.SENT, _V.GIVE_PARTIAL): _A.OPENING,
    (_A.OPENING, _V.VERIFY): _A.VERIFIED,
    (_A.VERIFIED, _V.DECIDE): _A.DECIDED,
    (_A.ACCEPTED, _V.COMPUTE): _A.COMPUTING,
    (_A.COMPUTING, _V.DECIDE): _A.DECIDED,
    (_A.DECIDED, _V.COMPLETE): _A.COMPLETE,
    **{
        (state, _V.ABORT): _A.ABORTED
        for state in (_A.IDLE, _A.ACCEPTED, _A.COMPUTING, _A.SENT, _A.OPENING, _A.VERIFIED, _A.DECIDED)
    },
}

TERMINAL_CLOUD_STATES: Final = frozenset({_S.DONE, _S.FAILED, _S.CANCELLED})
TERMINAL_AGENT_STATES: Final = frozenset({_A.COMPLETE, _A.ABORTED})

AnyState = TypeVar("AnyState", CloudState, AgentState)
AnyEvent = TypeVar("AnyEvent", CloudEvent, AgentEvent)


def follow(table: Mapping[tuple[AnyState, AnyEvent], AnyState], state: AnyState, event: AnyEvent) -> AnyState:
    """The state after `event`. Raises: InternalError: the table does not allow it (callers check first)."""
    try:
        return table[state, event]
    except KeyError:
        raise InternalError(f"no transition from {state} on {event}") from None


def mermaid(table: Mapping[tuple[AnyState, AnyEvent], AnyState]) -> str:
    """The table as a Mermaid state diagram."""
    head = "stateDiagram-v2"
    return "\n".join([head, *(f"    {key[0]} --> {target}: {key[1]}" for key, target in table.items())])


if __name__ == "__main__":
    sys.stdout.write(f"{mermaid(CLOUD_TRANSITIONS)}\n\n{mermaid(AGENT_TRANSITIONS)}\n")
