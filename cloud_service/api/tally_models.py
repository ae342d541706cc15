"""What people send of jobs that only count, and of jobs that hold records out."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from cloud_service.service.tallying import Records, SelectionPlan, TallyPlan
from shared.wire.base import Hex16
from shared.wire.tally import MAX_PARTS, MAX_PLACES, TallyKind


class TallyIn(BaseModel):
    """A job that only counts: how good a tree is (evaluation), or values for cut points (histogram).

    Hospitals learn the counts, summed over all of them; the cloud does not.
    """

    model_config = ConfigDict(extra="forbid", json_schema_extra={"example": {"kind": "histogram"}})

    kind: TallyKind
    model: Annotated[Hex16 | None, Field(description="evaluation: the job that grew the tree")] = None
    records: Annotated[
        Records | None,
        Field(
            description="evaluation: those held out of that job, by default, those it was grown on, or all"
        ),
    ] = None
    places: Annotated[
        int | None,
        Field(ge=1, le=MAX_PLACES, description="evaluation: at least the tree's nodes; by default a bound"),
    ] = None

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        said = {name for name in ("model", "records", "places") if getattr(self, name) is not None}
        if (self.kind == "evaluation") != ("model" in said) or (self.kind == "histogram" and said):
            raise ValueError("model: an evaluation names it, and a histogram takes no more than its kind")
        return self

    def plan(self) -> TallyPlan:
        """The same for the use case."""
        return TallyPlan(self.kind, self.model, self.records, self.places)


class SelectionIn(BaseModel):
    """Grow on the records that are left when some parts of them are held out, each by a keyed hash of its own hospital.

    Jobs of one seed and one number of parts hold out alike.
    """

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"example": {"parts": 10, "first": 0, "last": 3}}
    )

    parts: Annotated[int, Field(ge=2, le=MAX_PARTS)]
    first: Annotated[int, Field(ge=0, lt=MAX_PARTS, description="The first part held out, from 0")]
    last: Annotated[int, Field(ge=1, le=MAX_PARTS, description="The part behind the last one held out")]
    seed: Annotated[Hex16 | None, Field(description="By default a fresh one")] = None

    def plan(self) -> SelectionPlan:
        """The same for the use case."""
        return SelectionPlan(self.parts, self.first, self.last, self.seed)
