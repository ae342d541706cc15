"""What a job of a secret mode agrees on beyond the other jobs, and how its parties report where they stand.

The manifest's block `secret`, the endpoint of a compute party in its acceptance, and the progress that members report
to the cloud: sizes and times only.
"""

from __future__ import annotations

from typing import Annotated, Final, Literal, Self

from pydantic import Field, StringConstraints, model_validator

from shared.wire.asking import Ask, AttestedAsk
from shared.wire.base import Count, DecimalText, Hex16, Hex32, Hex64, Id, WireModel, is_absent

COMPUTE_PARTIES: Final = 3
MAX_RECORDS: Final = 2**24 - 2
"""Of all hospitals of a secret job together: mode I's table has no more entries, and mode G's numbers fit 31 bits."""
DEFAULT_RECORDS: Final = 2**20
MAX_HEIGHT: Final = 10
"""Of mode G: a layer has room for 2^height groups, and the opened result for as many leaves."""

SecretProfile = Literal["secret-id3", "secret-gainratio"]
ResultKind = Literal["open", "shared"]
Purpose = Literal["train", "predict"]
FramesGo = Literal["direct", "relayed"]


class GridSpec(WireModel):
    """Mode G: the public step, from the attribute's minimum on, to whose multiples its thresholds are rounded up."""

    attribute: Count
    step: DecimalText


class SecretSpec(WireModel):
    """The block `secret` of a manifest.

    `compute_parties`: P0, P1, P2 in the order of the ring. `result`: `open`: the tree (of `predict`: the classes) is
    opened to the result parties; `shared`: nobody learns it, the compute parties keep it shared. `result_parties`: None
    for every member. `open_empty`: mode I also opens whether a node is empty, as the thesis does. `max_records`: most
    records of all members together. `model`: for `predict`, the job whose shared tree is asked. `asked`: the wish of
    the hospital that asks by itself; None where a person at the cloud began the job.
    """

    compute_parties: Annotated[list[Id], Field(min_length=COMPUTE_PARTIES, max_length=COMPUTE_PARTIES)]
    purpose: Purpose = "train"
    result: ResultKind = "open"
    result_parties: Annotated[list[Id], Field(min_length=1)] | None = None
    open_empty: bool = False
    grid: Annotated[list[GridSpec], Field(max_length=1024, default_factory=list)]
    max_records: Annotated[int, Field(ge=1, le=MAX_RECORDS)] = DEFAULT_RECORDS
    model: Hex16 | None = None
    asked: Annotated[AttestedAsk | None, Field(exclude_if=is_absent)] = None

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if len(set(self.compute_parties)) != COMPUTE_PARTIES:
            raise ValueError("compute_parties: expected three different hospitals")
        if self.result_parties is not None and self.result_parties != sorted(set(self.result_parties)):
            raise ValueError("result_parties: expected different hospitals, sorted by id")
        if (self.purpose == "predict") != (self.model is not None):
            raise ValueError("model: named for purpose predict, and only there")
        if self.result == "shared" and (self.purpose == "predict" or self.result_parties is not None):
            raise ValueError("result: shared is for a tree in training, and has no result_parties")
        if [entry.attribute for entry in self.grid] != sorted({entry.attribute for entry in self.grid}):
            raise ValueError("grid: expected each attribute once, in order")
        if self.asked is not None and not self._is_what_was_asked(self.asked.ask):
            raise ValueError("asked: expected the tree, the hospital and the number of records of the wish")
        return self

    def _is_what_was_asked(self, ask: Ask) -> bool:
        asked = (self.purpose, self.model, self.result_parties, self.max_records)
        return asked == ("predict", ask.model, [ask.hospital], ask.records)

    def receives(self, agent: str) -> bool:
        """Whether the result is opened to this member."""
        if self.result == "shared":
            return False
        return self.result_parties is None or agent in self.result_parties

    def takes_records_of(self, agent: str) -> bool:
        """Whether this member shares records: a shared tree is asked only by who is told the classes."""
        return self.purpose == "train" or self.receives(agent)


class DirectEndpoint(WireModel):
    """Where a compute party takes connections of the two others; its certificate is made for the job."""

    host: Annotated[str, StringConstraints(pattern=r"^[0-9A-Za-z.:-]{1,253}$")]
    port: Annotated[int, Field(ge=1, le=65535)]
    certificate_sha256: Hex32


class Progress(WireModel):
    """Where a member stands in a secret job: phases, numbers, sizes and times, never content.

    `part`: what it reports as. `layer` of `layers`: 0 of 0 where there are none. `rounds`, `sent_bytes`: so far.
    `remaining_seconds`: the estimate of what is left, None while there is no ground for one. `waiting_for`: members
    whose frames it waits for, since `waiting_seconds`.
    """

    agent: Id
    job: Hex16
    time: Count
    part: Literal["contributor", "compute"]
    phase: Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9 -]{0,39}$")]
    layer: Count = 0
    layers: Count = 0
    rounds: Count = 0
    sent_bytes: Count = 0
    seconds: Count = 0
    remaining_seconds: Count | None = None
    waiting_for: Annotated[list[Id], Field(max_length=1024, default_factory=list)]
    waiting_seconds: Count = 0
    channel: FramesGo | None = None


class SignedProgress(WireModel):
    """Body of `POST /v1/jobs/{job}/progress`."""

    progress: Progress
    signature: Hex64
