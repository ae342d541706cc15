"""The hospital's pages over a real federation: who is let in, what they show of a real job, what a steward signs."""

from __future__ import annotations

import hashlib
import html
import json
import re
import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import httpx
import pytest

from hospital_agent.commands.predicting import open_shelf
from hospital_agent.commands.serving_desk import desk_in
from hospital_agent.daemon.casework import manifest_of
from hospital_agent.journal import Answer, JobEntry, JobStatus, Journal, Tally, studies
from hospital_agent.journal.contact import note_silence
from hospital_agent.models.windows import begin_of, week_of
from hospital_agent.pages import jobs, messages
from hospital_agent.pages.leaving import steps_of
from hospital_agent.people.stewards import Stewards
from hospital_agent.settings import load_settings
from shared.ids import CLOUD, AgentId
from shared.protocol.envelopes import Address, Chain, seal
from shared.web.rendering import HEADERS, asset
from shared.wire.envelope import MessageType
from shared.wire.rounds import JobOffer
from tests.support.asking import STUDY, asked_job
from tests.support.clinic import CLASSES, NAMES, SCHEMA, dealt
from tests.support.federation import LocalFederation, local_federation
from tests.support.house import Browser, csrf_of, serving_pages
from tests.support.studies import document

THREE = ("h1", "h2", "h3")
TOKEN = "a token of more than thirty-two characters"
HOSTILE = "\"><script>alert(1)</script>'&{{ 7 * 7 }}"
ADA, PASSWORD = "Dr. Ada <b>", "four words in a row"
CAME_OR_LEFT = ("offer_came", "sent", "received", "study_shown")
PATIENT = {"nausea": "1", "lumbar pain": "1", "urine pushing": "1"}


@dataclass
class Open:
    """A federation with one job that is over, and the pages of one of its hospitals."""

    federation: LocalFederation
    folder: Path
    browser: Browser
    job: str
    study: str


def hostile_schema() -> dict[str, Any]:
    """The clinic's, with a label that would be a script where it was not escaped."""
    labels = [HOSTILE if label == "both" else label for label in CLASSES]
    return {**SCHEMA, "class": {"name": "diagnosis", "labels": labels}}


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Open]:
    root = tmp_path_factory.mktemp("house")
    with local_federation(root, THREE) as federation:
        for name, path in files(root).items():
            federation.hospitals[name].configure(path)
        study = federation.cloud.study(hostile_schema(), question=HOSTILE, disclosure="counts")
        job = federation.cloud.job(study, invited=list(THREE))
        assert {entry.status for entry in federation.wait(job, THREE).values()} == {JobStatus.COMPLETE}
        folder = federation.hospitals["h1"].folder
        Stewards.of(folder).with_one(ADA, PASSWORD).save()
        with serving_pages(folder) as url, Browser(url) as browser:
            yield Open(federation, folder, browser, job, study)


def files(root: Path) -> dict[str, Path]:
    paths = {}
    for name, rows in dealt(*THREE).items():
        labels = [HOSTILE if label == "both" else label for label in CLASSES]
        quoted = ['"' + label.replace('"', '""') + '"' for label in labels]
        lines = [
            ",".join([*NAMES, "diagnosis"]),
            *(",".join([*map(str, r[:-1]), quoted[r[-1]]]) for r in rows),
        ]
        paths[name] = root / f"{name}.csv"
        paths[name].write_text("\n".join(lines) + "\n")
    return paths


def pages_of(opened: Open) -> list[str]:
    job, study = opened.job, opened.study
    return [
        "/",
        "/house/studies",
        f"/house/studies/{study}",
        f"/house/studies/{study}/approve",
        "/house/jobs",
        f"/house/jobs/{job}",
        "/house/messages",
        "/house/models",
        f"/house/models/{job}",
        f"/house/models/{job}/try",
        "/house/records",
        "/house/policy",
    ]


