"""Published trees asked over HTTP, as a hospital's own agent is asked; only classes, since the cloud has no counts."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from cloud_service.service.results import Results
from shared.errors import InputError
from shared.protocol.model_card import CardFacts, card, notice, undescribed
from shared.tree.answering import Answer, AnswerBook
from shared.tree.prediction import Value

_HELD: Final = "the study publishes the tree"


@dataclass(frozen=True, slots=True)
class Published:
    """A published tree that is asked. `names`: of the study's attributes. `head`: what stands above the answers."""

    book: AnswerBook = field(repr=False)
    names: frozenset[str]
    head: Mapping[str, Any] = field(repr=False)

    @classmethod
    def of(cls, results: Results, job_id: str) -> Published:
        """Raises: NotPublishedError, UnknownThingError."""
        tree, schema = results.tree(job_id)
        manifest = results.manifest(job_id)
        head = {
            "model": job_id,
            "study": manifest.study,
            "tree_sha256": tree.sha256,
            "disclosure": "class",
            "notice": notice(manifest),
            "name": None,
            "role": "only",
            "intended_use": undescribed(),
            "card": f"/v1/models/{job_id}/card",
        }
        names = frozenset(attribute.name for attribute in schema.attributes)
        return cls(AnswerBook(tree, schema, "class"), names, head)

    def answers(self, records: Sequence[Mapping[str, Value]]) -> list[Answer]:
        """Raises: InputError: an attribute that the study does not have, or a value that cannot be read; names the
        record by its place, never the value."""
        return [self._answer(number, record) for number, record in enumerate(records, start=1)]

    def _answer(self, number: int, record: Mapping[str, Value]) -> Answer:
        foreign = next((name for name in record if name not in self.names), None)
        if foreign is not None:
            raise InputError(
                "the study has no such attribute",
                where=f"record {number}, attribute {foreign[:200]!r}",
                remedy=f"See the attribute names with `GET /v1/jobs/{self.head['model']}/tree`.",
            )
        try:
            return self.book.answer(record)
        except InputError as error:
            raise InputError(str(error), where=f"record {number}") from None

    def text(self, found: Sequence[Answer], ignored: Sequence[str]) -> str:
        """A `shared.wire.predicting.PredictionAnswer` as JSON. Args: ignored: columns of a CSV."""
        head = dict(self.head) | ({"ignored_columns": list(ignored)} if ignored else {})
        told = ", ".join(answer.text for answer in found)
        return f'{json.dumps(head, ensure_ascii=False)[:-1]}, "predictions": [{told}]}}'


def published_card(
    results: Results, job_id: str, evaluations: Sequence[Mapping[str, Any]] = ()
) -> dict[str, Any]:
    """The model card of a published tree. Args: evaluations: those that the study publishes.

    Raises: NotPublishedError, UnknownThingError.
    """
    tree, _ = results.tree(job_id)
    done = results.finished(job_id)
    job = done.job
    facts = CardFacts(
        job.manifest,
        job.mh,
        job.roster,
        done.finished or done.created,
        tree,
        tree.sha256,
        _HELD,
        evaluations=evaluations,
    )
    return card(facts)
