"""Large answers are packed once, and what is kept of them has a bound."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from cloud_service.api import packing
from cloud_service.api.packing import LEAST_BYTES, MOST_BYTES, Packing


def test_many_who_ask_at_once_wait_for_one_packing() -> None:
    packed: list[bytes] = []
    everybody_asks = threading.Barrier(8)

    def pack(body: bytes) -> bytes:
        packed.append(body)
        return body[:1000]

    works = Packing(pack)

    def ask(_number: int) -> bytes:
        everybody_asks.wait()
        return works.packed(b"x" * LEAST_BYTES)

    with ThreadPoolExecutor(8) as threads:
        answers = list(threads.map(ask, range(8)))
    assert len(packed) == 1
    assert answers == [b"x" * 1000] * 8


@pytest.mark.parametrize("length", [LEAST_BYTES - 1, MOST_BYTES + 1])
def test_what_is_short_or_very_long_is_not_kept(length: int) -> None:
    works = Packing(lambda body: body)
    assert works.packed(bytes(length)) == bytes(length)
    assert works.length == 0


def test_what_is_kept_has_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packing, "MAX_BYTES", 3 * LEAST_BYTES)
    packed: list[bytes] = []

    def pack(body: bytes) -> bytes:
        packed.append(body)
        return body

    works = Packing(pack)
    for number in range(10):
        works.packed(bytes([number]) * LEAST_BYTES)
        assert works.length <= 3 * LEAST_BYTES
    works.packed(bytes([9]) * LEAST_BYTES)
    assert len(packed) == 10  # the newest is still there
    works.packed(bytes([0]) * LEAST_BYTES)
    assert len(packed) == 11


def test_a_failure_is_told_and_not_kept() -> None:
    tries = iter([ValueError("no"), None])

    def pack(body: bytes) -> bytes:
        fault = next(tries)
        if fault is not None:
            raise fault
        return body

    works = Packing(pack)
    with pytest.raises(ValueError, match="no"):
        works.packed(bytes(LEAST_BYTES))
    assert works.packed(bytes(LEAST_BYTES)) == bytes(LEAST_BYTES)
