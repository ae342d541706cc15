"""The models that are asked, ready to be asked many times."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from hospital_agent.models import Answers, Shelf
from hospital_agent.models.card import evaluation_of
from hospital_agent.models.finding import no_model_of
from hospital_agent.models.model import Model
from hospital_agent.models.names import LATEST
from hospital_agent.models.tallies import Cabinet, TallyResult
from shared.contract.asking import AskedReader

_MOST_STUDIES: Final = 1000


@dataclass(slots=True)
class Library:
    """Verified models, each read once; a changed or removed file is noticed by its time stamp.

    `reader_of`: how the data contract of a study reads questions about its models; None where it has none.
    `cabinet`: what jobs that only count have opened, None where nobody looks.
    """

    shelf: Shelf
    reader_of: Callable[[str], AskedReader | None] = lambda _study: None
    cabinet: Cabinet | None = None
    _read: dict[str, tuple[int, Answers, str]] = field(default_factory=dict, repr=False)
    _newest: dict[str | None, tuple[int, str]] = field(default_factory=dict, repr=False)

    def answers(self, wanted: str | None) -> Answers:
        """A model by id or its beginning; None: the newest. Raises: InputError."""
        if wanted is None:
            return self.newest()
        known = self._read.get(wanted)
        if known is not None:
            try:
                if os.stat(known[2]).st_mtime_ns == known[0]:
                    return known[1]
            except FileNotFoundError:
                del self._read[wanted]
        job = self.shelf.find(wanted)
        path = self.shelf.path_of(job)
        stamp = path.stat().st_mtime_ns
        known = self._read.get(job)
        if known is None or known[0] != stamp:
            model = self.shelf.get(job)
            known = (stamp, Answers.of(model, self.reader_of(model.manifest.study)), str(path))
            self._read[job] = known
        return known[1]

    def newest(self, study: str | None = None) -> Answers:
        """The newest model whose tree is here, of a study or of all. Raises: InputError: there is none, or altered."""
        try:
            stamp = os.stat(self.shelf.folder).st_mtime_ns
        except FileNotFoundError:
            stamp = 0
        known = self._newest.get(study)
        if known is not None and known[0] == stamp:
            return self.answers(known[1])
        for job in reversed(self.shelf.ids()):
            found = self.answers(job)
            if found.book is not None and study in (None, found.model.manifest.study):
                if len(self._newest) < _MOST_STUDIES:
                    self._newest[study] = (stamp, job)
                return found
        if study is None:
            self.shelf.newest()  # says what is missing
        raise no_model_of(study or LATEST)

    def evaluations(self, model: Model) -> list[dict[str, object]]:
        """What evaluation jobs have opened about a model, oldest first; none of one whose tree is not here."""
        if model.tree is None:
            return []
        return [evaluation_of(result, model) for result in self.evaluating(model)]

    def evaluating(self, model: Model) -> list[TallyResult]:
        """The counts behind them, as the jobs opened them. Raises: InputError: one was altered."""
        found = [] if self.cabinet is None else [self.cabinet.get(job) for job in self.cabinet.ids()]
        return [result for result in found if _is_about(result, model)]

    def histogram(self, model: Model) -> Mapping[str, Sequence[int]]:
        """Records of all hospitals by attribute and value, where a job of the same study has counted them."""
        if self.cabinet is None:
            return {}
        for job in reversed(self.cabinet.ids()):
            result = self.cabinet.get(job)
            same = result.manifest.study == model.manifest.study
            if same and result.kind == "histogram" and result.schema.attributes == model.schema.attributes:
                return {
                    attribute.name: [sum(row) for row in table.rows]
                    for attribute, table in zip(result.schema.attributes, result.tables, strict=True)
                }
        return {}


def _is_about(result: TallyResult, model: Model) -> bool:
    asked = result.manifest.tally
    return asked is not None and asked.kind == "evaluation" and asked.model == model.id
