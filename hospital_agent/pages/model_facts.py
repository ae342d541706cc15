"""What a page tells of a model besides its tree: its card, how good it is, whether its patients have changed, names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from hospital_agent.journal import Journal
from hospital_agent.local_api.desk import Desk
from hospital_agent.models import Model
from hospital_agent.models.reporting import Choices, Evidence, report_of
from hospital_agent.people.ledgers import ledgers_of
from shared.errors import InputError
from shared.evaluation.floors import DEFAULT_FLOOR
from shared.evaluation.report_content import report_document
from shared.evaluation.report_page import report_page
from shared.protocol.disclosure import Entry


@dataclass(frozen=True, slots=True)
class Pointing:
    """A name that programs ask by, and what this model is under it: `champion` or `candidate`."""

    name: str
    role: str


@dataclass(frozen=True, slots=True)
class Drift:
    """How far those that were asked about differ from those it was trained on: words, and no number of a patient.

    `weeks`: of each, `since`, `until`, `records`, `state`, as the API tells them.
    """

    records: int
    state: str
    attributes: tuple[tuple[str, str], ...]
    weeks: tuple[Mapping[str, Any], ...] = ()


def facts_of(desk: Desk, model: Model) -> dict[str, Any]:
    """For the template `model.html`. Raises: InputError: what this hospital keeps of the model was altered."""
    return {
        "card": desk.card(model.id),
        "names": list(_names(desk, model.id)),
        "drift": None if model.tree is None else _drift(desk, model.id),
    }


def _names(desk: Desk, model: str) -> Iterator[Pointing]:
    for known in desk.named():
        candidate = known["candidate"] or {}
        if known["model"] == model:
            yield Pointing(str(known["name"]), "champion")
        if candidate.get("model") == model:
            yield Pointing(str(known["name"]), "candidate")


def _drift(desk: Desk, model: str) -> Drift | None:
    try:
        told: Mapping[str, Any] = desk.drift(model)
    except InputError:
        return None
    if not told:
        return None
    shifts = tuple((str(each["name"]), str(each["state"])) for each in told["attributes"])
    weeks = told["over_time"]
    return Drift(int(told["records"]), str(told["state"]), shifts, tuple(weeks) if len(weeks) > 1 else ())


def report_html(desk: Desk, journal: Journal, model: Model, own: str, version: str) -> bytes:
    """The report on a model as a page of its own, with the usual floor: what `privet agent report --html` writes."""
    evidence = Evidence(evaluations=desk.library.evaluating(model), fact=_ledger(journal, model.id, own))
    report = report_of(model, evidence, Choices(DEFAULT_FLOOR), version)
    return report_page(report_document(report)).encode()


def _ledger(journal: Journal, job: str, own: str) -> tuple[Entry, ...] | None:
    """None where the journal has forgotten the job."""
    entry = journal.job(job)
    return None if entry is None else ledgers_of(journal, entry, own)[1].entries
