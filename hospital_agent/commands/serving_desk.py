"""The desk of a running agent: what it asks, counts and notes lies in the agent's folder."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from hospital_agent.commands.predicting import readers_in

if TYPE_CHECKING:
    from hospital_agent.local_api import Desk
    from hospital_agent.models import Shelf
    from hospital_agent.settings import LocalSection


def desk_in(folder: Path, shelf: Shelf, local: LocalSection) -> Desk:
    """The desk over the models of the agent in `folder`."""
    from hospital_agent.local_api import Desk, Library, Rates
    from hospital_agent.models.counters import Counters
    from hospital_agent.models.names import Names
    from hospital_agent.models.predictions_log import PredictionsLog
    from hospital_agent.models.tallies import cabinet_of

    cabinet = cabinet_of(folder, shelf.identity_public, shelf.root)
    return Desk(
        Library(shelf, readers_in(folder), cabinet),
        Names(folder, time.time),
        Counters(folder, time.time),
        PredictionsLog(folder, time.time) if local.predictions_log else None,
        lambda: _states(folder),
        time.time,
        Rates(local.requests_per_second, time.monotonic),
    )


def _states(folder: Path) -> Mapping[str, str]:
    from hospital_agent.journal import Journal, studies

    with Journal.open(folder) as journal:
        return {study: state.value for study, state in studies.states(journal).items()}
