"""Each request of the people's API as a value: what is sent, whether it may be sent twice, how its answer is read."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, Generic, TypeVar
from urllib.parse import quote

from privet.client.answers import (
    Event,
    Hospital,
    Job,
    JobSummary,
    Me,
    Prediction,
    PublishedTree,
    Result,
    SignedIn,
    Study,
    StudySummary,
    reader,
)
from shared.tree.schema import Schema

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Call(Generic[T]):
    """One request.

    `may_repeat`: whether it may be sent again though it may have been carried out. `wait_seconds`: how long the cloud
    itself may wait before it answers. `within_seconds`: how long repeats may go on, None for the client's patience.
    """

    method: str
    path: str
    read: Callable[[bytes], T] = field(repr=False)
    query: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = field(default=None, repr=False)
    may_repeat: bool = True
    wait_seconds: float = 0.0
    within_seconds: float | None = None
    accept: str = "application/json"


_signed_in: Final = reader(SignedIn)
_me: Final = reader(Me)
_hospitals: Final = reader(tuple[Hospital, ...], "hospitals")
_studies: Final = reader(tuple[StudySummary, ...], "studies")
_summary: Final = reader(StudySummary)
_study: Final = reader(Study)
_job: Final = reader(Job)
_jobs: Final = reader(tuple[JobSummary, ...], "jobs")
_events: Final = reader(tuple[Event, ...], "events")
_result: Final = reader(Result)
_tree: Final = reader(PublishedTree)
_prediction: Final = reader(Prediction)
_document: Final = reader(dict[str, Any])


def sign_in(name: str, password: str, code: str) -> Call[SignedIn]:
    """A session for somebody with an account."""
    return _post("/v1/sign-in", {"name": name, "password": password, "code": code}, _signed_in)


def sign_out() -> Call[bytes]:
    """The end of a session."""
    return Call("POST", "/v1/sign-out", bytes)


def me() -> Call[Me]:
    """Whose token it is."""
    return Call("GET", "/v1/me", _me)


def hospitals() -> Call[tuple[Hospital, ...]]:
    """Every registered hospital."""
    return Call("GET", "/v1/hospitals", _hospitals)


def studies() -> Call[tuple[StudySummary, ...]]:
    """Every study that this token sees."""
    return Call("GET", "/v1/studies", _studies)


def study(study_id: str) -> Call[Study]:
    """One study."""
    return Call("GET", _at("studies", study_id), _study)


def create_study(
    study_id: str, question: str, schema: Schema | Mapping[str, Any], rules: Mapping[str, Any]
) -> Call[StudySummary]:
    """A new study; the cloud answers the same again alike, so it may be repeated."""
    plain = schema.to_json() if isinstance(schema, Schema) else schema
    return _post("/v1/studies", {"id": study_id, "question": question, "schema": plain, **rules}, _summary)


def close_study(study_id: str) -> Call[Study]:
    """End a study for good; doing it again changes nothing."""
    return Call("POST", _at("studies", study_id, "close"), _study)


def start_job(study_id: str, rules: Mapping[str, Any]) -> Call[Job]:
    """A new job. Sent twice it is two jobs."""
    return _post(_at("studies", study_id, "jobs"), rules, _job, may_repeat=False)


def jobs(
    study_id: str | None, state: str | None, before: str | None, limit: int
) -> Call[tuple[JobSummary, ...]]:
    """A page of jobs, from the newest on."""
    given = {"study": study_id, "state": state, "before": before, "limit": str(limit)}
    return Call("GET", "/v1/jobs", _jobs, {name: text for name, text in given.items() if text is not None})


def job(job_id: str) -> Call[Job]:
    """One job."""
    return Call("GET", _at("jobs", job_id), _job)


def cancel_job(job_id: str) -> Call[Job]:
    """End a job. One that is over answers `conflict`."""
    return Call("POST", _at("jobs", job_id, "cancel"), _job)


def events(
    job_id: str, after: int, wait_seconds: float, within_seconds: float | None = None
) -> Call[tuple[Event, ...]]:
    """A page of a job's story; the cloud waits for news so long as is said."""
    query = {"after": str(after), "wait": f"{wait_seconds:g}"}
    path = _at("jobs", job_id, "events")
    return Call("GET", path, _events, query, wait_seconds=wait_seconds, within_seconds=within_seconds)


def result(job_id: str) -> Call[Result]:
    """Who attested which tree."""
    return Call("GET", _at("jobs", job_id, "result"), _result)


def tree(job_id: str) -> Call[PublishedTree]:
    """The tree, where the study publishes it."""
    return Call("GET", _at("jobs", job_id, "tree"), _tree)


def predict(job_id: str, record: Mapping[str, str | int | float | None]) -> Call[Prediction]:
    """The published tree's answer for one record."""
    return _post(_at("jobs", job_id, "predict"), {"record": dict(record)}, _prediction)


def predict_many(
    job_id: str, records: Sequence[Mapping[str, str | int | float | None]]
) -> Call[dict[str, Any]]:
    """The published tree's answers to records, with notice and origin."""
    body = {"records": [dict(record) for record in records]}
    return _post(_at("models", job_id, "predict"), body, _document)


def model_card(job_id: str) -> Call[dict[str, Any]]:
    """What a published tree is for, where it came from, and its limits."""
    return Call("GET", _at("models", job_id, "card"), _document)


def evaluation(job_id: str) -> Call[dict[str, Any]]:
    """Published figures of a finished job."""
    return Call("GET", _at("jobs", job_id, "evaluation"), _document)


def ledger(job_id: str) -> Call[dict[str, Any]]:
    """Who learned what by a job."""
    return Call("GET", _at("jobs", job_id, "ledger"), _document)


def dossier(study_id: str) -> Call[dict[str, Any]]:
    """Everything about a study for an ethics board."""
    return Call("GET", _at("studies", study_id, "dossier"), _document)


def audit(job_id: str) -> Call[bytes]:
    """A job's log as signed lines, for `privet audit verify`."""
    return Call("GET", _at("jobs", job_id, "audit"), bytes, accept="application/x-ndjson")


def _at(*parts: str) -> str:
    return "/v1/" + "/".join(map(partial(quote, safe=""), parts))


def _post(
    path: str, document: Mapping[str, Any], read: Callable[[bytes], T], *, may_repeat: bool = True
) -> Call[T]:
    body = json.dumps(document, ensure_ascii=False, allow_nan=False).encode()
    return Call("POST", path, read, body=body, may_repeat=may_repeat)
