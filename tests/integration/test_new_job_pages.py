"""A new job through the pages, and its live page, by real HTTP over a real federation."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from shared.ids import AgentId
from shared.protocol.consenting import sign_consent
from shared.wire.consent import Consent
from tests.integration.test_new_study_pages import fault_of, text_of
from tests.support.browsing import Browser, browser_of, with_session
from tests.support.clinic import SCHEMA, dealt
from tests.support.cloud_server import CloudUnderTest, running_cloud
from tests.support.http_hospital import hospitals_of, run_together

NAMES = ("h1", "h2", "h3")
LOOSE: dict[str, Any] = {
    "way": "hardened",
    "criterion": "information-gain",
    "min_node": "1",
    "min_child": "1",
    "max_depth": "0",
}
LOOSE |= {"min_hospitals": "3", "invite_hours": "24", "records": "100", "what": "tree"}


@pytest.fixture(scope="module")
def cloud(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CloudUnderTest]:
    """A cloud with a study of test data."""
    with running_cloud(tmp_path_factory.mktemp("cloud"), hospitals=NAMES, bits=512) as running:
        running.study(SCHEMA, tallies=["evaluation", "histogram"], publish_tree=True)
        yield running


@pytest.fixture(scope="module")
def browser(cloud: CloudUnderTest) -> Browser:
    """A coordinator's."""
    return with_session(cloud, "coordinator-all", ["coordinator"], None)


def planned(browser: Browser, go: str = "check", study: str = "study", **fields: Any) -> Any:
    """The form of a new job, filled in as loosely as can be but for these fields."""
    page = browser.get(f"/studies/{study}/jobs/new").text
    key = re.search(r'name="key" value="([0-9a-f]+)"', page)
    assert key is not None, text_of(page)
    form: dict[str, Any] = {**LOOSE, "invited": list(NAMES), "key": key[1], "go": go, **fields}
    return browser.post(f"/studies/{study}/jobs/new", form)


def hidden(page: str) -> dict[str, Any]:
    """The fields that a page carries along."""
    found: dict[str, list[str]] = {}
    for name, value in re.findall(r'type="hidden" name="([a-z_0-9]+)" value="([^"]*)"', page):
        found.setdefault(name, []).append(unescape(value))
    return found


def test_a_job_is_looked_at_and_started_once(cloud: CloudUnderTest, browser: Browser) -> None:
    seen = planned(browser, hold_out="30%")
    assert seen.status_code == 200
    told = text_of(seen.text)
    for part in (
        "Start this job?",
        "Invites h1, h2, h3",
        "Rounds up to",
        "Large powers up to",
        "Each hospital that takes part",
    ):
        assert part in told, told
    carried = hidden(seen.text)
    assert cloud.people.get("/v1/jobs").json()["jobs"] == []
    changed = browser.post("/studies/study/jobs/new", {**carried, "go": "change", "min_node": "7"})
    assert 'value="7"' in changed.text
    first = browser.post("/studies/study/jobs/new", {**carried, "go": "start"})
    again = browser.post("/studies/study/jobs/new", {**carried, "go": "start"})
    assert (first.status_code, again.status_code) == (303, 303)
    assert first.headers["location"] == again.headers["location"]
    (job,) = cloud.people.get("/v1/jobs").json()["jobs"]
    assert first.headers["location"] == f"/jobs/{job['id']}"
    page = browser.get(first.headers["location"]).text
    assert "The job is started" in page
    promised, kept = (re.findall(r"seed ([0-9a-f]{32})", text_of(shown)) for shown in (seen.text, page))
    assert promised[0] == kept[0]
    assert browser.get(f"{first.headers['location']}/cancel").status_code == 200
    assert browser.post(f"{first.headers['location']}/cancel").status_code == 303
    ended = text_of(browser.get(first.headers["location"]).text)
    assert "Start another job" in ended
    assert browser.post(f"{first.headers['location']}/cancel").status_code == 409


