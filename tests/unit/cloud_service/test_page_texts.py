"""What a job can come to has its words on the job's page: each event, each ending, each message."""

from __future__ import annotations

import re
from pathlib import Path

import cloud_service
import shared.protocol
from cloud_service.pages.job_form import PRUNINGS
from shared.errors import JobCode
from shared.texts import texts
from shared.wire.envelope import MessageType
from shared.wire.growing import PruningSpec

_ROOMS = (Path(shared.protocol.__file__).parent, Path(cloud_service.__file__).parent / "service")


def kinds_of_notes() -> set[str]:
    """Every kind of event that the code writes into a job's story."""
    sources = [path.read_text("utf-8") for room in _ROOMS for path in room.glob("*.py")]
    found = {kind for source in sources for kind in re.findall(r'Note\(\s*"([a-z_]+)"', source)}
    assert len(found) > 15
    return found


def test_every_event_is_told_in_words() -> None:
    assert {kind for kind in kinds_of_notes() if f"cloud.job.story.{kind}" not in texts()} == set()


def test_every_ending_says_what_to_do() -> None:
    assert {code for code in JobCode if f"cloud.job.next.{code}" not in texts()} == set()


def test_every_message_has_a_name() -> None:
    assert {kind for kind in MessageType if f"cloud.job.message.{kind}" not in texts()} == set()


def test_every_pruning_that_is_offered_can_be_done() -> None:
    for name, spec in PRUNINGS.items():
        assert PruningSpec(**spec).method == name  # type: ignore[arg-type]
        assert f"cloud.start.options.{name}" in texts()
