"""The blocks `tally` and `selection` of a manifest: jobs that only count, and which records a job is about.

A tally opens one table of counts an attribute, as the root of every tree of mode ppsdt does, and ends there. A
selection parts each hospital's records in the dark (decision record 32).
"""

from __future__ import annotations

from typing import Annotated, Final, Literal, Self

from pydantic import Field, model_validator

from shared.wire.base import Hex16, Hex32, WireModel, is_absent

MAX_PARTS: Final = 20
"""So that no two selections of one seed and number of parts differ by less than a twentieth of the records."""
MAX_PLACES: Final = 255 * 1024
"""As many as the schema of an evaluation can name: most attributes, each with most values but one for the others."""

TallyKind = Literal["evaluation", "histogram"]
Use = Literal["train", "test"]
PartingHash = Literal["hmac-sha256"]


class TallySpec(WireModel):
    """What is counted.

    histogram: the records of each value of each attribute, by class. evaluation: the records of each true class that
    reach each place of the tree of job `model`; `places`: as many as its nodes, or more.
    """

    kind: TallyKind
    model: Annotated[Hex16 | None, Field(exclude_if=is_absent)] = None
    tree_sha256: Annotated[Hex32 | None, Field(exclude_if=is_absent)] = None
    places: Annotated[int | None, Field(ge=1, le=MAX_PLACES, exclude_if=is_absent)] = None

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        said = [part is not None for part in (self.model, self.tree_sha256, self.places)]
        if said != [self.kind == "evaluation"] * len(said):
            raise ValueError("model, tree_sha256 and places: an evaluation names all three, a histogram none")
        return self


class SelectionSpec(WireModel):
    """Which of its records each hospital takes.

    Every record has a place from 0 to `parts` - 1 that only its own hospital can tell, the same in every job of one
    `seed`, `parts` and `hash`. Those in `first` to `last` - 1 are for testing, the others for training. `hash`: by
    which places are found (`shared.crypto.parting`); None for BLAKE2b, which databases lack.
    """

    seed: Hex16
    parts: Annotated[int, Field(ge=2, le=MAX_PARTS)]
    first: Annotated[int, Field(ge=0, lt=MAX_PARTS)]
    last: Annotated[int, Field(ge=1, le=MAX_PARTS)]
    use: Use
    hash: Annotated[PartingHash | None, Field(exclude_if=is_absent)] = None

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if not self.first < self.last <= self.parts or self.last - self.first == self.parts:
            raise ValueError("selection: expected first < last <= parts, and not all parts for testing")
        return self