def test_every_page_is_whole_and_shows_no_label_as_a_script(opened: Open) -> None:
    for path in pages_of(opened):
        answer = opened.browser.http.get(path)
        assert answer.status_code == 200, path
        assert {name: answer.headers[name] for name in HEADERS} == HEADERS, path
        assert answer.text.count("<h1>") == 1, path
        assert "alert(1)</script>" not in answer.text, path
        assert "49" not in re.sub(
            r"[0-9a-f]{12,}|\d\d:\d\d", "", answer.text.partition("<h1>")[2].partition("</h1>")[0]
        )


def test_a_tree_that_is_not_here_is_told_as_such(opened: Open) -> None:
    for path in ("/house/models/none", "/house/models/none/try", "/house/models/none/files/card"):
        answer = opened.browser.http.get(path)
        assert (answer.status_code, "no model has that id" in answer.text) == (404, True), path


def test_what_left_is_told_round_by_round_and_without_counts(opened: Open) -> None:
    told = opened.browser.get(f"/house/jobs/{opened.job}")
    with Journal.open(opened.folder) as journal:
        records = [r for r in journal.audit_records() if r.get("job") == opened.job]
        manifest = manifest_of(journal.find(opened.job))
    sent = sum(record["kind"] == "sent" for record in records)
    assert sent >= 4
    assert told.count(">left</span>") == sent
    asked = next(record["slots"] for record in records if record.get("type") == "round_open")
    assert f"The {asked} counts that were asked for, encrypted and masked." in told
    assert all(record["sha256"][:12] in told for record in records if record["kind"] == "sent")
    rounds = {str(record["round"] + 1) for record in records if record.get("type") == "round_open"}
    assert {step.place for step in steps_of(records, manifest)} == rounds | {""}


