"""A record in the study's words to the model's answer, by the very way of all other questions at this hospital."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from fastapi import FastAPI, Request

from hospital_agent.clinical.services import Clinical
from hospital_agent.models import Answers
from shared.contract.fhir import MappedRecord
from shared.contract.fhir_resources import Gathered, Json


@dataclass(frozen=True, slots=True)
class Desk:
    """Who answers. `now`: the moment of asking, with its zone."""

    app: FastAPI = field(repr=False)
    clinical: Clinical = field(repr=False)
    now: Callable[[], datetime] = field(default=lambda: datetime.now(UTC), repr=False)

    def model(self, wanted: str) -> Answers:
        """The model that a name or an id means. Raises: InputError."""
        answers: Answers = self.app.state.library.answers(wanted)
        return answers

    def record(self, answers: Answers, gathered: Gathered, selected: list[Json]) -> MappedRecord:
        """What the resources say. Raises: InputError: no mapping, or a unit that it does not know."""
        return self.clinical.reader(answers.model.manifest.study).read(gathered, self.now(), selected)

    def answer(self, answers: Answers, record: MappedRecord, request: Request) -> dict[str, Any]:
        """The document of an answer to one record."""
        return answers.document([record.values])
