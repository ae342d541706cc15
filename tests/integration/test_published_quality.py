"""Figures that a study publishes: the cloud keeps what every hospital reports, and nothing that no study names."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from cloud_service import disclosing
from cloud_service.store import governance, quality
from hospital_agent.cloud import CloudClient
from hospital_agent.daemon import casework
from hospital_agent.daemon.office import Office
from hospital_agent.daemon.publishing import with_figures
from hospital_agent.journal import JobStatus, Journal
from hospital_agent.journal.reading import CheckedLog
from hospital_agent.people.ledgers import figures_of
from hospital_agent.people.offers import offer_document
from hospital_agent.people.published import published_sentence, published_tables
from privet.__main__ import run
from privet.client import Client
from shared.protocol.agent_effects import Completed, Say, Step
from shared.wire.rounds import Attest
from tests.integration.test_agent_jobs import agent, write_rows
from tests.support.browsing import Browser, with_session
from tests.support.clinic import ROWS, SCHEMA, dealt
from tests.support.cloud_server import running_cloud
from tests.support.federation import OPEN_POLICY, LocalFederation, local_federation
from tests.support.house import Browser as HouseBrowser
from tests.support.house import serving_pages
from tests.support.http_hospital import hospitals_of, run_together

HOSPITALS = ("h1", "h2", "h3")
HELD_OUT = {"parts": 10, "first": 0, "last": 3, "seed": "5e" * 16}
PUBLISHED = {"figures": ["importance", "evaluation"], "floor": 5}


@dataclass
class World:
    """A federation with a grown tree and its evaluation, under a study that publishes figures of both."""

    federation: LocalFederation
    grown: str
    judged: str

    def told(self, job: str) -> dict[str, Any]:
        """What the API says of a job."""
        answer = self.federation.cloud.people.get(f"/v1/jobs/{job}/evaluation")
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.json()
        return found

    def folder(self, hospital: str) -> Path:
        """Of an agent."""
        return self.federation.hospitals[hospital].folder

    def browser(self, role: str) -> Browser:
        """Somebody of this role, signed in."""
        return with_session(self.federation.cloud, role, [role], None)

    def finished(self, study: str = "clinic", **plan: Any) -> str:
        """A job that came to its end at every hospital."""
        return finished(self.federation, study, **plan)


def finished(federation: LocalFederation, study: str, **plan: Any) -> str:
    job = federation.cloud.job(study, **{"invited": list(HOSPITALS), **plan})
    entries = federation.wait(job, HOSPITALS)
    assert {entry.status for entry in entries.values()} == {JobStatus.COMPLETE}, entries
    return job


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    folder = tmp_path_factory.mktemp("quality")
    with local_federation(folder / "federation", HOSPITALS) as federation:
        for start, name in enumerate(HOSPITALS):
            # Some answers differ from the rule, so that the tree errs.
            rows = [(*row[:-1], (row[-1] + (n % 11 == 0)) % 4) for n, row in enumerate((ROWS * 2)[start::3])]
            federation.hospitals[name].configure(write_rows(folder / f"{name}.csv", rows))
        federation.cloud.study(SCHEMA, name="clinic", quality=PUBLISHED)
        federation.cloud.study(SCHEMA, name="kept", tallies=["evaluation"])
        grown = finished(federation, "clinic", selection=HELD_OUT, max_depth=2)
        judged = finished(federation, "clinic", tally={"kind": "evaluation", "model": grown})
        yield World(federation, grown, judged)


def text_of(browser: Browser, path: str, status: int = 200) -> str:
    """A page's text without its elements."""
    answer = browser.get(path)
    assert answer.status_code == status, answer.text
    assert " style=" not in answer.text
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", answer.text))


