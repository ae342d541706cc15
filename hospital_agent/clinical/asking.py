"""A record in the study's words to the model's answer, by the very desk of all other questions at this hospital."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from fastapi import FastAPI, Request

from hospital_agent.clinical.bounds import one_question
from hospital_agent.clinical.services import Clinical
from hospital_agent.local_api.desk import Asked
from hospital_agent.local_api.desk import Desk as LocalDesk
from hospital_agent.models import Answers
from shared.contract.fhir import MappedRecord, MappingReader
from shared.contract.fhir_resources import Gathered, Json


@dataclass(frozen=True, slots=True)
class Desk:
    """Who answers. `now`: the moment of asking, with its zone."""

    app: FastAPI = field(repr=False)
    clinical: Clinical = field(repr=False)
    now: Callable[[], datetime] = field(default=lambda: datetime.now(UTC), repr=False)

    @property
    def _local(self) -> LocalDesk:
        desk: LocalDesk = self.app.state.desk
        return desk

    def model(self, wanted: str) -> Answers:
        """The model that a name or an id means. Raises: InputError: there is none."""
        return self._local.find(wanted)

    def reader(self, wanted: str) -> MappingReader:
        """The mapping by which resources are read for a model. Raises: InputError: no such model, or no mapping."""
        return self.clinical.reader(self.model(wanted).model.manifest.study)

    def read(self, reader: MappingReader, gathered: Gathered, selected: Sequence[Json] = ()) -> MappedRecord:
        """A patient's record now, within the time of one question. Raises: InputError: as the reader's `read`."""
        with one_question():
            return reader.read(gathered, self.now(), selected)

    def answer(self, wanted: str, record: MappedRecord, request: Request, key: str | None = None) -> Asked:
        """The answer to one record. Args: key: what keeps a patient with one version during a trial.

        Raises: InputError: the model cannot answer, or a value is no number where one is due.
        """
        caller = request.scope.get("state", {}).get("caller", "")
        return self._local.ask(wanted, [record.values], caller=caller, key=key, in_study_words=True)
