"""Answers for records, here and now: no question ever leaves the hospital."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Self

from hospital_agent.models.model import Model
from shared.contract.asking import AskedReader
from shared.errors import InputError
from shared.protocol.model_card import notice
from shared.tree.answering import Answer, AnswerBook
from shared.tree.schema import Schema

Record = Mapping[str, str | int | float | Decimal | bool | None]
"""One record by attribute name. An attribute that is left out is missing."""


@dataclass(frozen=True, slots=True)
class Answers:
    """A verified model, ready to be asked many times."""

    model: Model
    schema: Schema = field(repr=False)
    names: frozenset[str] = field(repr=False)
    as_study: Callable[[Record], Record] = field(repr=False)
    """A record as the study's data contract reads it: its names and its values."""
    derive: Callable[[Record], Record] = field(repr=False)
    """A record in the study's words with what the contract makes of several of its columns."""
    book: AnswerBook | None = field(repr=False)
    """None where the tree is not here."""
    head: Mapping[str, Any] = field(repr=False)
    """What stands above the predictions of every answer."""
    labels: Mapping[str, int] = field(repr=False)
    """Class to its index."""

    @classmethod
    def of(cls, model: Model, as_study: AskedReader | None = None) -> Self:
        """Read the schema once. Args: as_study: how the data contract of the model's study reads records."""
        schema, manifest = model.schema, model.manifest
        names = frozenset(attribute.name for attribute in schema.attributes)
        head = {
            "model": model.id,
            "study": manifest.study,
            "tree_sha256": model.tree_sha256,
            "disclosure": manifest.disclosure,
            "notice": notice_of(model),
        }
        labels = {label: index for index, label in enumerate(schema.classes)}
        book = None
        if model.tree is not None:
            book = AnswerBook(model.tree, schema, manifest.disclosure, is_noisy=manifest.noise is not None)
        read = dict if as_study is None else as_study
        derive = dict if as_study is None else as_study.derive
        return cls(model, schema, names, read, derive, book, head, labels)

    def in_words(self, records: Sequence[Record], *, in_study_words: bool) -> list[Record]:
        """Records as `ask` takes them. Args: in_study_words: their names and values are the study's already.

        Raises: InputError: columns of which an attribute cannot be made; one that is given twice.
        """
        return list(map(self.derive if in_study_words else self.as_study, records))

    def document(self, records: Sequence[Record]) -> dict[str, Any]:
        """The answer to a batch of records in the study's words (`as_study`), as plain JSON.

        Raises: InputError: the tree is not here; an attribute the study does not have, or a value that is no number
            where one is due; names the record by its place and the attribute, never the value.
        """
        found = self.ask(records)
        return {**self.head, "predictions": [dict(answer.document) for answer in found]}

    def ask(self, records: Iterable[Record]) -> list[Answer]:
        """The answers to records in the study's words, in their order. Raises: InputError: as `document`."""
        if self.book is None:
            _ = self.model.shown_tree  # says why it is not here
            raise InputError("the tree is not here", where=f"model {self.model.id}")
        answer, names, found = self.book.answer, self.names, []
        for number, record in enumerate(records, start=1):
            if not record.keys() <= names:
                raise self._foreign(number, record)
            try:
                found.append(answer(record))
            except InputError as error:
                raise InputError(str(error), where=f"record {number}") from None
        return found

    def _foreign(self, number: int, record: Record) -> InputError:
        foreign = next(name for name in record if name not in self.names)
        return InputError(
            "the study has no such attribute",
            where=f"record {number}, attribute {foreign[:200]!r}",
            remedy="See the attribute names with `GET /v1/models/{id}` or `privet agent models show`.",
        )


def notice_of(model: Model) -> str:
    """What stands beside every answer of a model."""
    return notice(model.manifest)
