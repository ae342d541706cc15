"""Records at places of a tree, as the schema of an evaluation codes them: written out, one record at a time."""

from __future__ import annotations

from shared.wire.manifest import SchemaSpec

_A_PART = 255
"""Places of an attribute beside the one value for all others."""


def place_codes(schema: SchemaSpec, place: int) -> list[int]:
    """The codes of a record that ends at `place`, one an attribute."""
    if len(schema.attributes) == 1:
        return [place]
    part, offset = divmod(place, _A_PART)
    return [
        offset if index == part else len(attribute.values) - 1
        for index, attribute in enumerate(schema.attributes)
    ]
