"""Which shared tree a job may ask at a hospital that holds a share of it."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest

from hospital_agent.computing.choosing import check_offer
from hospital_agent.models import Shelf, put_shares
from shared.errors import InputError
from shared.ids import AgentId
from shared.mpc.sharing import BinaryShare
from shared.wire.manifest import Manifest
from tests.support.asking import MODEL, STUDY, asked_job
from tests.support.studies import document
from tests.support.world import Parties

PARTIES = Parties([AgentId("h1"), AgentId("h2"), AgentId("h3"), AgentId("h4")])
ASKING = asked_job(PARTIES, document(PARTIES, **STUDY), "h4")


def shelf_with(folder: Path, grown: Manifest) -> Shelf:
    """What the check looks at of a shelf that holds one share."""
    put_shares(folder, MODEL, (BinaryShare(np.zeros(1, np.uint8), np.zeros(1, np.uint8)),))
    return cast(Shelf, SimpleNamespace(folder=folder, get=lambda _: SimpleNamespace(manifest=grown)))


def test_a_tree_is_asked_in_its_own_study_alone(tmp_path: Path) -> None:
    """Stewards of another study have agreed to other numbers of questions."""
    check_offer(ASKING, "h1", shelf_with(tmp_path, ASKING))
    elsewhere = shelf_with(tmp_path, ASKING.model_copy(update={"study": "elsewhere"}))
    with pytest.raises(InputError, match="study simulation asks a tree of study elsewhere"):
        check_offer(ASKING, "h1", elsewhere)
    check_offer(ASKING, "h4", elsewhere)  # holds no share of it
