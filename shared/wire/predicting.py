"""A question to a model and its answer, as hospital and cloud describe them over HTTP.

They are no messages of the protocol: nothing of them is signed, and numbers are JSON's own.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator
from pydantic.config import JsonDict

MAX_RECORDS: Final = 10_000
"""Of one request."""
EXAMPLE_CSV: Final = "lumbar pain,temperature\r\nyes,38.5\r\nno,36.9\r\n"
_EXAMPLE: Final[JsonDict] = {"record": {"lumbar pain": "yes", "temperature": 38.5}}

Value = str | int | float | Decimal | bool | None


class Question(BaseModel):
    """One `record` or several `records`, by attribute name.

    `model`: an id or a name, where the path does not say which; without it the newest model answers.
    """

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [_EXAMPLE]})

    model: str | None = None
    record: dict[str, Value] | None = None
    records: Annotated[list[dict[str, Value]], Field(min_length=1, max_length=MAX_RECORDS)] | None = None

    @model_validator(mode="after")
    def _one_of_both(self) -> Question:
        if (self.record is None) == (self.records is None):
            raise ValueError("give either record or records")
        return self


class Step(BaseModel):
    """One question of the tree and the answer that the record gave."""

    attribute: str
    value: str


class Missing(BaseModel):
    """An empty field on the way, and what became of it.

    `declared`: the study says what an empty field counts as. `majority`: the walk ended, and the most frequent class of
    the training records there answers. `every-branch`: all branches answered, as heavily as training records went.
    """

    attribute: str
    treated: Literal["declared", "majority", "every-branch"]


class PredictionOfRecord(BaseModel):
    """The answer for one record.

    `probability`, `interval_95`, `counts`: only as far as the study allows. `covered`: false where a value was unknown
    to the training or missing without a rule for it, so that the walk ended early. `explanation`: all of it in a
    sentence.
    """

    model_config = ConfigDict(populate_by_name=True)

    label: str = Field(alias="class")
    probability: float | None
    interval_95: tuple[float, float] | None
    counts: dict[str, float] | None
    path: str
    steps: list[Step]
    explanation: str
    covered: bool
    missing: list[Missing]
    stopped_at: str | None
    stop_reason: Literal["missing", "unseen"] | None
    parted_at: str | None = None
    note: str | None


class PredictionAnswer(BaseModel):
    """The answer to a request, with which model it came from and what that is for.

    `tree_sha256`: None of a tree that stays shared. `name`: under which the model was asked, if it was by a name.
    `role`: `only`, or during a trial of a new version `champion` or `candidate`. `caution`: where the hospital turned
    away from the study. `ignored_columns`: of a CSV.
    """

    model: str
    study: str
    tree_sha256: str | None
    disclosure: Literal["class", "probability", "counts"]
    notice: str
    name: str | None
    role: Literal["only", "champion", "candidate"]
    intended_use: str
    card: str
    caution: str | None = None
    ignored_columns: list[str] | None = None
    predictions: list[PredictionOfRecord]


EXAMPLE_ANSWER: Final = {
    "model": "0123456789abcdef0123456789abcdef",
    "study": "inflammations",
    "tree_sha256": "ab" * 32,
    "disclosure": "probability",
    "notice": "Decision support for research; not certified for clinical use. A person decides.",
    "name": "study:inflammations",
    "role": "champion",
    "intended_use": "Second opinion on suspected nephritis of adults.",
    "card": "/v1/models/0123456789abcdef0123456789abcdef/card",
    "predictions": [
        {
            "class": "nephritis",
            "probability": 0.9,
            "interval_95": [0.6, 0.98],
            "counts": None,
            "path": "lumbar pain = yes and temperature > 38",
            "steps": [
                {"attribute": "lumbar pain", "value": "yes"},
                {"attribute": "temperature", "value": "> 38"},
            ],
            "explanation": "nephritis, because lumbar pain = yes and temperature > 38.",
            "covered": True,
            "missing": [],
            "stopped_at": None,
            "stop_reason": None,
            "note": None,
        }
    ],
}
