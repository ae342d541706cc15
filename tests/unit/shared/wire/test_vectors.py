"""Every message has exactly the bytes of its fixture; every field is needed and none may be added."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from shared.errors import PeerError
from shared.wire import envelope, manifest, rounds, secret
from shared.wire.base import WireModel

PATH = Path(__file__).parents[4] / "tests/vectors/wire.json"
VECTORS: dict[str, str] = json.loads(PATH.read_text(encoding="utf-8"))
MODELS: dict[str, type[WireModel]] = {
    name: value
    for module in (envelope, manifest, rounds, secret)
    for name, value in vars(module).items()
    if isinstance(value, type) and issubclass(value, WireModel)
}
LIMIT = 100_000


def model_of(name: str) -> type[WireModel]:
    """The model of a fixture, whose name may go on after a blank."""
    return MODELS[name.partition(" ")[0]]


@pytest.mark.parametrize("name", VECTORS)
def test_the_bytes_of_a_message_are_those_of_its_fixture(name: str) -> None:
    raw = VECTORS[name].encode()
    assert model_of(name).parse(raw, what=name, max_bytes=LIMIT).canonical() == raw


def test_every_message_of_a_job_has_a_fixture() -> None:
    bodies = {model.__name__ for model in MODELS.values() if model.__module__ == rounds.__name__}
    parts = {"Prompt", "PaperMatrix", "PaperNodeDecision"}
    assert bodies - parts <= set(VECTORS) | {"SignedEnvelope", "Manifest"}


@pytest.mark.parametrize("name", VECTORS)
def test_an_unknown_field_is_refused(name: str) -> None:
    document = json.loads(VECTORS[name]) | {"extra": 1}
    with pytest.raises(PeerError):
        model_of(name).parse(json.dumps(document).encode(), what=name, max_bytes=LIMIT)


WRONG: list[Any] = [True, 1.5, -1, "\u0000", [], {}, "x" * 5000, 2**60]


@pytest.mark.parametrize("name", ["JobAccept", "Decision", "Contribution", "Aggregate", "Receipt", "Abort"])
def test_a_wrong_type_is_refused_without_showing_it(name: str) -> None:
    sample = json.loads(VECTORS[name])
    for field in sample:
        for wrong in WRONG:
            if type(wrong) is type(sample[field]) and wrong is True:
                continue
            if (name, field, wrong) == ("Decision", "done", True):
                continue
            with pytest.raises(PeerError) as caught:
                MODELS[name].parse(json.dumps(sample | {field: wrong}).encode(), what=name, max_bytes=LIMIT)
            assert "xxxx" not in str(caught.value)
