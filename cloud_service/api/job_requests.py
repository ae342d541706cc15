"""What people send to start a job."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Final

from pydantic import BaseModel, ConfigDict, Field

from cloud_service.api.tally_models import SelectionIn, TallyIn
from cloud_service.service.planning import JobPlan, Mode, NoisePlan, SecretPlan
from shared.ids import ID_PATTERN
from shared.wire.base import DecimalText
from shared.wire.growing import MAX_CLASS_WEIGHT, PruningSpec, Share
from shared.wire.manifest import (
    MAX_AGENTS,
    MAX_ATTRIBUTES,
    Criterion,
    Deadlines,
    KeyMode,
    PaillierProfile,
    Thresholds,
)
from shared.wire.secret import COMPUTE_PARTIES, MAX_RECORDS, Purpose, ResultKind

Id = Annotated[str, Field(pattern=ID_PATTERN)]
_PLAN: Final = JobPlan()
_SECRET: Final = SecretPlan()


class SecretIn(BaseModel):
    """What a job of mode id3 or gain-ratio says beyond the others; all has defaults."""

    model_config = ConfigDict(extra="forbid")

    compute_parties: Annotated[
        list[Id] | None,
        Field(
            min_length=COMPUTE_PARTIES,
            max_length=COMPUTE_PARTIES,
            description="The three that compute on shares, in order; by default the first three invited",
        ),
    ] = None
    purpose: Annotated[
        Purpose, Field(description="train, or predict: classes of records by a shared tree")
    ] = _SECRET.purpose
    result: Annotated[
        ResultKind, Field(description="open to the result parties, or shared: nobody learns the tree")
    ] = _SECRET.result
    result_parties: Annotated[list[Id] | None, Field(description="By default every member")] = None
    open_empty: Annotated[bool, Field(description="id3: also open whether a node is empty")] = (
        _SECRET.open_empty
    )
    grid: Annotated[
        dict[str, DecimalText],
        Field(description="gain-ratio: by attribute the public step that thresholds are rounded up to"),
    ] = {}
    max_records: Annotated[int, Field(ge=1, le=MAX_RECORDS)] = _SECRET.max_records
    model: Annotated[str | None, Field(description="predict: the job whose shared tree is asked")] = None

    def plan(self) -> SecretPlan:
        """The same for the use case."""
        return SecretPlan(**{name: getattr(self, name) for name in type(self).model_fields})


class NoiseIn(BaseModel):
    """Differential privacy of a job of mode ppsdt: every summed count carries noise, drawn by the hospitals together.

    More noise tells less of a record and costs accuracy; the answer says what it comes to.
    """

    model_config = ConfigDict(extra="forbid", json_schema_extra={"example": {"sigma": "20"}})

    sigma: Annotated[
        DecimalText,
        Field(
            description="Standard deviation of each sum's noise: 95 of 100 counts are off by 2 sigma at most"
        ),
    ]
    untrusted: Annotated[
        int,
        Field(
            ge=0, le=1022, description="Hospitals that may leave out their part without breaking the promise"
        ),
    ] = 1
    delta: Annotated[
        DecimalText, Field(description="The chance beside which epsilon is told, such as 0.000001")
    ] = "0.000001"

    def plan(self) -> NoisePlan:
        """The same for the use case."""
        return NoisePlan(Decimal(self.sigma), self.untrusted, self.delta)


class JobIn(BaseModel):
    """A new job. All has defaults: `{}` invites every registered member with the protocol's rules."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "example": {"invited": ["h1", "h2", "h3"], "min_node": 10, "min_child": 5, "max_depth": 8}
        },
    )

    invited: Annotated[list[Id], Field(min_length=3, max_length=MAX_AGENTS)] | None = None
    mode: Annotated[
        Mode, Field(description="ppsdt: encrypted counts; id3 and gain-ratio: on secret shares")
    ] = _PLAN.mode
    secret: SecretIn = SecretIn()
    profile: Annotated[PaillierProfile, Field(description="Of mode ppsdt")] = _PLAN.profile
    criterion: Annotated[Criterion, Field(description="Of mode ppsdt; the others fix it")] = _PLAN.criterion
    min_hospitals: Annotated[int, Field(ge=3, le=MAX_AGENTS)] = _PLAN.min_hospitals
    min_node: Annotated[int, Field(ge=1, le=2**46)] = _PLAN.min_node
    min_child: Annotated[int, Field(ge=1, le=2**46)] = _PLAN.min_child
    max_depth: Annotated[int, Field(ge=1, le=MAX_ATTRIBUTES)] | None = _PLAN.max_depth
    split_on_zero_gain: bool = _PLAN.split_on_zero_gain
    skip_known: bool = _PLAN.skip_known
    max_shrinks: Annotated[int, Field(ge=0, le=16)] = _PLAN.max_shrinks
    deadlines: Deadlines = _PLAN.deadlines
    key_mode: Annotated[
        KeyMode | None,
        Field(
            description="Of mode ppsdt: shared, every hospital can open a sum; threshold, several together, which "
            "costs their being online and about as many times the bytes. By default that of the federation's key, "
            "which alone can be used; said here, another one is refused"
        ),
    ] = None
    noise: Annotated[NoiseIn | None, Field(description="Differential privacy; left out, sums are exact")] = (
        None
    )
    min_gain: Annotated[Share | None, Field(description="Least information gain of a split, in bits")] = None
    class_weights: Annotated[
        dict[str, Annotated[int, Field(ge=1, le=MAX_CLASS_WEIGHT)]] | None,
        Field(
            description="Of modes ppsdt and id3, by label: how many times a record of the class counts in gains and "
            "majorities; 1 for a class that is not named"
        ),
    ] = None
    pruning: Annotated[
        PruningSpec | None,
        Field(
            description="Cut the grown tree back, by what its members know already; modes id3 and gain-ratio have "
            "majority, and collapse of subtrees whose leaves are of one class"
        ),
    ] = None
    thresholds: Annotated[
        Thresholds | None,
        Field(
            description="Of mode ppsdt, profile hardened: split attributes whose values have an order (intervals "
            "between cut points, or treat_as ordered) in two where the information gain is greatest, again "
            "and again; gain-mdl asks more gain of an attribute with many places to split at. Left out, every "
            "value is a branch"
        ),
    ] = None
    tally: Annotated[TallyIn | None, Field(description="Count only, and grow no tree")] = None
    selection: Annotated[SelectionIn | None, Field(description="Hold records out")] = None

    def plan(self) -> JobPlan:
        """The same for the use case."""
        fields = {name: getattr(self, name) for name in type(self).model_fields}
        blocks = {
            name: None if block is None else block.plan()
            for name, block in (
                ("noise", self.noise),
                ("tally", self.tally),
                ("selection", self.selection),
            )
        }
        return JobPlan(**{**fields, "secret": self.secret.plan(), **blocks})
