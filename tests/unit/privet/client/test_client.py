"""The client without a cloud: it knows what the cloud's description says, and repeats only what may be repeated."""

from __future__ import annotations

import asyncio
import copy
import inspect
import pickle
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI

from cloud_service.api import disclosures, events, hospitals, jobs, models, quality, results, sign_in, studies
from cloud_service.api.problems import TITLES
from privet.client import AsyncClient, Client, answers, calls
from privet.client.access import Access
from privet.client.carrying import Patience, answer_of, retries
from privet.client.errors import (
    ApiError,
    BusyError,
    NotFoundError,
    OutcomeUnknownError,
    UnexpectedAnswerError,
    UnreachableError,
    refusal,
)
from privet.client.rules import JobRules, StudyRules
from shared.errors import InputError

URL = "http://127.0.0.1:9"
QUICK = Patience(total_seconds=0.3, most_seconds=0.01, answer_seconds=2)


@cache
def described() -> dict[str, Any]:
    app = FastAPI()
    for module in (disclosures, events, hospitals, jobs, models, quality, results, sign_in, studies):
        app.include_router(module.router)
    return app.openapi()


def properties(name: str) -> dict[str, Any]:
    return dict(described()["components"]["schemas"][name]["properties"])


def test_new_jobs_and_studies_may_say_all_that_the_cloud_takes() -> None:
    assert set(JobRules.__annotations__) == set(properties("JobIn"))
    assert set(StudyRules.__annotations__) == set(properties("StudyIn")) - {"id", "question", "schema"}


@pytest.mark.parametrize(
    ("form", "name"),
    [
        (answers.Me, "MeOut"),
        (answers.SignedIn, ("SessionOut", "EnrolmentOut")),
        (answers.Hospital, "HospitalOut"),
        (answers.StudySummary, "StudyOut"),
        (answers.Study, "StudyFull"),
        (answers.Approval, "AnswerOut"),
        (answers.JobSummary, "JobSummary"),
        (answers.Job, "JobOut"),
        (answers.Member, "MemberOut"),
        (answers.Waiting, "WaitingOut"),
        (answers.Cost, "CostOut"),
        (answers.Event, "EventOut"),
        (answers.Result, "ResultOut"),
        (answers.PublishedTree, "TreeOut"),
        (answers.Prediction, "PredictionOut"),
    ],
)
def test_every_member_of_an_answer_is_described(form: Any, name: str | tuple[str, ...]) -> None:
    names = (name,) if isinstance(name, str) else name
    assert {field.name for field in fields(form)} <= {one for each in names for one in properties(each)}


def every_call() -> list[calls.Call[Any]]:
    return [
        calls.sign_in("ana", "p", ""),
        calls.sign_out(),
        calls.me(),
        calls.hospitals(),
        calls.studies(),
        calls.study("{study_id}"),
        calls.create_study("s", "?", {}, {}),
        calls.close_study("{study_id}"),
        calls.start_job("{study_id}", {}),
        calls.jobs("s", None, None, 5),
        calls.job("{job_id}"),
        calls.cancel_job("{job_id}"),
        calls.events("{job_id}", 0, 5),
        calls.result("{job_id}"),
        calls.tree("{job_id}"),
        calls.predict("{job_id}", {}),
        calls.predict_many("{job_id}", [{}]),
        calls.model_card("{job_id}"),
        calls.evaluation("{job_id}"),
        calls.ledger("{job_id}"),
        calls.dossier("{study_id}"),
        calls.audit("{job_id}"),
    ]


def test_every_call_is_described_and_only_a_new_job_is_not_repeated() -> None:
    for call in every_call():
        operation = described()["paths"][call.path.replace("%7B", "{").replace("%7D", "}")][
            call.method.lower()
        ]
        assert {each["name"] for each in operation.get("parameters", [])} >= set(call.query)
    own = inspect.getmembers(
        calls, lambda found: inspect.isfunction(found) and found.__module__ == calls.__name__
    )
    assert len(every_call()) == len([name for name, _ in own if not name.startswith("_")])
    assert [call.path for call in every_call() if not call.may_repeat] == ["/v1/studies/%7Bstudy_id%7D/jobs"]


def test_ids_cannot_leave_their_place_in_the_address() -> None:
    assert calls.job("../me?x=1#y").path == "/v1/jobs/..%2Fme%3Fx%3D1%23y"


def test_both_clients_have_the_same_methods() -> None:
    def public(kind: type) -> dict[str, str]:
        found = inspect.getmembers(kind, inspect.isroutine)
        return {
            name: str(inspect.signature(method)).replace("AsyncIterator", "Iterator")
            for name, method in found
            if not name.startswith("_")
        }

    assert public(Client) == public(AsyncClient)
    assert len(public(Client)) > 18