@pytest.mark.parametrize(
    ("changes", "field", "says"),
    [
        ({"invited": ["h1", "h2"]}, "invited", "three"),
        ({"invited": ["h1", "h2", "h7"]}, "invited", "h7"),
        ({"min_node": "0"}, "min_node", "1 on"),
        ({"min_child": "few"}, "min_child", "whole number"),
        ({"max_depth": "2000"}, "max_depth", "1024"),
        ({"invite_hours": "9000"}, "invite_hours", "720"),
        ({"min_gain": "much"}, "min_gain", "0.01"),
        (
            {"way": "secret-id3", "compute_0": "h1", "compute_1": "h1", "compute_2": "h2"},
            "compute_0",
            "different",
        ),
        ({"way": "secret-gainratio"}, "max_depth", "height"),
        ({"what": "evaluation", "model": ""}, "what", "job"),
        ({"weight": ["", "few", "", ""]}, "weight", "whole numbers"),
        ({"weight": ["", "2000", "", ""]}, "weight", "1 to 1000"),
        ({"noise_sigma": "much", "noise_untrusted": "1"}, "noise_sigma", "above 0"),
        ({"way": "secret-id3", "noise_sigma": "5", "noise_untrusted": "1"}, "noise_sigma", "no noise"),
        ({"without_one": "yes"}, "without_one", "not consented"),
        ({"what": "ask"}, "what", "stayed shared"),
    ],
)
def test_an_error_stands_beside_its_field(
    cloud: CloudUnderTest, browser: Browser, changes: dict[str, Any], field: str, says: str
) -> None:
    answer = planned(browser, **changes)
    assert answer.status_code == 422, text_of(answer.text)
    if f'id="{field}-fault"' in answer.text:
        assert says in fault_of(answer.text, field)
    else:
        pytest.fail(text_of(answer.text))


def test_weights_noise_and_folds_are_chosen_in_the_form(cloud: CloudUnderTest, browser: Browser) -> None:
    known = {job["id"] for job in cloud.people.get("/v1/jobs").json()["jobs"]}
    seen = planned(
        browser,
        hold_out="folds/3",
        weight=["", "5", "1", ""],
        noise_sigma="4",
        noise_untrusted="2",
    )
    told = text_of(seen.text)
    assert seen.status_code == 200, told
    for part in ("Jobs 3, which are started together", "Start 3 jobs", "95 of 100", "nephritis 5"):
        assert part in told, told
    carried = hidden(seen.text)
    changed = browser.post("/studies/study/jobs/new", {**carried, "go": "change"}).text
    assert re.search(r"<details open><summary>[^<]*pruning", changed)
    assert 'name="weight" type="number" min="1" step="1" placeholder="1" value="5"' in changed
    for _ in range(2):  # the second click starts nothing
        begun = browser.post("/studies/study/jobs/new", {**carried, "go": "start"})
        assert begun.headers["location"] == "/jobs?study=study", text_of(begun.text)
    jobs = [job for job in cloud.people.get("/v1/jobs").json()["jobs"] if job["id"] not in known]
    full = [cloud.people.get(f"/v1/jobs/{job['id']}").json() for job in jobs]
    assert sorted(job["selection"]["first"] for job in full) == [0, 1, 2]
    assert len({job["selection"]["seed"] for job in full}) == 1
    assert {job["noise"]["sigma_squared"] for job in full} == {16}
    with cloud.services.database.write() as connection:
        # Only their ends and trees are wanted here, of which the cloud keeps what every hospital attested.
        for job in jobs:
            of = {"job": job["id"], "tree": "ab" * 32}
            done = 'UPDATE jobs SET state = \'DONE\', roster = \'["h1", "h2", "h3"]\' WHERE id = :job'
            connection.execute(text(done), of)
            connection.execute(text("UPDATE job_members SET attested = :tree WHERE job = :job"), of)
    counted = planned(browser, what="evaluation", model=jobs[0]["id"], every_fold="yes")
    assert "Start 3 jobs" in text_of(counted.text), text_of(counted.text)
    wrong = planned(browser, what="evaluation", model=_whole(cloud), every_fold="yes")
    assert "no folds" in fault_of(wrong.text, "every_fold")