def test_every_message_is_listed_by_itself_with_its_size(
    opened: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(messages, "SHOWN", 5)
    with Journal.open(opened.folder) as journal:
        told = [r for r in journal.audit_records() if r["kind"] in CAME_OR_LEFT]
    assert all(record["bytes"] > 100 for record in told)
    seen: list[tuple[str, str]] = []
    place: str | None = "/house/messages"
    while place is not None:
        shown = opened.browser.get(place)
        seen += re.findall(
            r'class="figure">([\d.]+ \w+)</td><td><span class="hash" title="([0-9a-f]{64})"', shown
        )
        older = re.search(r'href="(/house/messages\?before=\d+)">Older', shown)
        place = None if older is None else older[1]
    assert [sha256 for _, sha256 in seen] == [record["sha256"] for record in reversed(told)]
    sizes = {
        record["sha256"]: f"{record['bytes'] / 1000:.1f} kB" for record in told if record["bytes"] >= 1000
    }
    assert {sha256: size for size, sha256 in seen if sha256 in sizes} == sizes
    monkeypatch.setattr(messages, "SHOWN", 50)
    left = opened.browser.get(f"/house/messages?way=left&job={opened.job}")
    assert "came in</span>" not in left
    assert "Nobody can read ours alone" in left


def test_a_log_that_was_altered_is_told_on_pages(opened: Open) -> None:
    opened.browser.get("/house/messages")
    with Journal.open(opened.folder) as journal:
        number, text, _ = next(row for row in journal.audit_rows() if '"contribution"' in row[1])
        alter = "UPDATE audit SET record = ? WHERE n = ?"
        journal.connection.execute(alter, (text.replace('"bytes":', '"bytes":1'), number))
        try:
            for place in (f"/house/messages?job={opened.job}", f"/house/jobs/{opened.job}"):
                assert f"the audit chain is broken at record {number}" in opened.browser.get(place, 422)
        finally:
            journal.connection.execute(alter, (text, number))


def test_older_jobs_are_a_page_further(opened: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "from=" not in opened.browser.get("/house/jobs")
    assert 'href="/house/jobs">Newer jobs' in opened.browser.get("/house/jobs?from=50")
    monkeypatch.setattr(jobs, "SHOWN_JOBS", 1)
    with Journal.open(opened.folder) as journal:
        newer = replace(journal.find(opened.job), job="ab" * 16, created=2e9)
        journal.put_job(newer)
        try:
            first, second = opened.browser.get("/house/jobs"), opened.browser.get("/house/jobs?from=1")
        finally:
            journal.forget(newer.job)
    assert 'href="?from=1">Older jobs' in first
    assert f"/house/jobs/{newer.job}" in first
    assert 'href="?from=0">Newer jobs' in second
    assert f"/house/jobs/{opened.job}" in second


def test_the_ledger_is_the_commands(opened: Open) -> None:
    answer = opened.browser.http.get(f"/house/jobs/{opened.job}/files/ledger.json")
    document = json.loads(answer.text)
    assert answer.headers["content-disposition"].startswith("attachment")
    assert document["job"] == opened.job
    assert {entry["party"] for entry in document["fact"]["entries"]} >= {"cloud", "hospital"}


def test_a_patient_is_answered_as_by_the_api(opened: Open) -> None:
    form = f"/house/models/{opened.job}/try"
    fields = {f"a{NAMES.index(name)}": value for name, value in PATIENT.items()}
    told = opened.browser.post(form, form, 200, **fields).text
    asked = {"model": opened.job, "record": PATIENT}
    answer = opened.browser.http.post("/predict", json=asked).json()["predictions"][0]
    shown = re.search(r'id="answer-heading">.*?<strong>(.*?)</strong>', told)
    assert shown is not None
    assert html.unescape(shown[1]) == answer["class"]
    assert f"{100 * answer['probability']:.0f} %" in told
    lit = re.search(r'data-tree-lit="([\d ]*)"', told)
    assert lit is not None
    assert len(lit[1].split()) == len(answer["steps"]) + 1


def test_a_patient_of_whom_nothing_is_known_is_not_covered(opened: Open) -> None:
    form = f"/house/models/{opened.job}/try"
    told = opened.browser.post(form, form, 200).text
    assert "Not covered." in told
    assert "Not known:" in told


def test_nothing_that_was_typed_of_a_patient_is_kept(opened: Open) -> None:
    typed = "zq-71.2345"
    with serving_pages(opened.folder) as url, Browser(url) as browser:
        form = f"/house/models/{opened.job}/try"
        answer = browser.post(form, form, 200, **{f"a{number}": typed for number in range(len(NAMES))})
        assert "The training did not know this value" in answer.text
        assert typed not in str(answer.url)
        assert answer.headers["cache-control"] == "no-store"
    kept = [
        path for path in opened.folder.rglob("*") if path.is_file() and typed.encode() in path.read_bytes()
    ]
    assert kept == []


def test_a_cloud_that_is_away_is_told_and_models_answer_all_the_same(opened: Open) -> None:
    with Journal.open(opened.folder) as journal:
        note_silence(journal, 1_796_000_000)
    try:
        assert "not connected" in opened.browser.get("/")
        form = f"/house/models/{opened.job}/try"
        assert "Answer for diagnosis" in opened.browser.post(form, form, 200, a0="1").text
    finally:
        with Journal.open(opened.folder) as journal:
            note_silence(journal, None)


def test_pages_answer_while_the_daemon_writes(opened: Open) -> None:
    with Journal.open(opened.folder) as busy, ThreadPoolExecutor(1) as pool, busy.transaction():
        asked = pool.submit(opened.browser.get, f"/house/jobs/{opened.job}")
        assert "What left this house" in asked.result(10)


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Host": "evil.example"}, 403),
        ({"Host": "evil.example:8711"}, 403),
        ({"Host": "localhost"}, 200),
        ({"Host": "[::1]:9"}, 200),
    ],
)
def test_only_this_machine_is_answered(opened: Open, headers: dict[str, str], status: int) -> None:
    assert opened.browser.http.get("/", headers=headers).status_code == status


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:1"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Sec-Fetch-Site": "none"},
    ],
)
def test_a_form_of_another_site_changes_nothing(opened: Open, headers: dict[str, str]) -> None:
    token = csrf_of(opened.browser.get("/house/records"))
    answer = opened.browser.http.post("/house/records", data={"csrf": token}, headers=headers)
    assert answer.status_code == 403
    assert "page of another site" in answer.text


