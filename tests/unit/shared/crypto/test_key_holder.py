from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any

import pytest

from shared.crypto import key_holder
from shared.crypto.key_holder import KeyHolder, pool_secrets, prepare_worker
from shared.errors import InternalError
from tests.support.toy_keys import t4_key

KEY = t4_key()
PLAIN = list(range(50))


class Counting:
    """A map in this process that counts its chunks."""

    def __init__(self) -> None:
        self.chunks = 0

    def __call__(self, function: Callable[[Any], Any], items: Iterable[Any], /) -> Iterator[Any]:
        for item in items:
            self.chunks += 1
            yield function(item)


def test_without_a_pool_it_works_here() -> None:
    holder = KeyHolder(KEY)
    assert holder.decrypt(holder.encrypt(PLAIN)) == PLAIN
    assert holder.decrypt_small(holder.encrypt([-3, 4])) == [-3, 4]
    assert holder.public == KEY.public


def test_batches_are_cut_into_one_chunk_a_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(key_holder, "_worker", None)
    prepare_worker(*pool_secrets(KEY))
    counting = Counting()
    holder = KeyHolder(KEY, map=counting, workers=3)
    assert holder.decrypt(holder.encrypt(PLAIN)) == PLAIN
    assert counting.chunks == 6
    assert holder.decrypt(holder.encrypt(PLAIN[:5])) == PLAIN[:5]
    assert counting.chunks == 6


def test_real_processes_give_the_same_plaintexts_in_order() -> None:
    with ProcessPoolExecutor(2, get_context("spawn"), prepare_worker, pool_secrets(KEY)) as pool:
        holder = KeyHolder(KEY, map=pool.map, workers=2)
        ciphertexts = holder.encrypt(PLAIN)
        assert holder.decrypt(ciphertexts) == PLAIN
    assert KEY.decrypt_many(int.from_bytes(raw, "big") for raw in ciphertexts) == PLAIN


def test_a_worker_without_a_key_is_a_bug(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(key_holder, "_worker", None)
    with pytest.raises(InternalError, match="prepare_worker"):
        key_holder.encrypt_chunk([1])


def test_all_zero_and_repr() -> None:
    holder = KeyHolder(KEY)
    zeros = [int.from_bytes(raw, "big") for raw in holder.encrypt([0] * 3)]
    assert holder.all_zero(zeros)
    assert not holder.all_zero([*zeros, int.from_bytes(holder.encrypt([1])[0], "big")])
    assert repr(holder) == f"KeyHolder(private={KEY!r}, workers=1)"
