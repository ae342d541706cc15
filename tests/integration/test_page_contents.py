"""What pages of the cloud hold: nothing that runs, nothing of hostile words, and what they are there to say."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from html import unescape

import pytest
from markupsafe import escape
from sqlalchemy import text

from cloud_service.pages import audit, audit_steps
from shared.ids import AgentId
from shared.web.rendering import moment_iso
from tests.support.browsing import Browser, with_session
from tests.support.clinic import SCHEMA
from tests.support.cloud_server import CloudUnderTest, running_cloud

HOSTILE = (
    """<script>alert(1)</script><img src=x onerror=alert(2)> "quoted" 'too' {{7*7}} javascript:alert(3)?"""
)
MAX_PAGE_BYTES = 300_000


@pytest.fixture(scope="module")
def cloud(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CloudUnderTest]:
    with running_cloud(tmp_path_factory.mktemp("contents"), bits=512) as found:
        found.study(SCHEMA, name="hostile", question=HOSTILE, purpose=HOSTILE[:200])
        found.study(SCHEMA, name="shut", question="shall it be shut?")
        yield found


@pytest.fixture(scope="module")
def analyst(cloud: CloudUnderTest) -> Browser:
    return with_session(cloud, "ana", ["analyst"], None)


@pytest.fixture
def coordinator(cloud: CloudUnderTest) -> Browser:
    return with_session(cloud, "cora", ["coordinator"], None)


# --- what a page may hold ---------------------------------------------------------------------------------------

EVERY_KIND = (
    "/sign-in",
    "/",
    "/studies",
    "/studies/hostile",
    "/jobs",
    "/hospitals",
    "/account",
    "/nothing",
    "/people",
)


def test_every_page_says_what_it_may_load_and_that_nobody_may_frame_it(analyst: Browser) -> None:
    for path in EVERY_KIND:
        page = analyst.get(path)
        headers = page.headers
        assert headers.get_list("content-security-policy") == [headers["content-security-policy"]], path
        policy = headers["content-security-policy"]
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        assert headers["cache-control"] == "no-store"
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["x-content-type-options"] == "nosniff"


def test_hostile_words_stay_words(analyst: Browser, coordinator: Browser) -> None:
    for browser, paths in (
        (analyst, ("/", "/studies", "/studies/hostile", "/studies/hostile/dossier")),
        (coordinator, ("/studies/hostile/close",)),
    ):
        for path in paths:
            page = browser.get(path).text
            assert "<script>alert" not in page, path
            assert "<img src=x" not in page, path
            assert "49" not in re.findall(r"too&#39; (\S+)", page), path
            assert str(escape("<script>alert(1)</script>")) in page, path


def test_no_page_holds_a_script_or_a_style_of_its_own(analyst: Browser) -> None:
    for path in EVERY_KIND:
        page = analyst.get(path).text
        assert not re.search(r"<script(?![^>]* src=)(?![^>]*type=\"application/json\")", page), path
        assert not re.search(r"\son[a-z]+\s*=|\sstyle\s*=|<style", page.replace(str(escape(HOSTILE)), "")), (
            path
        )
        assert not re.search(r"(?:src|href)=\"(?:https?:)?//", page), path


def test_a_page_with_all_that_it_loads_is_small(analyst: Browser) -> None:
    page = analyst.get("/studies/hostile")
    loaded = set(re.findall(r'(?:src|href)="(/assets/[^"]+)"', page.text))
    assets = {address: analyst.get(address) for address in loaded}
    assert len(page.content) + sum(len(found.content) for found in assets.values()) < MAX_PAGE_BYTES
    assert {found.headers["cache-control"] for found in assets.values()} == {
        "public, max-age=31536000, immutable"
    }


def test_an_asset_of_another_version_is_not_kept(analyst: Browser) -> None:
    """While replicas are upgraded, a page of the new one asks the old one for what it does not have."""
    for query in ("?v=000000000000", "", "?v="):
        assert analyst.get("/assets/privet.css" + query).headers["cache-control"] == "no-cache", query


def test_assets_lead_to_no_other_file(analyst: Browser) -> None:
    for path in (
        "/assets/../rendering.py",
        "/assets/%2e%2e/rendering.py",
        "/assets/..%2frendering.py",
        "/assets/",
    ):
        assert analyst.get(path).status_code == 404, path


# --- pages about errors -----------------------------------------------------------------------------------------


def test_an_error_of_ours_names_the_request_and_nothing_else(
    cloud: CloudUnderTest, analyst: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(_self: object, *_: object, **__: object) -> list[object]:
        raise RuntimeError("row 7 of patient Smith")

    monkeypatch.setattr(type(cloud.services.study_lists), "page", broken)
    page = analyst.get("/studies")
    assert page.status_code == 500
    assert page.headers["x-request-id"] in page.text
    assert "Smith" not in page.text


def test_scripts_get_problem_documents(analyst: Browser) -> None:
    answer = analyst.get("/people", accept="application/json")
    assert (answer.status_code, answer.json()["code"]) == (403, "forbidden")
    assert analyst.get("/nothing", accept="*/*").json()["code"] == "not_found"


def test_a_page_that_is_not_there_says_so(analyst: Browser) -> None:
    for path, status in (("/nothing", 404), ("/studies/nothing", 404), ("/jobs?before=x", 422)):
        page = analyst.get(path)
        assert (page.status_code, "<h1>" in page.text) == (status, True), path
    assert analyst.client.put("/jobs").status_code == 405


# --- what pages do ----------------------------------------------------------------------------------------------


def test_a_study_is_closed_after_a_page_that_says_what_it_means(
    cloud: CloudUnderTest, coordinator: Browser
) -> None:
    cloud.study(SCHEMA, name="ends", question="when does it end?")
    assert "It cannot be opened again." in coordinator.get("/studies/ends/close").text
    assert cloud.services.studies.get("ends").closed is None
    assert coordinator.post("/studies/ends/close").headers["location"] == "/studies/ends"
    page = coordinator.get("/studies/ends").text
    assert "The study is closed." in page
    assert "The study is closed." not in coordinator.get("/studies/ends").text  # it is said once
    assert cloud.services.studies.get("ends").closed is not None


def test_the_newest_fault_of_a_hospital_is_shown_to_who_may_know_it(cloud: CloudUnderTest) -> None:
    job = cloud.job("shut")
    put = text(
        "INSERT INTO messages_in (job, sender, seq, type, round, attempt, sha256, refused, reply, received) "
        "VALUES (:job, 'h2', 900, 'contribution', 1, 0, :sha256, 'contribution_rejected', :reply, :received)"
    )
    with cloud.services.database.write() as connection:
        now = cloud.services.history.clock()
        connection.execute(put, {"job": job, "sha256": "0" * 64, "reply": b"", "received": now})
    told = "A contribution did not pass the checks"
    own = with_session(cloud, "steward-h2", ["steward"], "h2")
    other = with_session(cloud, "steward-h1", ["steward"], "h1")
    operator = with_session(cloud, "operator-two", ["operator"], None)
    assert [told in browser.get("/hospitals").text for browser in (own, other, operator)] == [
        True,
        False,
        True,
    ]
    cloud.people.post(f"/v1/jobs/{job}/cancel")


def test_hospitals_and_studies_are_listed_with_all_that_people_ask_for(
    cloud: CloudUnderTest, analyst: Browser
) -> None:
    """Hospitals: there or not, since when, version. Studies: question, approvals, end."""
    for known in cloud.services.hospitals.all():
        cloud.services.housekeeper.presence.saw(AgentId(known.id))
    page = analyst.get("/hospitals").text
    for view in cloud.services.hospitals.all():
        row = row_of(page, view.id)
        assert '<span class="state good">online</span>' in row
        moments = (view.online_since or 0, view.last_seen, view.registered)
        assert [moment for moment in moments if f'datetime="{moment_iso(moment)}"' not in row] == []
        assert f"<td>{view.version}</td>" in row
    document = cloud.services.studies.get("shut").document
    assert document is not None
    row = row_of(analyst.get("/studies").text, '<a href="/studies/shut">shall it be shut?</a>')
    assert f"0 of {len(document.members)}" in row
    assert f'datetime="{moment_iso(document.expires)}"' in row
    answers = analyst.get("/studies/shut").text
    assert [name for name in document.members if "no answer yet" not in row_of(answers, name)] == []


def row_of(page: str, head: str) -> str:
    """The row of a table that begins so."""
    (row,) = (
        row for row in page.split("<tr>") if re.match(rf'\s*<th scope="row"[^>]*>{re.escape(head)}', row)
    )
    return row.split("</tr>")[0]


def test_a_log_of_more_records_than_a_page_can_check_is_examined_in_steps(
    cloud: CloudUnderTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    auditor = with_session(cloud, "una", ["auditor"], None)
    monkeypatch.setattr(audit, "CHECKED_RECORDS", 1)
    monkeypatch.setattr(audit_steps, "STRETCH", 2)
    page = auditor.get("/audit/check").text
    assert "too many records to check at once" in page
    assert 'href="/audit/check/acts"' in page
    records = cloud.services.audits.stretch_of_acts(None, 1).newest + 1
    steps = _steps(auditor, "/audit/check/acts")
    assert len(steps) == records // 2 + 1 > 1
    assert f'value="2" max="{records}"' in steps[0]
    assert ">whole<" in steps[-1]
    assert f"{records} of {records} records examined" in steps[-1]
    later = unescape(re.findall(r'href="(/audit/check/acts\?[^"]+)"', steps[0])[0])
    left_out = re.sub("after=1", f"after={records - 1}", later)
    assert ">not whole<" in auditor.get(left_out).text
    with _forged(cloud, 2):
        assert ">not whole<" in _steps(auditor, "/audit/check/acts")[-1]


def _steps(auditor: Browser, path: str) -> list[str]:
    """Every page from the first step to the last, and the parts that a script asks for among them."""
    found = []
    while path:
        found.append(auditor.get(path).text)
        following = re.findall(r'hx-get="(/audit/check/[^"]+)"', found[-1])
        path = unescape(following[0]) if following else ""
    return found


@contextmanager
def _forged(cloud: CloudUnderTest, number: int) -> Iterator[None]:
    """A record of the log of acts says something else for a while."""
    of = {"number": number}
    with cloud.services.database.write() as connection:
        kept = bytes(connection.scalar(text("SELECT record FROM acts WHERE number = :number"), of))
        forged = kept.replace(b"test", b"ghost").replace(b"cloud", b"ghost")
        connection.execute(
            text("UPDATE acts SET record = :record WHERE number = :number"), of | {"record": forged}
        )
    assert forged != kept
    try:
        yield
    finally:
        with cloud.services.database.write() as connection:
            connection.execute(
                text("UPDATE acts SET record = :record WHERE number = :number"), of | {"record": kept}
            )


def test_logs_are_found_whole_and_a_changed_record_is_noticed(cloud: CloudUnderTest) -> None:
    auditor = with_session(cloud, "uma", ["auditor"], None)
    assert auditor.get("/audit/check").text.count(">whole<") == 2
    acts = auditor.get("/audit").text
    assert "planned a study" in acts
    with cloud.services.database.write() as connection:
        kept = connection.scalar(text("SELECT record FROM acts WHERE number = 1"))
        forged = bytes(kept).replace(b"cloud", b"ghost")
        connection.execute(text("UPDATE acts SET record = :record WHERE number = 1"), {"record": forged})
    page = auditor.get("/audit/check").text
    assert (page.count(">whole<"), page.count(">not whole<")) == (1, 1)
    with cloud.services.database.write() as connection:
        connection.execute(text("UPDATE acts SET record = :record WHERE number = 1"), {"record": bytes(kept)})


def test_operations_hide_secrets(cloud: CloudUnderTest) -> None:
    page = with_session(cloud, "op", ["operator"], None).get("/operations").text
    assert "running_jobs" in page
    assert str(cloud.folder) not in page


def test_studies_are_found_by_their_words(analyst: Browser) -> None:
    assert 'href="/studies/shut"' in analyst.get("/studies?search=SHUT+shall").text
    assert 'href="/studies/shut"' not in analyst.get("/studies?search=shut+nothing").text
    hostile = analyst.get("/studies", accept="text/html").text
    assert 'href="/studies/hostile"' in hostile
    echoed = analyst.client.get("/studies", params={"search": '"><script>alert(1)</script>'}).text
    assert "<script>alert" not in echoed


def test_the_first_page_says_what_needs_attention(cloud: CloudUnderTest) -> None:
    cloud.study(SCHEMA, name="asked", question="who is waited for?")
    job = cloud.job("asked")
    with cloud.services.database.write() as connection:
        connection.execute(text("UPDATE hospitals SET last_seen = last_seen - 4000 WHERE id = 'h3'"))
    cloud.services.housekeeper.presence._seen.pop("h3", None)
    browser = with_session(cloud, "viewer", ["coordinator"], None)
    for path in ("/", "/overview/live"):
        page = browser.get(path).text
        assert f'href="/jobs/{job}"' in page
        assert "Waits for h1, h2, h3: the answer to the invitation" in page
        assert re.search(r'h3</a>: <span class="state bad">away</span>', page)
        assert "who is waited for?</a>: 0 of 3 hospitals have approved it" in page
    assert "<html" not in browser.get("/overview/live").text
    cloud.people.post(f"/v1/jobs/{job}/cancel")
    assert "Waits for h1" not in browser.get("/").text
