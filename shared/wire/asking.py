"""A hospital's signed wish to ask a tree that stays shared: the cloud then starts the job of purpose `predict`.

How often and about how many records a hospital may wish so is a part of the study's document.
"""

from __future__ import annotations

from typing import Annotated, Final, Literal, Self

from pydantic import Field, model_validator

from shared.wire.base import Base64Url, Count, Hex16, Hex64, Id, WireModel

MAX_ASKED_RECORDS: Final = 10_000
"""Of one question."""
MAX_QUESTIONS: Final = 100_000
"""Of one hospital, as a study may allow them."""
MAX_RECORDS_ALLOWED: Final = 10**9


class AskingRules(WireModel):
    """The most that each hospital may ask the shared trees of a study by itself: questions, and records in them.

    A question is a job. `..._per_day`: within any 24 hours; the others: as long as the study lasts.
    """

    questions_per_day: Annotated[int, Field(ge=1, le=MAX_QUESTIONS)]
    questions: Annotated[int, Field(ge=1, le=MAX_QUESTIONS)]
    records_per_day: Annotated[int, Field(ge=1, le=MAX_RECORDS_ALLOWED)]
    records: Annotated[int, Field(ge=1, le=MAX_RECORDS_ALLOWED)]

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.questions_per_day > self.questions or self.records_per_day > self.records:
            raise ValueError("asking: expected no more in a day than altogether")
        return self


class Ask(WireModel):
    """`model`: the job whose shared tree is asked. `question`: drawn anew for every question, so that asking twice
    starts one job. `records`: how many it is about; nothing else of them is in it. `time`: Unix seconds."""

    v: Literal[1] = 1
    hospital: Id
    study: Id
    model: Hex16
    question: Hex16
    records: Annotated[int, Field(ge=1, le=MAX_ASKED_RECORDS)]
    time: Count


class SignedAsk(WireModel):
    """Body of `POST /v1/agent/studies/{study}/ask`."""

    ask: Ask
    signature: Hex64


class AttestedAsk(WireModel):
    """The wish in the manifest of the job that it began, with the hospital's certificate (DER): who asks, and that it
    does, is checked by every member."""

    ask: Ask
    signature: Hex64
    certificate: Annotated[Base64Url, Field(max_length=8192)]


class Asked(WireModel):
    """The answer: the job that was started."""

    job: Hex16