@pytest.mark.parametrize("given", [None, "", "0" * 64])
def test_a_form_that_no_page_gave_changes_nothing(opened: Open, given: str | None) -> None:
    data = {} if given is None else {"csrf": given}
    answer = opened.browser.http.post("/house/records", data=data)
    assert answer.status_code == 403
    assert "has grown old" in answer.text


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        ({"content": b"a=1", "headers": {"content-type": "multipart/form-data"}}, 400),
        ({"data": {f"a{number}": "1" for number in range(2100)}}, 400),
        ({"content": b"x" * (2**20 + 1)}, 413),
        ({"content": iter([b"csrf=1"])}, 413),
        ({"files": {"csrf": b"1"}}, 400),
    ],
    ids=["no boundary", "many fields", "long", "of no stated length", "a file"],
)
def test_a_form_that_cannot_be_read_is_answered_by_a_page(
    opened: Open, sent: dict[str, Any], status: int
) -> None:
    answer = opened.browser.http.post("/house/records", **sent)
    assert answer.status_code == status
    assert answer.text.count("<h1>") == 1


def test_a_form_of_another_browser_changes_nothing(opened: Open) -> None:
    with Browser(opened.browser.url) as other:
        token = csrf_of(other.get("/house/records"))
    opened.browser.get("/house/records")
    assert opened.browser.http.post("/house/records", data={"csrf": token}).status_code == 403


def test_who_has_asked_shared_trees_is_told_by_hospital(opened: Open) -> None:
    path = f"/house/studies/{opened.study}"
    assert "Who has asked trees" not in opened.browser.get(path)
    with Journal.open(opened.folder) as journal, journal.transaction():
        for number, records in enumerate((3, 40)):
            row = (f"{number:032x}", opened.study, "h3", f"{number:032x}", records, 1_796_000_000)
            journal.connection.execute("INSERT INTO asked_questions VALUES (?, ?, ?, ?, ?, ?)", row)
    told = re.sub(r"<[^>]+>", " ", opened.browser.get(path).partition("Who has asked trees")[2])
    assert re.search(r"h3\s+2\s+43\s+\d", told)


def test_an_offer_on_shares_says_who_asks_where_it_is_computed_and_who_is_told(opened: Open) -> None:
    parties = opened.federation.cloud.parties
    manifest = asked_job(parties, document(parties, **STUDY), "h2", records=3)
    mh = hashlib.sha256(manifest.canonical()).hexdigest()
    address = Address(MessageType.JOB_OFFER, manifest.job, mh, 0, 0, CLOUD, AgentId("h1"))
    offer = seal(parties.identities[CLOUD], address, Chain(), JobOffer(manifest=manifest))
    entry = JobEntry(
        job=manifest.job,
        mh=mh,
        study=manifest.study,
        question=manifest.question,
        offer=offer.raw,
        status=JobStatus.DECLINED,
        phase="declined",
        tally=Tally(),
    )
    with Journal.open(opened.folder) as journal, journal.transaction():
        journal.put_job(entry)
    told = opened.browser.get(f"/house/jobs/{manifest.job}")
    assert "h2 asks, by its own signed wish, the shared tree of job abababab about 3 of its records." in told
    assert "It computes on shares of records at h1, h2, h3." in told
    assert "The result is told to h2 alone." in told