def test_the_cloud_has_what_each_hospital_reports(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    (found,) = world.told(world.grown)["evaluations"]
    assert (found["state"], found["job"], found["missing"]) == ("published", world.judged, [])
    assert set(found["sent"]) == set(HOSPITALS)
    assert set(found["sent"].values()) == {found["sha256"]}
    report = agent(capsys, "report", world.folder("h2"), world.grown, "--evaluation", world.judged)
    (here,) = [entry for entry in report["judged"] if entry["on"] == "held-out"]
    for name in ("on", "words", "note", "hospitals"):
        assert found["figures"][name] == here[name]
    told, own = found["figures"]["evaluation"], here["evaluation"]
    for name in ("floor", "level", "records", "stopped", "confusion"):
        assert told[name] == own[name]
    for name, measure in own["overall"].items():
        assert told["overall"][name]["value"] == measure["value"], name
        assert told["overall"][name]["interval"] == measure["interval"], name
    importance = world.told(world.grown)["importance"]
    assert importance["state"] == "published"
    assert importance["figures"]["importance"] == report["importance"]
    assert report["importance"]


def test_no_small_number_and_no_attestation_is_kept(world: World) -> None:
    document = world.told(world.judged)["evaluations"][0]["document"]
    flat = [count for row in document["cells"] for count in row] + document["truth"]
    assert None in flat
    assert all(count is None or count % 5 == 0 for count in flat)
    with world.federation.cloud.services.database.read() as connection:
        kept = quality.sent(connection, (world.grown, world.judged))
        raws = connection.exec_driver_sql("SELECT raw FROM messages_in WHERE type = 'attest'").fetchall()
    texts = [kept[job].document or "{}" for job in (world.grown, world.judged)]
    assert [json.loads(text)["job"] for text in texts] == [world.grown, world.judged]
    assert {row[0] for row in raws} == {None}
    sha256 = hashlib.sha256(texts[1].encode()).hexdigest()
    for name in HOSPITALS:
        with Journal.open(world.folder(name)) as journal:
            entry = journal.find(world.judged)
            offered = offer_document(entry, figures_of(journal, entry))
            assert any("send the cloud rounded figures" in told for told in offered["counts"])
            sent = [r for r in CheckedLog().of_job(journal, world.judged) if r["kind"] == "sent"]
        assert [record.get("quality_sha256") for record in sent][-1] == sha256


def test_a_hospital_sees_the_very_document_that_left(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    for job in (world.grown, world.judged):
        told = world.told(job)
        (there,) = [one for one in (told["importance"], *told["evaluations"]) if one and one["job"] == job]
        here = agent(capsys, "figures", world.folder("h3"), job[:10])
        assert here["sha256"] == here["sent_sha256"] == there["sha256"]
        assert (here["document"], here["figures"]) == (there["document"], there["figures"])
    assert run(["agent", "figures", str(world.folder("h3")), world.judged]) == 0
    shown = capsys.readouterr().out
    assert "left this hospital for the cloud" in shown
    assert "Records by true class (rows)" in shown


def test_a_hospitals_page_shows_the_very_figures_that_left(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    with serving_pages(world.folder("h2")) as url, HouseBrowser(url) as browser:
        for job in (world.judged, world.grown):
            assert f'href="/house/jobs/{job}/figures"' in browser.get(f"/house/jobs/{job}")
            shown = unescape(browser.get(f"/house/jobs/{job}/figures"))
            here = agent(capsys, "figures", world.folder("h2"), job)
            assert published_sentence(here) in shown
            assert all(f"<caption>{table.caption}</caption>" in shown for table in published_tables(here))
            assert shown.count(here["sent_sha256"]) == 2  # in the log, and of the document made now
            assert browser.http.get(f"/house/jobs/{job}/figures.json").json() == here
        browser.get("/house/jobs/none/figures", 404)


def test_both_ledgers_say_what_the_cloud_learned(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    wanted = {world.grown: "figures_of_importance", world.judged: "figures_of_evaluation"}
    for job, learned in wanted.items():
        ledgers = [
            world.federation.cloud.people.get(f"/v1/jobs/{job}/ledger").json(),
            agent(capsys, "ledger", world.folder("h1"), job),
        ]
        for ledger in ledgers:
            for kind in ("forecast", "fact"):
                parties = {e["party"] for e in ledger[kind]["entries"] if e["learned"] == learned}
                assert parties == {"cloud", "people"}, (kind, ledger[kind]["entries"])


def test_pages_the_command_and_the_client_show_them(
    world: World, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    cloud = world.federation.cloud
    coordinator = world.browser("coordinator")
    for job in (world.grown, world.judged):
        page = text_of(coordinator, f"/jobs/{job}/evaluation")
        for words in ("Right and wrong answers", "Balanced accuracy", "&lt; 5", "95 % interval", "come true"):
            assert words in page
    assert coordinator.get(f"/jobs/{world.judged}/evaluation/json").json() == world.told(world.judged)
    page = text_of(coordinator, f"/jobs/{world.grown}/importance")
    assert "How much each attribute tells" in page
    assert "Where the tree asks them" not in page  # the tree itself is not published
    assert text_of(world.browser("operator"), f"/jobs/{world.grown}/importance", 403)
    assert cloud.people.get("/v1/jobs/" + "0" * 32 + "/evaluation").status_code == 404
    # The folder of this cloud has no keys; how commands open one is shown in `test_disclosures.py`.
    monkeypatch.setattr(disclosing, "_services", lambda _folder: nullcontext(cloud.services))
    capsys.readouterr()
    assert run(["cloud", "evaluation", str(cloud.folder), world.grown[:10], "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    told = world.told(world.grown)
    assert {name: document[name] for name in told} == told
    assert run(["cloud", "evaluation", str(cloud.folder), world.grown]) == 0
    shown = capsys.readouterr().out
    assert "Records by true class (rows)" in shown
    assert "of Gini impurity" in shown
    with Client.from_token(cloud.base_url, cloud.token) as client:
        assert client.evaluation(world.grown) == told


def hostile(monkeypatch: pytest.MonkeyPatch, change: Any, hospital: str = "h2") -> None:
    """A hospital sends what `change` makes of its attestation; the others are honest."""

    def altered(office: Office, step: Step, certificates: Any) -> Step:
        made = with_figures(office, step, certificates)
        if office.own != hospital or not any(isinstance(effect, Completed) for effect in made.effects):
            return made
        effects = tuple(
            Say(effect.type, change(effect.body))
            if isinstance(effect, Say) and isinstance(effect.body, Attest)
            else effect
            for effect in made.effects
        )
        return replace(made, effects=effects)

    monkeypatch.setattr(casework, "with_figures", altered)


def test_a_hospital_that_keeps_them_and_one_of_before_keep_them_from_all(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    hostile(
        monkeypatch, lambda body: body.model_copy(update={"quality": None}), "h3"
    )  # as one of 0.3 attests
    with version(world, "h3", "0.3.2"):
        world.federation.hospitals["h2"].allow(OPEN_POLICY + "allow_publish_quality = false\n")
        try:
            job = world.finished(tally={"kind": "evaluation", "model": world.grown})
        finally:
            world.federation.hospitals["h2"].allow(OPEN_POLICY)
    # An agent of 0.3 cannot read the document, so the job does not name it.
    assert world.federation.cloud.services.results.manifest(job).study_sha256 is None
    (found,) = world.told(job)["evaluations"]
    assert (found["state"], found["missing"], sorted(found["sent"])) == ("waiting", ["h2", "h3"], ["h1"])
    assert (found["document"], found["figures"]) == (None, None)
    assert "These have not: h2, h3" in text_of(world.browser("analyst"), f"/jobs/{job}/evaluation")
    assert "allow_publish_quality" in world.federation.hospitals["h2"].output.getvalue()
    assert world.federation.cloud.people.get(f"/v1/jobs/{job}/result").json()["tree_sha256"] is not None


@contextmanager
def version(world: World, hospital: str, said: str) -> Iterator[None]:
    """What the cloud believes the hospital's agent to be."""

    def put(told: str) -> str:
        with world.federation.cloud.services.database.write() as connection:
            before = connection.scalar(text("SELECT version FROM hospitals WHERE id = :id"), {"id": hospital})
            change = text("UPDATE hospitals SET version = :told WHERE id = :id")
            connection.execute(change, {"told": told, "id": hospital})
        return str(before)

    before = put(said)
    try:
        yield
    finally:
        put(before)


def test_where_one_sends_other_figures_none_are_shown(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    def better(body: Attest) -> Attest:
        document = json.loads(str(body.quality))
        document["overall"]["accuracy"]["value"] = "1.00"
        text = json.dumps(document, sort_keys=True, separators=(",", ":"))
        return body.model_copy(update={"quality": text})

    hostile(monkeypatch, better)
    job = world.finished(tally={"kind": "evaluation", "model": world.grown})
    (found,) = world.told(job)["evaluations"]
    assert (found["state"], found["figures"], len(set(found["sent"].values()))) == ("differ", None, 2)
    assert "different figures" in text_of(world.browser("analyst"), f"/jobs/{job}/evaluation")
    with world.federation.cloud.services.database.read() as connection:
        assert quality.sent(connection, [job])[job].document is None


def test_without_the_study_nothing_is_sent_and_nothing_is_taken(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[str | None] = []
    smuggled = json.dumps(world.told(world.grown)["importance"]["document"])

    def smuggling(body: Attest) -> Attest:
        sent.append(body.quality)
        return body.model_copy(update={"quality": smuggled})

    hostile(monkeypatch, smuggling)
    job = world.finished("kept", max_depth=1)
    assert sent == [None]
    found = world.told(job)["importance"]
    assert (found["state"], found["sent"], found["document"]) == ("kept", {}, None)
    result = world.federation.cloud.people.get(f"/v1/jobs/{job}/result").json()
    assert result["missing"] == ["h2"]  # its attestation was refused
    assert "the study's document does not publish" in world.federation.hospitals["h2"].output.getvalue()
    assert text_of(world.browser("coordinator"), f"/jobs/{job}/importance", 403)


@pytest.mark.long
def test_with_agents_of_before_jobs_work_as_before(tmp_path: Path) -> None:
    with running_cloud(tmp_path, bits=512, hospitals=HOSPITALS) as cloud:
        cloud.study(SCHEMA, quality=PUBLISHED)
        with cloud.services.database.write() as connection:
            for name in HOSPITALS:
                governance.note_reader(connection, name, 0)
            connection.exec_driver_sql("UPDATE hospitals SET version = '0.3.2' WHERE id = 'h1'")
        with hospitals_of(cloud, dealt(*HOSPITALS)) as hospitals:
            job = cloud.job(max_depth=1)
            run_together(hospitals)
        # An agent of 0.3 cannot read the document, so the job does not name it.
        assert cloud.services.results.manifest(job).study_sha256 is None
        assert cloud.people.get(f"/v1/jobs/{job}/result").json()["tree_sha256"] is not None
        found = cloud.people.get(f"/v1/jobs/{job}/evaluation").json()["importance"]
        assert (found["state"], found["missing"]) == ("waiting", list(HOSPITALS))
        assert "These have not: h1, h2, h3" in text_of(
            with_session(cloud, "analyst", ["analyst"], None), f"/jobs/{job}/importance"
        )


@pytest.mark.long
def test_figures_go_out_once_though_the_agent_dies_before_they_do(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    hospital = world.federation.hospitals["h3"]
    assert hospital.daemon is not None
    mortal, posted = hospital.daemon.client, CloudClient.post_message

    def dying(client: CloudClient, raw: bytes, kind: str, *rest: Any) -> Any:
        if client is mortal and kind == "attest":
            raise KeyboardInterrupt
        return posted(client, raw, kind, *rest)

    monkeypatch.setattr(CloudClient, "post_message", dying)
    job = world.federation.cloud.job(
        "clinic", invited=list(HOSPITALS), tally={"kind": "evaluation", "model": world.grown}
    )
    world.federation.until(lambda: hospital.failure is not None)
    world.federation.wait(job, ("h1", "h2"))
    assert world.told(job)["evaluations"][0]["missing"] == ["h3"]
    hospital.daemon, hospital.failure = None, None
    hospital.start()
    world.federation.wait(job, HOSPITALS)
    (found,) = world.told(job)["evaluations"]
    assert (found["state"], set(found["sent"])) == ("published", set(HOSPITALS))


@pytest.mark.long
def test_postgresql_keeps_them_alike(tmp_path: Path, postgres_url: str) -> None:
    with local_federation(tmp_path / "federation", HOSPITALS, postgres_url) as federation:
        for start, name in enumerate(HOSPITALS):
            federation.hospitals[name].configure(write_rows(tmp_path / f"{name}.csv", ROWS[start::3]))
        federation.cloud.study(SCHEMA, name="clinic", quality=PUBLISHED)
        job = finished(federation, "clinic", max_depth=1)
        found = federation.cloud.people.get(f"/v1/jobs/{job}/evaluation").json()["importance"]
    assert found["state"] == "published"
    assert [share["gini"] for share in found["document"]["shares"]] == [100]
