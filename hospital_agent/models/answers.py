"""Answers for records, here and now: no question ever leaves the hospital."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Final, Self

from hospital_agent.models.model import Model
from shared.contract.asking import AskedReader
from shared.errors import InputError
from shared.tree.prediction import Prediction, predict
from shared.tree.schema import Schema

Record = Mapping[str, str | int | float | Decimal | bool | None]
"""One record by attribute name. An attribute that is left out is missing."""

NOTICE: Final = "Decision support for research; not certified for clinical use. A person decides."


@dataclass(frozen=True, slots=True)
class Answers:
    """A verified model, ready to be asked many times."""

    model: Model
    schema: Schema = field(repr=False)
    names: frozenset[str] = field(repr=False)
    as_study: Callable[[Record], Record] = field(repr=False)
    """A record as the study's data contract reads it: its names and its values."""

    @classmethod
    def of(cls, model: Model, as_study: AskedReader | None = None) -> Self:
        """Read the schema once. Args: as_study: how the data contract of the model's study reads records."""
        schema = model.schema
        names = frozenset(attribute.name for attribute in schema.attributes)
        return cls(model, schema, names, dict if as_study is None else as_study)

    @property
    def _is_noisy(self) -> bool:
        return self.model.manifest.noise is not None

    def document(self, records: Sequence[Record]) -> dict[str, Any]:
        """The answer to a batch of records in the study's words (`as_study`), as plain JSON.

        Raises: InputError: an attribute the study does not have, or a value that is no number where one is due;
            names the record by its place and the attribute, never the value.
        """
        return {
            "model": self.model.id,
            "study": self.model.manifest.study,
            "tree_sha256": self.model.shown_tree.sha256,
            "disclosure": self.model.manifest.disclosure,
            "notice": notice_of(self.model),
            "predictions": [self._answer(number, record) for number, record in enumerate(records, start=1)],
        }

    def _answer(self, number: int, record: Record) -> dict[str, Any]:
        foreign = [name for name in record if name not in self.names]
        if foreign:
            raise InputError(
                "the study has no such attribute",
                where=f"record {number}, attribute {foreign[0][:200]!r}",
                remedy="See the attribute names with `GET /models/{id}` or `privet agent models show`.",
            )
        try:
            prediction = predict(self.model.shown_tree, self.schema, record, self.model.manifest.disclosure)
        except InputError as error:
            raise InputError(str(error), where=f"record {number}") from None
        return _document(prediction, is_noisy=self._is_noisy)


def notice_of(model: Model) -> str:
    """What stands beside every answer of a model."""
    noise, notice = model.manifest.noise, NOTICE + _weights_of(model)
    if noise is None:
        return notice
    sigma = f"{Decimal(noise.sigma_squared).sqrt():.4g}"
    return f"{notice} The counts behind this tree carry noise of standard deviation {sigma} for differential privacy."


def _weights_of(model: Model) -> str:
    weights = model.manifest.class_weights
    if weights is None:
        return ""
    told = ", ".join(f"{label} {weight}" for label, weight in zip(model.schema.classes, weights, strict=True))
    return (
        f" Classes were weighed while the tree grew ({told}): the answer is the class of most weight, which need not "
        "be the most frequent one."
    )


def _document(prediction: Prediction, *, is_noisy: bool) -> dict[str, Any]:
    # The interval knows only the chance of a sample, not that of the noise: for noisy counts it would be too narrow.
    interval = None if is_noisy else prediction.interval
    parted = {} if prediction.parted_at is None else {"parted_at": prediction.parted_at}
    return parted | {
        "class": prediction.label,
        "probability": prediction.probability,
        "interval_95": None if interval is None else list(interval),
        "counts": None if prediction.counts is None else dict(prediction.counts),
        "path": prediction.path,
        "steps": [{"attribute": attribute, "value": value} for attribute, value in prediction.steps],
        "stopped_at": prediction.stopped_at,
        "stop_reason": prediction.stop_reason,
        "note": prediction.note,
    }
