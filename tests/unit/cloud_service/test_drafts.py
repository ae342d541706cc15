"""Drafts of studies: whose they are, how many, and how long they are kept."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from cloud_service.service.drafts import KEPT_SECONDS, MOST, Drafts
from cloud_service.service.refusals import ConflictError, UnknownThingError
from cloud_service.store import schema
from cloud_service.store.database import Database


class Clock:
    """Time as the test says."""

    now = 1_000_000

    def __call__(self) -> int:
        return self.now


@pytest.fixture
def drafts(tmp_path: Path) -> Iterator[tuple[Drafts, Clock]]:
    """Over tables of their own."""
    database, clock = Database(f"sqlite:///{tmp_path / 'cloud.db'}"), Clock()
    schema.upgrade(database)
    yield Drafts(database, clock), clock
    database.dispose()


def test_a_draft_keeps_what_no_step_has_changed(drafts: tuple[Drafts, Clock]) -> None:
    kept, clock = drafts
    draft = kept.begin("ana", {"id": ["one"], "members": ["h1", "h2"]})
    clock.now += 5
    changed = kept.save("ana", draft.id, {"members": [], "question": ["Why, señora?"]})
    assert changed.fields == {"id": ["one"], "members": [], "question": ["Why, señora?"]}
    assert changed.changed == clock.now
    assert kept.get("ana", draft.id) == changed
    with pytest.raises(UnknownThingError):
        kept.get("ben", draft.id)
    with pytest.raises(UnknownThingError):
        kept.save("ben", draft.id, {})
    kept.drop("ben", draft.id)
    kept.became("ana", draft.id, "one")
    assert kept.mine("ana") == []
    assert kept.get("ana", draft.id).study == "one"


def test_old_drafts_go_and_many_are_refused(drafts: tuple[Drafts, Clock]) -> None:
    kept, clock = drafts
    first = kept.begin("ana", {})
    for _ in range(MOST - 1):
        kept.begin("ana", {})
    with pytest.raises(ConflictError, match="delete one"):
        kept.begin("ana", {})
    kept.begin("ben", {})
    kept.clear()
    assert len(kept.mine("ana")) == MOST
    clock.now += KEPT_SECONDS + 1
    kept.clear()
    kept.begin("ana", {})
    assert len(kept.mine("ana")) == 1
    with pytest.raises(UnknownThingError):
        kept.get("ana", first.id)
