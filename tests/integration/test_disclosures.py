"""Ledgers, pages, dossiers and comparison of heads, at a real cloud over HTTP and at real agents."""

from __future__ import annotations

import json
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from cloud_service.store import acts, journal
from hospital_agent.journal import Journal
from privet.__main__ import run
from shared.ids import AgentId
from shared.protocol.audit_file import read
from shared.protocol.audit_log import JOURNAL_HEADER, JournalClaim, sign_claim
from shared.protocol.disclosure_page import ledger_page
from shared.protocol.envelopes import unseal
from tests.integration.test_agent_jobs import HOSPITALS, THREE, agent, files
from tests.integration.test_cloud_command import joined  # noqa: F401 - a fixture
from tests.support.clinic import SCHEMA, dealt
from tests.support.cloud_server import CloudUnderTest, running_cloud
from tests.support.federation import LocalFederation, local_federation
from tests.support.http_hospital import HttpHospital, hospitals_of, run_together
from tests.support.world import MAX_BYTES

VOID = {"meta", "br", "link", "img", "hr", "input"}
AWKWARD = "<script>alert('x')</script> & \"quoted\""


NUMBERS = {
    *("privet_dossier", "privet_ledger", "made", "created", "closed", "finished", "since", "time", "joined"),
    *("certificate_until", "epoch", "n", "records", "messages", "bytes", "round", "attempt"),
    *("cells_asked", "open_nodes", "amount"),
}
"""Where a dossier has numbers: versions, times, places in a log, sizes of messages and of questions."""


