"""A cloud that cheats in a secret job: it may end the job, and gets nothing else out of anybody."""

from __future__ import annotations

import json

import pytest

from shared.errors import ErrorCode
from shared.ids import EVERYONE
from shared.protocol.states import AgentState
from shared.wire.envelope import MessageType
from shared.wire.rounds import Aggregate, RoundOpen
from tests.protocol.test_secret_jobs import NAMES, computing
from tests.support.world import World


def decided() -> tuple[World, list[bytes]]:
    """A job whose members have all stated the same result, and their statements."""
    built = computing()
    statements = []
    for name, hospital in built.hospitals.items():
        while not hospital.computes:
            built.fetch(name, hospital, 0.0)
        hospital.finish_computing(built.pooled())
        statements.append(hospital.outbox[-1])
    return built, statements


@pytest.mark.parametrize("number", [0, 1])
def test_counts_are_not_asked_for_once_the_members_have_decided(number: int) -> None:
    """Else the sums of every node, which no hospital may learn in these modes, would be opened behind the result."""
    built, statements = decided()
    first = built.hospitals["h1"].participation
    assert first is not None
    body = RoundOpen(
        roster=list(NAMES),
        slots=first.growth.slot_count,
        deadline=1000,
        decisions=[json.loads(raw) for raw in statements] if number else [],
    )
    forged = built.cloud.seal(MessageType.ROUND_OPEN, number, 0, EVERYONE, body)
    for hospital in built.hospitals.values():
        hospital.take(hospital.cursor, forged.raw)
        assert [error.code for error in hospital.refused] == [ErrorCode.WRONG_ROUND]
        assert hospital.participation is not None
        assert hospital.participation.state is AgentState.DECIDED
        assert not hospital.contributed


def test_sums_are_not_opened_in_a_secret_job() -> None:
    built = computing()
    hospital = built.hospitals["h1"]
    while not hospital.computes:
        built.fetch("h1", hospital, 0.0)
    body = Aggregate(
        ciphertexts=["AAAA"],
        roster_hash="ab" * 32,
        contributions=[(name, "cd" * 32) for name in NAMES],
        head="0" * 64,
    )
    forged = built.cloud.seal(MessageType.AGGREGATE, 0, 0, EVERYONE, body)
    hospital.take(hospital.cursor, forged.raw)
    assert [error.code for error in hospital.refused] == [ErrorCode.WRONG_ROUND]