def test_a_models_page_tells_week_by_week_whether_patients_are_alike(opened: Open, tmp_path: Path) -> None:
    folder = tmp_path / "agent"
    shutil.copytree(opened.folder, folder)
    desk = desk_in(folder, open_shelf(folder), load_settings(folder).local)
    monday = begin_of(week_of(1_796_000_000))
    for moment in (monday - 5, monday + 5):
        desk.clock = lambda moment=moment: float(moment)
        desk.ask(opened.job, [PATIENT] * 30, caller="ward")
    assert desk.counters is not None
    desk.counters.flush()
    with serving_pages(folder) as url, Browser(url) as browser:
        told = re.sub(
            r"<[^>]+>", " ", browser.get(f"/house/models/{opened.job}").partition("Week by week")[2]
        )
    assert re.search(r"2026-11-30 00:00 UTC\s+30\s+too few records", told), told[:300]


def test_pages_of_two_hospitals_on_one_machine_share_a_browser(opened: Open) -> None:
    other = opened.federation.hospitals["h2"].folder
    with (
        serving_pages(opened.folder, TOKEN) as url,
        serving_pages(other, TOKEN) as second,
        httpx.Client(follow_redirects=True) as browser,
    ):
        for place in (url, second):
            form = browser.get(f"{place}/house/sign-in").text
            browser.post(f"{place}/house/sign-in", data={"csrf": csrf_of(form), "token": TOKEN})
        for place, own in ((url, "h1"), (second, "h2"), (url, "h1")):
            shown = browser.get(f"{place}/house/jobs")
            assert (shown.status_code, shown.url.path) == (200, "/house/jobs")
            assert own in shown.text
        assert len({cookie.name for cookie in browser.cookies.jar}) == 2


def test_behind_a_proxy_with_tls_the_cookie_is_of_this_host_alone(opened: Open) -> None:
    with serving_pages(opened.folder, TOKEN) as url:
        answer = httpx.get(f"{url}/house/sign-in", headers={"X-Forwarded-Proto": "https"})
        name, *rest = answer.headers["set-cookie"].split("; ")
        assert name.startswith("__Host-privet_house_")
        assert {"Secure", "Path=/", "HttpOnly", "SameSite=strict"} == set(rest)


def test_with_a_token_a_browser_signs_in_once_and_out_again(opened: Open) -> None:
    with serving_pages(opened.folder, TOKEN) as url, Browser(url) as browser:
        asked = browser.http.get("/house/jobs")
        assert (asked.status_code, asked.headers["location"]) == (303, "/house/sign-in?next=%2Fhouse%2Fjobs")
        assert browser.http.get("/", headers={"Authorization": f"Bearer {TOKEN}"}).status_code == 303
        assert browser.http.get("/assets/privet.css").headers["cache-control"] == "no-cache"
        assert "immutable" in browser.http.get(asset("privet.css")).headers["cache-control"]
        form = asked.headers["location"]
        (name,) = browser.http.cookies
        before = browser.http.cookies[name]
        browser.post("/house/sign-in", form, 401, token="wrong")
        signed = browser.post("/house/sign-in", form, token=TOKEN)
        assert signed.headers["location"] == "/house/jobs"
        assert {"HttpOnly", "SameSite=strict"} <= set(signed.headers["set-cookie"].split("; "))
        assert browser.http.cookies[name] != before
        assert "Jobs" in browser.get("/house/jobs")
        assert httpx.get(f"{url}/status", cookies=dict(browser.http.cookies)).status_code == 401
        browser.post("/house/sign-out", "/house/jobs")
        assert browser.http.get("/house/jobs").status_code == 303