def _whole(cloud: CloudUnderTest) -> str:
    """A finished job that held nothing out."""
    job = cloud.job()
    with cloud.services.database.write() as connection:
        connection.execute(text("UPDATE jobs SET state = 'DONE' WHERE id = :job"), {"job": job})
    return job


def test_steps_of_numbers_are_chosen_in_the_form(cloud: CloudUnderTest, browser: Browser) -> None:
    numbers = {
        "attributes": [
            {"name": "nausea", "values": ["0", "1"], "treat_as": "equality"},
            {
                "name": "temperature",
                "values": [],
                "numeric": {"minimum": "30", "maximum": "45", "decimals": 1},
            },
        ],
        "class": {"name": "sick", "labels": ["no", "yes"]},
    }
    cloud.study(numbers, name="numbers", profiles=["secret-gainratio"])
    form: dict[str, Any] = {"study": "numbers", "way": "secret-gainratio", "max_depth": "3"}
    wrong = planned(browser, **form, grid=["half"])
    assert wrong.status_code == 422
    assert "above 0" in fault_of(wrong.text, "grid")
    begun = planned(browser, go="start", **form, grid=["0.5"], most_records="500")
    assert begun.status_code == 303, text_of(begun.text)
    page = begun.headers["location"]
    manifest = cloud.services.jobs.get(page.rsplit("/", 1)[1]).job.manifest
    assert manifest.secret is not None
    assert [(step.attribute, step.step) for step in manifest.secret.grid] == [(1, "0.5")]
    assert manifest.secret.max_records == 500
    browser.post(f"{page}/cancel")


def test_a_tree_that_stayed_shared_is_asked_in_the_form(cloud: CloudUnderTest, browser: Browser) -> None:
    ways = {"profiles": ["secret-gainratio"], "shared_result": True}
    ordered = {**SCHEMA, "attributes": [{**one, "treat_as": "ordered"} for one in SCHEMA["attributes"]]}
    cloud.study(ordered, name="kept", **ways)
    form: dict[str, Any] = {"study": "kept", "way": "secret-gainratio", "max_depth": "3"}
    assert 'id="asked"' not in browser.get("/studies/kept/jobs/new").text
    grown = planned(browser, go="start", **form, result="shared").headers["location"].rsplit("/", 1)[1]
    with cloud.services.database.write() as connection:
        # Only its end is wanted here; hospitals work such trees out in tests of the modes.
        connection.execute(text("UPDATE jobs SET state = 'DONE' WHERE id = :job"), {"job": grown})
    assert 'id="asked"' in browser.get("/studies/kept/jobs/new").text
    wrong = planned(browser, **form, what="ask", asked="0" * 32)
    assert "stayed shared" in fault_of(wrong.text, "asked")
    begun = planned(browser, go="start", **form, what="ask", asked=grown)
    assert begun.status_code == 303, text_of(begun.text)
    manifest = cloud.services.jobs.get(begun.headers["location"].rsplit("/", 1)[1]).job.manifest
    assert manifest.secret is not None
    assert (manifest.secret.purpose, manifest.secret.model, manifest.max_depth) == ("predict", grown, 3)
    browser.post(f"{begun.headers['location']}/cancel")


@pytest.mark.long
def test_a_job_without_each_hospital_is_started_once_all_have_consented(tmp_path: Path) -> None:
    four = (*NAMES, "h4")
    with running_cloud(tmp_path / "cloud", hospitals=four, bits=512) as cloud:
        cloud.study(SCHEMA)
        browser = with_session(cloud, "cora", ["coordinator"], None)
        document = cloud.services.studies.get("study").document
        assert document is not None
        seen = planned(browser, invited=list(four), without_one="yes")
        assert "h1, h2, h3, h4" in fault_of(seen.text, "without_one")
        for name in four:
            given = Consent(
                hospital=name, with_sha256=document.sha256, without_sha256=document.sha256, time=1
            )
            signed = sign_consent(
                given, cloud.parties.identities[AgentId(name)], cloud.parties.certificates[name]
            )
            cloud.services.governance.take_consent("study", signed)
        seen = planned(browser, invited=list(four), without_one="yes")
        assert "each job all that were ticked but one" in text_of(seen.text), text_of(seen.text)
        begun = browser.post("/studies/study/jobs/new", {**hidden(seen.text), "go": "start"})
        assert begun.headers["location"] == "/jobs?study=study", text_of(begun.text)
        stored = cloud.services.jobs.page(study="study", state=None, before=None, limit=10)
        rosters = {tuple(one.job.manifest.invited) for one in stored}
        assert len(stored) == 4
        assert rosters == {tuple(name for name in four if name != left_out) for left_out in four}


