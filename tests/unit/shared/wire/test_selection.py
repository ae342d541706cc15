"""The manifest's block on records that are held out: its bytes where no hash is named, and hashes that there are."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from shared.wire.tally import SelectionSpec

BEFORE = b'{"first":0,"last":3,"parts":10,"seed":"5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e","use":"train"}'


def test_a_selection_without_a_hash_keeps_the_bytes_of_earlier_releases() -> None:
    assert SelectionSpec.parse(BEFORE, what="selection", max_bytes=200).canonical() == BEFORE


def test_a_hash_is_named_or_refused() -> None:
    named = BEFORE.replace(b'"last"', b'"hash":"hmac-sha256","last"')
    found = SelectionSpec.parse(named, what="selection", max_bytes=200)
    assert (found.hash, found.canonical()) == ("hmac-sha256", named)
    with pytest.raises(ValidationError):
        SelectionSpec.model_validate({**found.model_dump(), "hash": "md5"})