def test_a_link_of_another_site_ends_no_session(opened: Open) -> None:
    with serving_pages(opened.folder, TOKEN) as url, Browser(url) as browser:
        browser.post("/house/sign-in", "/house/sign-in", token=TOKEN)
        led = httpx.get(f"{url}/house/jobs?x=1", headers={"Sec-Fetch-Site": "cross-site"})
        assert led.status_code == 200
        assert 'content="0; url=/house/jobs?x=1"' in led.text
        assert "set-cookie" not in led.headers
        assert opened.job not in led.text
        assert "Jobs" in browser.get("/house/jobs")


def test_a_wrong_token_is_not_guessed_on(opened: Open) -> None:
    with serving_pages(opened.folder, TOKEN) as url, Browser(url) as browser:
        for _ in range(5):
            browser.post("/house/sign-in", "/house/sign-in", 401, token="guess")
        browser.post("/house/sign-in", "/house/sign-in", 429, token=TOKEN)


def test_a_steward_declines_approves_and_withdraws_and_the_agent_tells_the_cloud(opened: Open) -> None:
    study = opened.study
    page = f"/house/studies/{study}"

    def say(word: str, **fields: str) -> None:
        form = f"{page}/{word}"
        opened.browser.post(form, form, person=ADA, password=PASSWORD, **fields)

    def arrived(answer: str) -> bool:
        shown = opened.federation.cloud.people.get(f"/v1/studies/{study}").json()
        return next(one["answer"] for one in shown["answers"] if one["hospital"] == "h1") == answer

    form = f"{page}/decline"
    wrong = opened.browser.post(form, form, 403, person=ADA, password="x", reason="because").text
    assert "because" in wrong
    assert "No steward of this hospital has that name" in wrong
    say("decline", code="legal", reason="no basis <yet>")
    opened.federation.until(lambda: arrived("declined"))
    assert "no basis &lt;yet&gt;" in opened.browser.get(page)
    say("approve")
    opened.federation.until(lambda: arrived("approved"))
    say("withdraw", code="ethics")
    opened.federation.until(lambda: arrived("withdrawn"))
    with Journal.open(opened.folder) as journal:
        said = [(r["kind"], r.get("person")) for r in journal.audit_records() if "person" in r]
        entry = studies.study(journal, study)
    assert said == [("study_declined", ADA), ("study_approved", ADA), ("study_withdrawn", ADA)]
    assert entry is not None
    assert (entry.answer, entry.code) == (studies.StudyState.WITHDRAWN, "ethics")


def test_another_document_than_was_shown_is_not_signed(opened: Open) -> None:
    form = f"/house/studies/{opened.study}/approve"
    said = {"person": ADA, "password": PASSWORD, "sha256": "0" * 64}
    assert "not what you were shown" in opened.browser.post(form, form, 409, **said).text


def test_nobody_answers_where_the_setting_forbids_it(opened: Open) -> None:
    form = f"/house/studies/{opened.study}/approve"
    shown = opened.browser.get(form)
    fields = dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)">', shown))
    settings = opened.folder / "agent.toml"
    before = settings.read_text()
    settings.write_text(before.replace("[local]\n", "[local]\napprove_on_page = false\n"))
    try:
        assert "privet agent studies approve" in opened.browser.get(form)
        answer = opened.browser.http.post(form, data={**fields, "person": ADA, "password": PASSWORD})
        assert answer.status_code == 403
        assert "local.approve_on_page" in answer.text
    finally:
        settings.write_text(before)


def test_parts_that_look_again_say_nothing_while_nothing_changes(opened: Open) -> None:
    told = opened.browser.get("/")
    place = re.search(r'hx-get="(/house/now\?seen=\w+)"', told)
    assert place is not None
    assert opened.browser.http.get(place[1]).status_code == 204
    assert opened.browser.http.get("/house/now?seen=other").status_code == 200


