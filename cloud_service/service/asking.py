"""Published trees asked over HTTP, as a hospital's own agent is asked; only classes, since the cloud has no counts."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from cloud_service.service.results import Results
from shared.errors import InputError
from shared.protocol.model_card import NO_WORDS, CardFacts, card, notice
from shared.tree.answering import AnswerBook
from shared.tree.prediction import Value

_HELD: Final = "the study publishes the tree"


def answer_text(results: Results, job_id: str, records: Sequence[Mapping[str, Value]]) -> str:
    """The answer to records, as the text of a `shared.wire.predicting.PredictionAnswer`.

    Raises: NotPublishedError, UnknownThingError; InputError: an attribute that the study does not have, or a value
        that cannot be read; names the record by its place, never the value.
    """
    tree, schema = results.tree(job_id)
    manifest = results.manifest(job_id)
    book, names = AnswerBook(tree, schema, "class"), {attribute.name for attribute in schema.attributes}
    head: dict[str, Any] = {
        "model": job_id,
        "study": manifest.study,
        "tree_sha256": tree.sha256,
        "disclosure": "class",
        "notice": notice(manifest),
        "name": None,
        "role": "only",
        "intended_use": NO_WORDS,
        "card": f"/v1/models/{job_id}/card",
    }
    told = []
    for number, record in enumerate(records, start=1):
        foreign = next((name for name in record if name not in names), None)
        if foreign is not None:
            raise InputError(
                "the study has no such attribute",
                where=f"record {number}, attribute {foreign[:200]!r}",
                remedy=f"See the attribute names with `GET /v1/jobs/{job_id}/tree`.",
            )
        try:
            told.append(book.answer(record).text)
        except InputError as error:
            raise InputError(str(error), where=f"record {number}") from None
    return f'{json.dumps(head, ensure_ascii=False)[:-1]}, "predictions": [{", ".join(told)}]}}'


def published_card(results: Results, job_id: str) -> dict[str, Any]:
    """The model card of a published tree. Raises: NotPublishedError, UnknownThingError."""
    tree, _ = results.tree(job_id)
    done = results.finished(job_id)
    job = done.job
    facts = CardFacts(
        job.manifest, job.mh, job.roster, done.finished or done.created, tree, tree.sha256, _HELD
    )
    return card(facts)
