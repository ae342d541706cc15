"""What stewards do with models on a hospital's pages: names, trials, words on their use, removal."""

from __future__ import annotations

import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest

from hospital_agent.journal import Journal
from hospital_agent.keyring import Keyring
from hospital_agent.models import shelf_of
from hospital_agent.models.names import Names
from hospital_agent.people.stewards import Stewards
from tests.support.house import Browser, serving_pages
from tests.support.models import model_of
from tests.unit.hospital_agent.test_reporting import PARTIES, folder_with

OLD, NEW = "ab" * 16, "cd" * 16
ADA, PASSWORD = "Dr. Ada <b>", "four words in a row"
SAID = {"person": ADA, "password": PASSWORD}
ILL = {"urine pushing": 0, "lumbar pain": 1, "nausea": 1}


@dataclass
class Ward:
    """Pages over two models of one study; the older answers until somebody says otherwise."""

    folder: Path
    browser: Browser

    def act(self, place: str, status: int = 303, **fields: str) -> str:
        """Post the form of a step with Ada's word; where it leads, or what the page says."""
        answer = self.browser.post(place, place, status, **{**SAID, **fields})
        return answer.headers["location"] if status == 303 else answer.text

    def answering(self, asked: str) -> tuple[str, str]:
        """The model that answers, and in which role."""
        head = self.browser.http.post(f"/v1/models/{asked}/predict", json={"record": ILL}).json()
        return head["model"], head["role"]

    def kinds(self) -> list[tuple[str, str]]:
        """Acts on models in the chained log, and whose they were."""
        with Journal.open(self.folder) as journal:
            told = [r for r in journal.audit_records() if str(r["kind"]).startswith("model_")]
        return [(str(record["kind"]), str(record["by"])) for record in told]


@pytest.fixture
def ward(tmp_path: Path) -> Iterator[Ward]:
    folder = folder_with(tmp_path, job=OLD)
    ring = Keyring.open(folder)
    newer = model_of(PARTIES, job=NEW, saved=2)
    shelf_of(folder, ring.identity.public, PARTIES.root).put(newer, ring.identity)
    Stewards.of(folder).with_one(ADA, PASSWORD).save()
    with serving_pages(folder) as url, Browser(url) as browser:
        yield Ward(folder, browser)


def test_a_name_is_given_tried_promoted_and_taken_back(ward: Ward) -> None:
    offered = re.search(r'name="name" value="(study:[^"]+)"', ward.browser.get(f"/house/models/{OLD}/pin"))
    assert offered is not None
    name = offered[1]
    where = ward.act(f"/house/models/{OLD}/pin", name=name)
    assert where == f"/house/names/{name}"
    assert ward.answering(name) == (OLD, "champion")
    assert ward.act(f"{where}/canary", model=NEW, share="99%") == where
    assert "Too few records" in ward.browser.get(where)
    answers = {ward.answering(name)[1] for _ in range(2)}
    assert len(answers) == 1
    assert ward.act(f"{where}/promote") == where
    assert ward.answering(name) == (NEW, "champion")
    assert ward.act(f"{where}/rollback") == where
    assert ward.answering(name) == (OLD, "champion")
    ward.act(f"{where}/canary", model=NEW, share="10%")
    assert Names(ward.folder, lambda: 0).read().names[name].now.share == "1/10"
    assert "End the trial" in ward.browser.get(f"{where}/rollback")
    ward.act(f"{where}/rollback")
    told = ward.browser.get(where)
    for act in ("chosen to answer", "put on trial", "the one on trial answers", "back to the one before"):
        assert act in told
    assert "Dr. Ada &lt;b&gt;" in told
    assert ward.act(f"{where}/unpin") == "/house/names"
    ward.browser.get(where, 404)
    assert ward.answering(name) == (NEW, "only")
    assert ward.kinds() == [
        (f"model_{kind}", ADA)
        for kind in (
            "pinned", "canary", "promoted", "rolled_back", "canary", "trial_ended", "unpinned"
        )
    ]  # fmt: skip