@pytest.mark.parametrize("code", TITLES)
def test_every_code_of_the_cloud_becomes_an_error_with_a_next_step(code: str) -> None:
    error = refusal(418, code, TITLES[code], "something")
    assert (error.status, error.code, error.detail) == (418, code, "something")
    assert str(error) == f"{TITLES[code]}: something. {error.remedy}"
    assert error.remedy.endswith(".")


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (404, b'{"code": "not_found", "title": "Not found", "detail": "no such job"}', NotFoundError),
        (409, b'{"code": "of_tomorrow", "title": "New", "detail": ""}', ApiError),
        (404, b"<html>", UnexpectedAnswerError),
        (302, b"", UnexpectedAnswerError),
        (200, b"<html>", UnexpectedAnswerError),
        (200, b'{"jobs": 5}', UnexpectedAnswerError),
        (200, b"{}", UnexpectedAnswerError),
        (429, b"{}", BusyError),
        (503, b"[" * 100_000, BusyError),
    ],
)
def test_whatever_answers_is_an_error_of_ours(status: int, body: bytes, kind: type[Exception]) -> None:
    with pytest.raises(kind) as raised:
        answer_of(calls.jobs(None, None, None, 5), status, {"retry-after": "soon"}, body)
    assert type(raised.value) is kind


def test_what_a_terminal_would_obey_is_left_out() -> None:
    with pytest.raises(NotFoundError) as raised:
        answer_of(calls.me(), 404, {}, b'{"code": "not_found", "title": "x", "detail": "a\\u001b[2Jb"}')
    assert raised.value.detail == "a [2Jb"


def test_when_a_request_is_sent_again() -> None:
    on = retries(calls.me(), QUICK)["on"]
    once = retries(calls.start_job("s", {}), QUICK)["on"]
    busy, cut = BusyError(503, "audit_unavailable", "", 5.0), BusyError(502, "", "", None)
    assert (on(busy), once(busy)) == (0.01, 0.01)
    assert (on(cut), once(cut)) == (True, False)
    refused, lost = (UnreachableError(URL, "x", was_sent=sent) for sent in (False, True))
    assert (on(refused), once(refused), on(lost), once(lost)) == (True, True, True, False)
    assert not on(UnreachableError(URL, "x", was_sent=False, may_pass=False))
    assert not on(refusal(404, "not_found", "", ""))


@contextmanager
def silent_server() -> Iterator[tuple[str, list[bytes]]]:
    """Takes requests and hangs up without an answer."""
    asked: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def work() -> None:
            while True:
                try:
                    taken, _ = listening.accept()
                except OSError:
                    return
                with taken:
                    asked.append(taken.recv(65536).split(b" HTTP")[0])

        threading.Thread(target=work, daemon=True).start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}", asked
        listening.shutdown(socket.SHUT_RDWR)


def test_a_job_is_not_started_twice_when_the_answer_is_lost() -> None:
    with silent_server() as (url, asked), Client.from_token(url, "t", patience=QUICK) as client:
        with pytest.raises(OutcomeUnknownError, match="not known whether it was done"):
            client.start_job("s")
        assert asked == [b"POST /v1/studies/s/jobs"]
        with pytest.raises(UnreachableError):
            client.job("j")
        assert set(asked[1:]) == {b"GET /v1/jobs/j"}
        assert len(asked) > 3
        asked.clear()

        async def start() -> None:
            async with AsyncClient.from_token(url, "t", patience=QUICK) as other:
                await other.start_job("s")

        with pytest.raises(OutcomeUnknownError):
            asyncio.run(start())
        assert len(asked) == 1


@pytest.mark.parametrize(
    ("url", "token", "reason"),
    [
        ("http://cloud.example", "t", "would show the token"),
        ("ftp://cloud.example", "t", "expected an address"),
        ("cloud.example", "t", "expected an address"),
        ("https://a:b@cloud.example", "t", "no name, password"),
        ("https://cloud.example", "", "expected a token"),
        ("https://cloud.example", "a\nb", "expected a token"),
    ],
)
def test_an_address_or_a_token_that_cannot_be(url: str, token: str, reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        Access(url, token)


def test_the_surroundings_say_where_and_who(tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.write_text("secret\n")
    given = {"PRIVET_CLOUD_URL": URL, "PRIVET_TOKEN_FILE": str(path), "PRIVET_CA_FILE": "ca.pem"}
    found = Access.from_environment(given)
    assert found == Access(URL, "secret", Path("ca.pem"))
    assert "secret" not in repr(found)
    for lacking in ({"PRIVET_TOKEN": "t"}, {"PRIVET_CLOUD_URL": URL}, {**given, "PRIVET_TOKEN_FILE": "none"}):
        with pytest.raises(InputError, match=r"PRIVET_(CLOUD_URL|TOKEN)"):
            Access.from_environment(lacking)
    with pytest.raises(InputError, match="no certificates"):
        Client.from_token(URL, "t", ca_file=path)


def test_a_client_keeps_its_token_to_itself() -> None:
    with Client.from_token(URL, "secret") as client:
        assert "secret" not in repr(client)
        assert copy.deepcopy(client) is client
        with pytest.raises(TypeError, match="token"):
            pickle.dumps(client)


def test_the_client_loads_none_of_the_three_programs() -> None:
    code = (
        "import sys, privet.client; "
        "sys.exit(bool({'cloud_service', 'hospital_agent', 'sklearn', 'pandas'} & set(sys.modules)))"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
