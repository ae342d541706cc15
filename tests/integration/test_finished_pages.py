"""The pages of a finished job: what they say is what the API says, and no more; the files are the exports'."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from shared.export.document import read_document
from shared.protocol.audit_check import check
from tests.support.browsing import Browser, with_session
from tests.support.clinic import SCHEMA, dealt
from tests.support.cloud_server import CloudUnderTest, running_cloud
from tests.support.http_hospital import hospitals_of, run_together

NAMES = ("h1", "h2", "h3")
HOSTILE = "<script>alert('q')</script> & \"why\"?"


@dataclass
class World:
    """Two finished jobs of a study that publishes, a finished one of another study, and one that nobody has joined."""

    cloud: CloudUnderTest
    first: str
    second: str
    private: str
    waiting: str
    analyst: Browser
    auditor: Browser
    coordinator: Browser


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with running_cloud(tmp_path_factory.mktemp("finished"), bits=512, hospitals=NAMES) as cloud:
        cloud.study(SCHEMA, name="open", publish_tree=True, question=HOSTILE, tallies=["evaluation"])
        cloud.study(SCHEMA)
        done = []
        for study, changes in (("open", {}), ("open", {"max_depth": 1}), ("study", {"max_depth": 1})):
            with hospitals_of(cloud, dealt(*NAMES)) as hospitals:
                done.append(cloud.job(study, invited=list(NAMES), **changes))
                run_together(hospitals)
        waiting = cloud.job("open", invited=list(NAMES))
        analyst, auditor, coordinator = (
            with_session(cloud, role, [role], None) for role in ("analyst", "auditor", "coordinator")
        )
        yield World(cloud, done[0], done[1], done[2], waiting, analyst, auditor, coordinator)
        for person in (analyst, auditor, coordinator):
            person.client.close()


def told(browser: Browser, path: str, status: int = 200) -> str:
    """A page's text without its elements."""
    answer = browser.get(path)
    assert answer.status_code == status, answer.text
    assert "<script>alert" not in answer.text
    assert " style=" not in answer.text
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", answer.text))


def test_the_result_page_says_who_holds_what_and_where_it_is(world: World) -> None:
    answer = world.cloud.people.get(f"/v1/jobs/{world.first}/result").json()
    page = told(world.analyst, f"/jobs/{world.first}/result")
    for text in (
        "All 3 hospitals that took part hold the same result",
        answer["tree_sha256"],
        "See the tree",
        *NAMES,
    ):
        assert text in page
    assert "Your role does not read trees. These do: steward, analyst." in told(
        world.coordinator, f"/jobs/{world.first}/result"
    )
    private = told(world.analyst, f"/jobs/{world.private}/result")
    assert "The study keeps its tree at the hospitals" in private
    assert f"privet agent export DIR {world.private}" in private
    assert "See the tree" not in private


@pytest.mark.long
def test_tabs_lead_only_to_what_opens(world: World) -> None:
    for browser in (world.analyst, world.auditor, world.coordinator):
        for job in (world.first, world.private):
            tabs = re.findall(rf'<li><a href="(/jobs/{job}/[a-z]+)"', browser.get(f"/jobs/{job}/result").text)
            assert f"/jobs/{job}/ledger" in tabs
            assert {browser.get(path).status_code for path in tabs} == {200}


@pytest.mark.parametrize("name", ["tree", "rules", "importance", "downloads", "downloads/json", "compare"])
def test_a_tree_that_is_not_published_is_on_no_page(world: World, name: str) -> None:
    assert "does not publish its tree" in told(world.analyst, f"/jobs/{world.private}/{name}", 403)
    assert world.coordinator.get(f"/jobs/{world.first}/{name}").status_code == 403
    told(world.analyst, f"/jobs/{world.waiting}/{name}", 404)


def test_the_tree_page_draws_the_published_tree_without_counts(world: World) -> None:
    text = world.analyst.get(f"/jobs/{world.first}/tree").text
    found = re.search(r"data-tree-document>(.+?)</script>", text, re.DOTALL)
    assert found is not None
    document = json.loads(found[1])
    published = world.cloud.people.get(f"/v1/jobs/{world.first}/tree").json()
    assert document["tree_sha256"] == published["tree_sha256"]
    assert document["classes"] == SCHEMA["class"]["labels"]
    assert {"counts", "share", "records"}.isdisjoint({name for node in document["nodes"] for name in node})


def test_a_rule_leads_to_its_path_in_the_tree(world: World) -> None:
    rules = world.analyst.get(f"/jobs/{world.first}/rules").text
    paths = re.findall(rf'href="(/jobs/{world.first}/tree\?light=\d+)"', rules)
    assert len(paths) == 6
    page = world.analyst.get(paths[0]).text
    assert [int(n) for n in re.findall(r'<tr data-row="(\d+)" class="lit">', page)] == [0, 1, 3]
    assert 'class="lit"' not in world.analyst.get(f"/jobs/{world.first}/tree?light=99").text


def test_rules_and_attributes_are_those_of_the_tree(world: World) -> None:
    rules = told(world.analyst, f"/jobs/{world.first}/rules")
    assert "6 rules" in rules
    assert "lumbar pain = 0 and urine pushing = 1 inflammation of the bladder" in rules
    attributes = told(world.analyst, f"/jobs/{world.first}/importance")
    assert "lumbar pain 6&nbsp;(100&nbsp;%) 1 1" in attributes
    assert "nausea 4&nbsp;(67&nbsp;%) 2 3" in attributes
    assert "never asks: 2" in attributes