class Page(HTMLParser):
    """Reads a page strictly: every tag is closed in order, nothing runs, nothing is loaded."""

    def __init__(self, content: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.seen: set[str] = set()
        self.text = ""
        self.feed(content)
        self.close()
        assert self.open == [], f"left open: {self.open}"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.add(tag)
        assert tag not in {"script", "img", "link", "iframe", "form", "object"}
        assert not [name for name, _ in attrs if name.startswith("on") or name in {"src", "href", "style"}]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def html(cloud: CloudUnderTest, path: str) -> Page:
    answer = cloud.people.get(path, headers={"accept": "text/html,application/xhtml+xml,*/*;q=0.8"})
    assert answer.headers["content-type"].startswith("text/html")
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    assert "http" not in answer.text.replace("http-equiv", "")
    return Page(answer.text)


@pytest.fixture(scope="module")
def federation(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[LocalFederation, str]]:
    folder = tmp_path_factory.mktemp("disclosures")
    with local_federation(folder / "federation", HOSPITALS) as running:
        running.hospitals["h4"].stop()
        yield running, running.run_job(SCHEMA, files(folder)).job


def test_a_jobs_ledger_tells_forecast_and_fact(federation: tuple[LocalFederation, str]) -> None:
    running, job = federation
    document = running.cloud.people.get(f"/v1/jobs/{job}/ledger").json()
    fact = {(e["party"], e["learned"]): e["amount"] for e in document["fact"]["entries"]}
    most = {(e["party"], e["learned"]): e["amount"] for e in document["forecast"]["entries"]}
    assert fact.keys() <= most.keys()
    assert all(most[key] is None or amount <= most[key] for key, amount in fact.items() if amount is not None)
    rounds = document["fact"]["course"]["rounds"]
    asked = sum(entry["cells_asked"] for entry in rounds)
    assert fact["hospital", "sums"] == asked > 0
    assert rounds[0]["open_nodes"] == 1
    assert all(entry["open_nodes"] for entry in rounds)
    assert document["fact"]["course"]["roster"] == list(THREE)
    assert document["bytes"]["in:contribution"]["messages"] == 3 * len(rounds)
    page = html(running.cloud, f"/v1/jobs/{job}/ledger")
    assert {"table", "caption", "h1"} <= page.seen
    assert "every count that is asked, summed over all hospitals" in page.text


def test_a_hospitals_own_ledger_says_the_same(
    federation: tuple[LocalFederation, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    running, job = federation
    folder = running.hospitals["h2"].folder
    page = tmp_path / "ledger.html"
    own = agent(capsys, "ledger", folder, job[:8], "--html", page)
    cloud = running.cloud.people.get(f"/v1/jobs/{job}/ledger").json()
    mine = {(e["party"], e["learned"]): e["amount"] for e in own["fact"]["entries"]}
    theirs = {(e["party"], e["learned"]): e["amount"] for e in cloud["fact"]["entries"]}
    assert mine["hospital", "sums"] == theirs["hospital", "sums"]
    assert own["forecast"] == cloud["forecast"]
    assert own["fact"]["course"]["roster"] == list(THREE)
    assert "Kept by h2" in Page(page.read_text()).text
    assert run(["agent", "ledger", str(folder), job]) == 0
    assert "each hospital that takes part" in capsys.readouterr().out


def test_a_status_says_once_that_a_job_is_complete(
    federation: tuple[LocalFederation, str], capsys: pytest.CaptureFixture[str]
) -> None:
    running, job = federation
    assert run(["agent", "status", str(running.hospitals["h1"].folder)]) == 0
    (line,) = [line for line in capsys.readouterr().out.splitlines() if line.startswith(job[:8])]
    assert line.count("complete") == 1


def test_a_studys_dossier_has_everything_and_no_counts(federation: tuple[LocalFederation, str]) -> None:
    running, job = federation
    study = running.cloud.people.get(f"/v1/jobs/{job}").json()["study"]
    document = running.cloud.people.get(f"/v1/studies/{study}/dossier").json()
    assert [entry["fact"]["about"]["job"] for entry in document["jobs"]] == [job]
    tree = running.hospitals["h1"].model(job).tree
    assert tree is not None
    assert document["jobs"][0]["tree_sha256"] == tree.sha256
    assert {member["hospital"] for member in document["members"]} >= set(THREE)
    assert all(member["certificate_sha256"] for member in document["members"] if member["version"])
    assert {act["act"] for act in document["acts"]} >= {"study_created", "job_created", "job_ended"}
    assert document["epochs"]
    assert document["cannot_be_known"]
    page = html(running.cloud, f"/v1/studies/{study}/dossier")
    assert {"What is asked", "Hospitals and their answers"} <= set(page.text.split("\n"))
    assert set(_numbers(document)) <= NUMBERS | set(document["study"]["rules"])


def _numbers(value: Any, name: str = "") -> Iterator[str]:
    """The names under which whole numbers stand."""
    if isinstance(value, dict):
        for key, member in value.items():
            yield from _numbers(member, key)
    elif isinstance(value, list):
        for member in value:
            yield from _numbers(member, name)
    elif isinstance(value, int) and not isinstance(value, bool):
        yield name


def test_the_operators_commands_write_logs_and_a_dossier(
    joined: Path,  # noqa: F811 - the fixture
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    schema = tmp_path / "schema.json"
    schema.write_text(json.dumps(SCHEMA))
    words = ["--id", "sepsis", "--question", "Which <signs> & why?", "--schema", str(schema), "--synthetic"]
    assert run(["cloud", "study", "create", str(joined), *words]) == 0
    assert run(["cloud", "dossier", str(joined), "sepsis", "--out", str(tmp_path / "out")]) == 0
    document = json.loads((tmp_path / "out" / "sepsis.json").read_text())
    page = Page((tmp_path / "out" / "sepsis.html").read_text())
    assert document["jobs"] == []
    assert "Which <signs> & why?" in page.text
    assert "No job has been started." in page.text
    exported = tmp_path / "acts.jsonl"
    assert run(["cloud", "audit", "export", str(joined), "--out", str(exported)]) == 0
    assert run(["cloud", "audit", "export", str(joined), "--out", str(exported)]) == 3, "it is there already"
    root = document["root_sha256"]
    assert run(["audit", "verify", str(exported), "--root-sha256", root]) == 0
    records = [json.loads(line.record or "") for line in read("acts", exported.read_bytes()).records]
    assert [record["act"] for record in records] == ["federation_joined", "study_created"]
    assert run(["cloud", "ledger", str(joined), "ab" * 16]) == 3


def test_logs_come_over_http_to_auditors(federation: tuple[LocalFederation, str]) -> None:
    running, job = federation
    for path, log in ((f"/v1/jobs/{job}/audit", "job"), ("/v1/audit", "acts")):
        answer = running.cloud.people.get(path)
        file = read(path, answer.content)
        assert (answer.status_code, file.header.log, file.end is not None) == (200, log, True)


def test_a_page_escapes_what_comes_from_outside(federation: tuple[LocalFederation, str]) -> None:
    running, job = federation
    document = running.cloud.people.get(f"/v1/jobs/{job}/ledger").json()
    document["fact"]["about"]["question"] = AWKWARD
    content = ledger_page(document, keeper=AWKWARD)
    assert AWKWARD not in content
    assert AWKWARD in Page(content).text


# --- heads that do not fit ------------------------------------------------------------------------------------


@pytest.fixture
def cloud(tmp_path: Path, database_url: str) -> Iterator[CloudUnderTest]:
    with running_cloud(tmp_path, database_url, bits=512) as running:
        running.study(SCHEMA)
        yield running


@pytest.fixture
def hospitals(cloud: CloudUnderTest) -> Iterator[list[HttpHospital]]:
    with hospitals_of(cloud, dealt(*THREE)) as found:
        yield found


def act_names(cloud: CloudUnderTest) -> list[str]:
    with cloud.services.database.read() as connection:
        return [json.loads(entry.record)["act"] for entry in acts.all_of(connection)]


def test_a_cloud_that_lost_its_history_computes_nothing_on_it(
    cloud: CloudUnderTest, hospitals: list[HttpHospital]
) -> None:
    """A hospital echoes a head that is not in the log: here because somebody has rewritten the log."""
    job = cloud.job()
    for _ in range(2):
        for hospital in hospitals:
            hospital.fetch(wait=5)
            hospital.send_all()
    for hospital in hospitals:
        hospital.fetch(wait=10)  # the sums, with a head in them
    with cloud.services.database.write() as connection:
        connection.execute(text("UPDATE audit SET hash = :x WHERE job = :job"), {"x": "ab" * 32, "job": job})
    hospitals[0].send_all()
    seen = cloud.people.get(f"/v1/jobs/{job}").json()
    events = cloud.people.get(f"/v1/jobs/{job}/events").json()["events"]
    assert (seen["state"], seen["failure"]) == ("FAILED", "diverged")
    assert {"hospital": "h1", "whose": "cloud"} in [e["data"] for e in events if e["kind"] == "audit_fork"]
    assert {"audit_fork", "job_ended"} <= set(act_names(cloud))
    with cloud.services.database.read() as connection:
        kept = connection.execute(text("SELECT sender, second_raw FROM evidence")).all()
    assert [row.sender for row in kept] == ["h1"]
    assert b'"type":"decision"' in bytes(kept[0].second_raw)


def post(cloud: CloudUnderTest, raw: bytes, *, number: int, head: str, **wrong: Any) -> None:
    """Send a message with a claim about the sender's own log."""
    sealed = unseal(raw, max_bytes=MAX_BYTES)
    sender = sealed.envelope.sender
    claim = JournalClaim(agent=sender, message=wrong.get("message", sealed.sha256), number=number, head=head)
    signed = sign_claim(claim, cloud.parties.identities[AgentId(wrong.get("signer", sender))])
    header = {JOURNAL_HEADER: wrong.get("header", signed.canonical().decode())}
    answer = cloud.people.post(
        "/v1/messages", content=raw, headers=header | {"content-type": "application/json"}
    )
    assert answer.status_code == 200, answer.text


def claims(cloud: CloudUnderTest, job: str) -> list[int]:
    with cloud.services.database.read() as connection:
        records = [json.loads(entry.record) for entry in journal.audit(connection, job)]
    return [record["journal"]["n"] for record in records if "journal" in record]


def test_claims_that_contradict_each_other_are_told_and_the_job_goes_on(
    cloud: CloudUnderTest, hospitals: list[HttpHospital]
) -> None:
    job = cloud.job()
    for hospital, number in zip(hospitals, (5, 7, 9), strict=True):
        hospital.fetch(wait=5)
        (raw,) = hospital.host.outbox
        post(cloud, raw, number=number, head="cd" * 32)
    for hospital in hospitals:
        hospital.send_all()
        hospital.fetch(wait=5)
    one, two, three = (hospital.host.outbox[0] for hospital in hospitals)
    post(cloud, one, number=6, head="ef" * 32)
    post(cloud, two, number=7, head="ef" * 32)  # the same record, another head
    post(cloud, three, number=8, head="ef" * 32)  # fewer records than before
    events = cloud.people.get(f"/v1/jobs/{job}/events").json()["events"]
    forks = [event["data"] for event in events if event["kind"] == "audit_fork"]
    assert forks == [{"hospital": name, "whose": "hospital"} for name in ("h2", "h3")]
    assert claims(cloud, job) == [5, 7, 9, 6, 7, 8]
    run_together(hospitals)
    assert cloud.people.get(f"/v1/jobs/{job}").json()["state"] == "DONE"
    assert act_names(cloud).count("audit_fork") == 2


def test_claims_that_do_not_hold_are_left_out(cloud: CloudUnderTest, hospitals: list[HttpHospital]) -> None:
    job = cloud.job()
    wrong: list[dict[str, Any]] = [{"signer": "h2"}, {"message": "ab" * 32}, {"header": "{}"}]
    for hospital, changes in zip(hospitals, wrong, strict=True):
        hospital.fetch(wait=5)
        (raw,) = hospital.host.outbox
        post(cloud, raw, number=5, head="cd" * 32, **changes)
    assert claims(cloud, job) == []
    run_together(hospitals)
    assert cloud.people.get(f"/v1/jobs/{job}").json()["state"] == "DONE"


def test_an_agents_claim_is_of_a_record_that_stays(tmp_path: Path) -> None:
    with Journal.open(tmp_path) as journal:
        assert journal.lasting_head() is None
        with journal.transaction():
            head = journal.record("accepted", job="ab" * 16)
        with journal.transaction(durable=False):
            journal.record("sent", job="ab" * 16)
        assert journal.lasting_head() == (0, head)
        with journal.transaction():
            later = journal.record("received", job="ab" * 16)
        assert journal.lasting_head() == (2, later)