def test_what_keeps_a_job_from_starting_is_told(cloud: CloudUnderTest, browser: Browser) -> None:
    cloud.study(SCHEMA, name="strict", synthetic=False, start="approved", min_node=20)
    told = text_of(browser.get("/studies/strict/jobs/new").text)
    assert "No job can start yet: at least 3 hospitals are needed, and 0 can be invited now" in told
    assert "its steward approves the study at the hospital" in told
    answer = planned(browser, study="strict", min_node="20", min_child="5", max_depth="3")
    assert answer.status_code == 422
    assert "has not approved yet" in text_of(answer.text)
    cloud.study(SCHEMA, name="floors", synthetic=False, min_node=20)
    answer = planned(browser, study="floors", min_node="11", min_child="5", max_depth="3")
    assert "at least 20" in fault_of(answer.text, "min_node")
    cloud.people.post("/v1/studies/floors/close")
    assert "takes no more jobs" in text_of(browser.get("/studies/floors/jobs/new").text)
    answer = planned(browser, study="floors", min_node="20", min_child="5", max_depth="3")
    assert "was closed" in text_of(answer.text)


def test_the_live_page_follows_a_job_to_its_end(cloud: CloudUnderTest, browser: Browser) -> None:
    with hospitals_of(cloud, dealt(*NAMES)) as hospitals:
        job = planned(browser, go="start").headers["location"]
        before = browser.get(job).text
        assert "Waits for h1, h2, h3." in text_of(before)
        assert f'sse-connect="{job}/live?after=' in before
        with browser.client.stream("GET", f"{job}/live", headers={"accept": "text/event-stream"}) as stream:
            assert stream.headers["content-type"].startswith("text/event-stream")
            lines = stream.iter_lines()
            first = next(line for line in lines if line.startswith("id: "))
            run_together(hospitals)
            newer = next(line for line in lines if line.startswith("id: "))
            assert int(newer.removeprefix("id: ")) > int(first.removeprefix("id: "))
        after = newer.removeprefix("id: ")
        with browser.client.stream(
            "GET", f"{job}/live", headers={"accept": "text/event-stream", "last-event-id": first[4:]}
        ) as stream:
            resumed = next(line for line in stream.iter_lines() if line.startswith("id: "))
            assert int(resumed[4:]) >= int(after)
    end = browser.get(f"{job}/now")
    assert end.status_code == 286
    told = text_of(end.text)
    parts = ("finished", "The tree is grown.", "Look at the result", "h1 confirmed the result.")
    for part in (*parts, "Encrypted counts from hospitals"):
        assert part in told, told
    assert "sse-connect" not in browser.get(job).text


def test_who_may_look_and_who_may_start(cloud: CloudUnderTest, browser: Browser) -> None:
    job = planned(browser, go="start").headers["location"]
    for role in ("analyst", "operator", "auditor"):
        other = with_session(cloud, role, [role], None)
        page = other.get(job)
        assert page.status_code == 200
        assert "Cancel this job" not in page.text
        assert other.get(f"{job}/cancel").status_code == 403
        assert other.get("/studies/study/jobs/new").status_code == 403
        assert other.get(f"{job}/now").status_code == 200
    stranger = with_session(cloud, "stranger", ["steward"], "h9")
    for path in (job, f"{job}/now", f"{job}/live"):
        assert stranger.get(path, accept="text/html").status_code == 404
    nobody = browser_of(cloud)
    assert nobody.get(f"{job}/live", accept="text/event-stream").status_code == 401
    assert nobody.get(job, accept="text/html").headers["location"].startswith("/sign-in")
    nobody.client.close()
    browser.post(f"{job}/cancel")
