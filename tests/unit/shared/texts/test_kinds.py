"""Names of sentences that are put together: every kind that there can be has its sentence."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, get_args

import pytest

import hospital_agent.computing
import shared.secure_tree
from shared.advice.words import Reason
from shared.protocol.disclosure_words import CANNOT_BE_KNOWN
from shared.protocol.phases import phase_in_words
from shared.protocol.states import CloudState
from shared.texts import texts
from shared.wire.contract import MissingPolicy
from shared.wire.growing import Bound, Cost, Method
from shared.wire.manifest import Criterion, Disclosure, PaillierProfile, Thresholds
from shared.wire.secret import SecretProfile
from shared.wire.study import Start
from shared.wire.tally import TallyKind

ROOMS = (Path(shared.secure_tree.__file__).parent, Path(hospital_agent.computing.__file__).parent)
WAITS = (
    CloudState.INVITING,
    CloudState.COLLECTING,
    CloudState.OPENING,
    CloudState.DECIDING,
    CloudState.COMPUTING,
)
PROFILES = (*get_args(PaillierProfile), *get_args(SecretProfile))
FLOORS = ("min_hospitals", "min_node", "min_child")


@pytest.mark.parametrize(
    ("table", "names"),
    [
        *((f"study.{table}", PROFILES) for table in ("profile", "leaving", "learning")),
        ("card.mode", PROFILES),
        ("study.shown", get_args(Disclosure)),
        ("report.answers", get_args(Disclosure)),
        ("study.criterion", get_args(Criterion)),
        ("study.start", get_args(Start)),
        ("tally.kind", get_args(TallyKind)),
        ("declined", (*get_args(TallyKind), *FLOORS)),
        ("narrower", (*get_args(TallyKind), *FLOORS)),
        ("outside", FLOORS),
        ("contract.empty", get_args(MissingPolicy)),
        ("growing.pruning", get_args(Method)),
        ("growing.bound", get_args(Bound)),
        ("growing.cost", get_args(Cost)),
        ("card.thresholds", get_args(Thresholds)),
        ("waiting.what", WAITS),
        ("advice", list(Reason)),
        ("ledger.cannot_be_known", CANNOT_BE_KNOWN),
    ],
)
def test_every_kind_has_its_sentence(table: str, names: Any) -> None:
    assert names
    assert [name for name in names if f"{table}.{name}" not in texts()] == []


def test_every_phase_of_a_computation_is_told_in_words() -> None:
    sources = [path.read_text("utf-8") for room in ROOMS for path in room.rglob("*.py")]
    phases = {
        name for source in sources for name in re.findall(r'(?:meter\.phase|place\.enter)\("([^"]+)"', source)
    }
    assert len(phases) > 12
    assert {name for name in phases if f"phase.{name.replace(' ', '_')}" not in texts()} == set()
    assert phase_in_words("attribute maximum") == "comparing attributes"
    assert phase_in_words("something of a later version") == "something of a later version"