def test_a_step_from_another_state_than_was_shown_is_not_taken(ward: Ward) -> None:
    where = ward.act(f"/house/models/{OLD}/pin", name="ward")
    stale = ward.act(f"{where}/pin", 409, model=NEW, seen="0" * 16)
    assert "not what you were shown" in stale
    assert "Nothing was changed" in ward.browser.get(f"{where}/promote", 409)
    taken = ward.act(f"/house/models/{NEW}/pin", 409, name="ward")
    assert "Nothing was changed" in taken
    assert f'<a href="{where}">' in taken
    assert "no name of a model" in ward.act(f"/house/models/{NEW}/pin", 422, name="0f3c")
    assert "a share between 0 and 1" in ward.act(f"{where}/canary", 422, model=NEW, share="2")
    assert ward.answering("ward") == (OLD, "champion")


def test_a_button_pressed_twice_acts_once(ward: Ward) -> None:
    """Both posts show what was shown; proving a password takes long enough for them to meet."""
    where = ward.act(f"/house/models/{OLD}/pin", name="ward")
    ward.act(f"{where}/pin", model=NEW)
    place = f"{where}/rollback"
    fields = {**SAID, **ward.browser.hidden(place)}
    with ThreadPoolExecutor(2) as both:
        pressed = both.map(lambda _: ward.browser.send(place, fields).status_code, range(2))
        assert sorted(pressed) == [303, 409]
    assert ward.answering("ward") == (OLD, "champion")


@pytest.mark.long
def test_nobody_else_changes_anything(ward: Ward) -> None:
    for place in (f"/house/models/{OLD}/pin", f"/house/models/{OLD}/describe", f"/house/models/{OLD}/remove"):
        told = ward.browser.post(place, place, 403, person=ADA, password="guess", words="kept words").text
        assert "No steward of this hospital has that name" in told
    assert ward.kinds() == []
    other = {"person": ADA, "password": PASSWORD}
    for _ in range(2):
        ward.browser.post(
            f"/house/models/{OLD}/pin", f"/house/models/{OLD}/pin", 403, person=ADA, password="x"
        )
    refused = ward.browser.post(
        "/house/models/" + OLD + "/describe", f"/house/models/{OLD}/describe", 429, **other
    )
    assert "several wrong tries" in refused.text


def test_words_on_the_use_stand_beside_every_answer(ward: Ward) -> None:
    place = f"/house/models/{OLD}/describe"
    assert ward.act(place, words="For <adults>\nonly.") == f"/house/models/{OLD}"
    assert "For &lt;adults&gt; only." in ward.browser.get(f"/house/models/{OLD}")
    assert "For &lt;adults&gt; only." in ward.browser.get(place)
    answer = ward.browser.http.post(f"/v1/models/{OLD}/predict", json={"record": ILL}).json()
    assert answer["intended_use"] == "For <adults> only."


def test_a_model_is_removed_unless_a_name_needs_it(ward: Ward) -> None:
    where = ward.act(f"/house/models/{OLD}/pin", name="ward")
    assert "answers under a name" in ward.browser.get(f"/house/models/{OLD}/remove", 409)
    ward.act(f"{where}/pin", model=NEW)
    assert ward.act(f"/house/models/{OLD}/remove") == "/house/models"
    ward.browser.get(f"/house/models/{OLD}", 404)
    assert OLD not in ward.browser.get("/house/models")
    assert "(no longer here)" in ward.browser.get(where)
    assert ward.kinds()[-1] == ("model_removed", ADA)


def test_a_damaged_model_can_be_removed(ward: Ward) -> None:
    (ward.folder / "models" / f"{NEW}.json").write_text("{}")
    listed = ward.browser.get("/house/models")
    assert "does not verify" in listed
    assert f"/house/models/{NEW}/remove" in listed
    ward.act(f"/house/models/{NEW}/remove")
    assert "does not verify" not in ward.browser.get("/house/models")