@pytest.mark.long
def test_a_steward_consents_and_the_agent_brings_it_to_the_cloud(opened: Open) -> None:
    study = opened.federation.cloud.study(SCHEMA, name="consented", question="May results differ?")
    page = f"/house/studies/{study}"
    opened.federation.until(lambda: opened.browser.http.get(page).status_code == 200)
    form = f"{page}/consent"
    assert form in opened.browser.get(page)
    assert "cannot be taken back" in opened.browser.get(form)
    said = {"person": ADA, "password": PASSWORD}
    opened.browser.post(form, form, 403, person=ADA, password="x", other="")
    refused = opened.browser.post(form, form, 422, **said, other="abc").text
    assert "64 hexadecimal digits" in refused
    opened.browser.post(form, form, **said, other=f" {'AB' * 32} ")
    with Journal.open(opened.folder) as journal:
        (word,) = studies.words_said(journal, study)
        by = [record["person"] for record in journal.audit_records() if record["kind"] == "consented"]
    assert (word["kind"], word["consent"]["without_sha256"]) == ("consent", "ab" * 32)
    assert by == [ADA]
    opened.federation.until(lambda: "arrived" in opened.browser.get(page))
    left = opened.browser.get("/house/messages?way=left")
    assert "Our word on a study" in left


@pytest.mark.long
def test_a_job_that_is_over_is_forgotten_by_a_steward(opened: Open) -> None:
    with Journal.open(opened.folder) as journal:
        known = journal.find(opened.job)
        over = replace(known, job="cd" * 16)
        journal.put_job(over)
        journal.put_job(replace(over, job="ef" * 16, status=JobStatus.ACTIVE))
    form = f"/house/jobs/{over.job}/forget"
    opened.browser.post(form, form, 403, person=ADA, password="x")
    answer = opened.browser.post(form, form, person=ADA, password=PASSWORD)
    assert answer.headers["location"] == "/house/jobs"
    opened.browser.get(f"/house/jobs/{over.job}", 404)
    assert "Only a job that is over" in opened.browser.get(f"/house/jobs/{'ef' * 16}/forget", 422)
    with Journal.open(opened.folder) as journal:
        assert journal.was_forgotten(over.job)
        told = [record for record in journal.audit_records() if record["kind"] == "forgotten"]
        journal.forget("ef" * 16)
    assert told[-1]["person"] == ADA


@pytest.mark.long
def test_an_offer_is_answered_on_its_page_and_the_agent_acts(opened: Open) -> None:
    federation, browser = opened.federation, opened.browser
    for name in THREE:
        federation.hospitals[name].allow(
            'approval = "ask"\nmin_node = 1\nmin_child = 1\nmax_depth = 0\nmax_shrinks = 50\n'
        )
    study = federation.cloud.study(hostile_schema(), name="asked", question="May it?")

    def offered() -> str:
        job = federation.cloud.job(study, invited=list(THREE))
        federation.until(lambda: all(federation.hospitals[name].entry(job) is not None for name in THREE))
        return job

    def answer(job: str, word: str, **fields: str) -> None:
        for name in THREE[1:]:
            with Journal.open(federation.hospitals[name].folder) as journal, journal.transaction():
                journal.answer(Answer(job, True, ""))
        form = f"/house/jobs/{job}/{word}"
        browser.post(form, form, person=ADA, password=PASSWORD, **fields)

    taken = offered()
    assert "waits for your word" in browser.get(f"/house/jobs/{taken}")
    assert f"/house/jobs/{taken}" in browser.get("/")
    answer(taken, "approve")
    assert {entry.status for entry in federation.wait(taken, THREE).values()} == {JobStatus.COMPLETE}
    assert "A steward answered the offer" in browser.get(f"/house/jobs/{taken}")
    refused = offered()
    answer(refused, "decline", reason="not <now>")
    federation.until(lambda: federation.hospitals["h1"].entry(refused).status is JobStatus.DECLINED)  # type: ignore[union-attr]
    told = browser.get(f"/house/jobs/{refused}")
    assert "not &lt;now&gt;" in told
    assert "declined by us" in told
    browser.get(f"/house/jobs/{refused}/approve", 409)
