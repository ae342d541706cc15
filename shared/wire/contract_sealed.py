"""Drafts of a data contract on their way through a mix: what one hospital seals, what the mixer passes on.

A draft is cut into statements, each of which says one thing of one column and names no hospital. They travel in blocks
of one length (`shared.contract.blocks`), sealed one by one to the merger's key (`shared.contract.mixing`).
"""

from __future__ import annotations

from typing import Annotated, Final, Literal

from pydantic import Field, StringConstraints

from shared.wire.base import Base64Url, DecimalText, Hex32, Hex64, Id, WireModel, is_absent
from shared.wire.contract import (
    ContractAttribute,
    ContractInput,
    ContractValue,
    ExcludedColumn,
    Line,
    Name,
    Text,
    UnitConversion,
    is_blank,
)
from shared.wire.contract_derived import MAX_DERIVED, Derivation
from shared.wire.manifest import MAX_ATTRIBUTES, MAX_VALUES

BLOCK_BYTES: Final = 512
SEALED_BLOCK_BYTES: Final = 32 + BLOCK_BYTES + 16
"""The encapsulated key, the block, the tag."""
MIN_BLOCKS: Final = 64
MAX_BLOCKS: Final = 2**14
"""Of one hospital; the number is a power of two."""
MIN_MIXED: Final = 3
"""Hospitals in a batch: of two, each would know what is the other's."""
MAX_MIXED: Final = 64
MAX_SEALED_BYTES: Final = 2**24
MAX_ENVELOPE_BYTES: Final = 3 * 2**23
MAX_BATCH_BLOCKS: Final = 2**17
MAX_BATCH_BYTES: Final = 2**27
MAX_KEY_BYTES: Final = 4096

OwnerName = Annotated[str, StringConstraints(max_length=200)]
"""An attribute's name, or "" for the class column."""
SealedBlock = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]{747}$")]
"""Base64url of SEALED_BLOCK_BYTES."""


class Frame(WireModel):
    """Once a draft: what it is called and which columns it has, in its order. `target`: the class column's name.

    `inputs`, `derived`: what it makes of several columns, as all hospitals agreed on it beforehand.
    """

    kind: Literal["frame"] = "frame"
    name: Id
    title: Line
    attributes: Annotated[list[Name], Field(min_length=1, max_length=MAX_ATTRIBUTES)]
    target: Name
    inputs: list[ContractInput] = Field(default=[], max_length=MAX_ATTRIBUTES, exclude_if=is_blank)
    derived: list[Derivation] = Field(default=[], max_length=MAX_DERIVED, exclude_if=is_blank)


class Form(WireModel):
    """Once a column: the attribute without what is told one by one; 0 stands for an end of its range.

    The class column is told as a category of that name.
    """

    kind: Literal["form"] = "form"
    column: OwnerName
    attribute: ContractAttribute


class Valued(WireModel):
    """One value of a column, without its texts. `place`: in the draft's list, where that has an order of its own."""

    kind: Literal["value"] = "value"
    column: OwnerName
    value: ContractValue
    place: Annotated[int | None, Field(ge=0, lt=MAX_VALUES, exclude_if=is_absent)] = None


class Spelled(WireModel):
    """One text, or prefix of codes, that means a value."""

    kind: Literal["text", "prefix"]
    column: OwnerName
    value: Text
    text: Text


class Noted(WireModel):
    """One other name of the column, or one of its codes for missing."""

    kind: Literal["name", "missing"]
    column: OwnerName
    text: Text


class Bounded(WireModel):
    """One end of a measurement's range."""

    kind: Literal["minimum", "maximum"]
    column: Name
    number: DecimalText


class Converted(WireModel):
    """One conversion from another unit."""

    kind: Literal["conversion"] = "conversion"
    column: Name
    conversion: UnitConversion


class LeftOut(WireModel):
    """One column that nobody may use."""

    kind: Literal["excluded"] = "excluded"
    excluded: ExcludedColumn


class Counted(WireModel):
    """How many blocks a draft has, so that a batch which lost some is found out."""

    kind: Literal["count"] = "count"
    blocks: Annotated[int, Field(ge=MIN_BLOCKS, le=MAX_BLOCKS)]


class Blank(WireModel):
    """Nothing: fills a draft up to a power of two of blocks."""

    kind: Literal["blank"] = "blank"


Statement = Frame | Form | Valued | Spelled | Noted | Bounded | Converted | LeftOut | Counted | Blank
AnyStatement = Annotated[Statement, Field(discriminator="kind")]


class MergerKey(WireModel):
    """The merger's public key, or the mixer's own, as hospitals get it: X25519, hex."""

    v: Literal[1] = 1
    kind: Literal["privet-merger-key"] = "privet-merger-key"
    public: Hex32


class MergerSecret(WireModel):
    """The merger's private key. It has no use but opening one study's batches."""

    v: Literal[1] = 1
    kind: Literal["privet-merger-secret"] = "privet-merger-secret"
    private: Hex32 = Field(repr=False)


class Sender(WireModel):
    """Who hands a sealed draft to the mixer, who passes none of this on. `certificate`: the signer's, DER."""

    hospital: Id
    signature: Hex64
    certificate: Annotated[Base64Url, Field(max_length=8192)]


class SealedDraft(WireModel):
    """One hospital's draft for the mixer. `name`: the contract's; `merger`: SHA-256 of the key it is sealed to, hex."""

    v: Literal[1] = 1
    kind: Literal["privet-sealed-draft"] = "privet-sealed-draft"
    name: Id
    merger: Hex32
    blocks: Annotated[list[SealedBlock], Field(min_length=MIN_BLOCKS, max_length=MAX_BLOCKS)]
    sender: Annotated[Sender | None, Field(exclude_if=is_absent)] = None


class EnvelopedDraft(WireModel):
    """A sealed draft in an envelope that only the mixer opens. `mixer`: SHA-256 of the mixer's key, hex."""

    v: Literal[1] = 1
    kind: Literal["privet-enveloped-draft"] = "privet-enveloped-draft"
    mixer: Hex32
    content: Base64Url = Field(repr=False)


class SealedBatch(WireModel):
    """All hospitals' blocks in a fresh random order, for the merger. `hospitals`: how many there are."""

    v: Literal[1] = 1
    kind: Literal["privet-sealed-batch"] = "privet-sealed-batch"
    name: Id
    merger: Hex32
    hospitals: Annotated[int, Field(ge=MIN_MIXED, le=MAX_MIXED)]
    blocks: Annotated[list[SealedBlock], Field(min_length=MIN_BLOCKS, max_length=MAX_BATCH_BLOCKS)]