def test_every_file_is_an_attachment_that_names_the_tree(world: World, tmp_path: Path) -> None:
    sha256 = world.cloud.people.get(f"/v1/jobs/{world.first}/tree").json()["tree_sha256"]
    page = world.analyst.get(f"/jobs/{world.first}/downloads").text
    forms = re.findall(rf'href="(/jobs/{world.first}/downloads/[a-z]+)"', page)
    assert len(forms) == 8
    for path in forms:
        answer = world.analyst.get(path)
        assert answer.status_code == 200, path
        assert answer.headers["content-disposition"].startswith(f'attachment; filename="tree-{sha256[:12]}.')
        if not path.endswith("onnx"):
            assert sha256 in answer.text, path
    document = world.analyst.get(f"/jobs/{world.first}/downloads/json").json()
    assert read_document(document).tree_sha256 == sha256
    assert (document["question"], document["hospitals"]) == (HOSTILE, list(NAMES))
    assert world.analyst.get(f"/jobs/{world.first}/downloads/exe").status_code == 404


def test_two_trees_part_where_the_smaller_one_ends(world: World) -> None:
    page = told(world.analyst, f"/jobs/{world.first}/compare?other={world.second}")
    assert "The trees agree in 1 places and part in 2" in page
    assert (
        "lumbar pain = 0 asks urine pushing (0 / 1) 2 places below answers inflammation of the bladder"
        in page
    )
    assert "Both trees are the same" in told(
        world.analyst, f"/jobs/{world.first}/compare?other={world.first}"
    )
    told(world.analyst, f"/jobs/{world.first}/compare?other={world.private}", 404)
    told(world.analyst, f"/jobs/{world.first}/compare?other={'0' * 32}", 404)


def test_the_ledger_page_has_every_line_of_the_ledger(world: World) -> None:
    ledger = world.cloud.people.get(f"/v1/jobs/{world.first}/ledger").json()
    page = world.analyst.get(f"/jobs/{world.first}/ledger").text
    lines = len(ledger["fact"]["entries"]) + len(ledger["forecast"]["entries"])
    assert page.count('<tr><th scope="row">') == lines
    assert world.analyst.get(f"/jobs/{world.first}/ledger/json").json() == ledger
    written = world.analyst.get(f"/jobs/{world.first}/ledger/page")
    assert written.headers["content-disposition"].startswith("attachment")
    assert "Who learned what" in told(world.analyst, f"/jobs/{world.waiting}/ledger")


def test_the_log_is_checked_when_it_is_looked_at(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    page = told(world.auditor, f"/jobs/{world.first}/audit")
    assert "Checked just now: all 33 records are whole and in order" in page
    raw = world.auditor.get(f"/jobs/{world.first}/audit/file").content
    log, findings = check("log", raw)
    assert (findings, log is not None and len(log.shown)) == ([], 33)
    lines = raw.split(b"\n")
    monkeypatch.setattr(
        type(world.cloud.services.audits), "of_job", lambda *_: [b"\n".join(lines[:3] + lines[4:])]
    )
    broken = told(world.auditor, f"/jobs/{world.first}/audit")
    assert "Checked just now, and" in broken
    assert "all 33 records are whole" not in broken


def test_who_may_read_results_only_sees_nothing_of_the_job(world: World) -> None:
    person = with_session(world.cloud, "narrow", ["results:read", "ledger:read"], None)
    for name in ("result", "evaluation", "ledger"):
        answer = person.get(f"/jobs/{world.first}/{name}")
        assert (answer.status_code, "why" in answer.text) == (403, False)
    assert person.get(f"/jobs/{world.first}/ledger/json").status_code == 200
    person.client.close()


def test_how_good_it_is_is_not_known_here(world: World) -> None:
    page = told(world.analyst, f"/jobs/{world.second}/evaluation")
    assert "None has been made yet" in page
    assert f"--evaluate {world.second}" in page
    told(world.analyst, f"/jobs/{world.waiting}/result", 404)


def test_the_button_of_an_evaluation_leads_to_its_form_with_this_tree(world: World) -> None:
    page = world.coordinator.get(f"/jobs/{world.first}/evaluation").text
    link = f"/studies/open/jobs/new?evaluate={world.first}"
    assert f'href="{link}"' in page
    form = world.coordinator.get(link).text
    ticked = [box for box in re.findall(r"<input[^>]*>", form) if 'name="what"' in box and " checked" in box]
    assert [re.findall(r'value="([^"]*)"', box) for box in ticked] == [["evaluation"]]
    assert f'<option value="{world.first}" selected>' in form


def test_a_study_that_allows_no_evaluation_says_so_and_offers_none(world: World) -> None:
    page = world.coordinator.get(f"/jobs/{world.private}/evaluation").text
    assert "does not let its hospitals judge trees together" in page
    assert "evaluate=" not in page
    assert "--evaluate" not in page
    assert f"privet agent evaluate DIR {world.private}" in page


def test_jobs_that_held_records_against_the_tree_are_listed(world: World) -> None:
    made = world.cloud.job("open", tally={"kind": "evaluation", "model": world.first})
    page = world.analyst.get(f"/jobs/{world.first}/evaluation").text
    assert f'href="/jobs/{made}"' in page
    assert f'href="/jobs/{world.second}"' not in page
    told(world.analyst, f"/jobs/{made}/evaluation", 404)
