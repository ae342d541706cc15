"""The card of a model on this hospital's shelf, with what evaluation jobs have opened about it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hospital_agent.models.model import Model
from hospital_agent.models.tallies import TallyResult, confusion_of, tally_document
from shared.evaluation.confusion import Confusion, accuracy, balanced_accuracy
from shared.evaluation.measures import Measure
from shared.protocol.model_card import CardFacts, card, card_markdown, undescribed

__all__ = ["card_markdown", "card_of", "evaluation_of", "undescribed"]


def card_of(
    model: Model, intended_use: str | None, evaluations: Sequence[Mapping[str, Any]] = ()
) -> dict[str, Any]:
    """The card as plain JSON. Args: intended_use: this hospital's own words; evaluations: see `evaluation_of`."""
    facts = CardFacts(
        model.manifest,
        model.mh,
        model.hospitals,
        model.saved,
        model.tree,
        model.tree_sha256,
        model.told,
        intended_use,
        evaluations,
    )
    return card(facts)


def evaluation_of(result: TallyResult, model: Model) -> dict[str, Any]:
    """What an evaluation job opened about a model, in a few figures with their 95 % intervals."""
    document = tally_document(result, model)
    classes = tuple(document["classes"])
    cells = confusion_of(document["nodes"], document["answers"], document["votes"], len(classes))
    matrix = Confusion(classes, tuple(map(tuple, cells)))
    return {
        "job": result.job,
        "on": {"test": "held-out records", "train": "the records that it was grown on", "all": "all records"}[
            document["use"]
        ],
        "hospitals": document["hospitals"],
        "records": matrix.records,
        "accuracy": _figure(accuracy(matrix)),
        "balanced_accuracy": _figure(balanced_accuracy(matrix)),
    }


def _figure(measure: Measure) -> dict[str, float | None]:
    return {
        name: None if value is None else round(float(value), 4)
        for name, value in (("value", measure.value), ("low", measure.low), ("high", measure.high))
    }
