"""Buckets of tokens: each caller has its own, filled with time, never beyond its size."""

from __future__ import annotations

import pytest

from machine import rates
from machine.rates import Buckets


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_bucket_fills_with_time_and_no_further() -> None:
    clock = Clock()
    buckets = Buckets(2.0, 1.5, clock=clock)
    assert [buckets.take("a") for _ in range(4)] == [0.0, 0.0, 0.0, 0.5]
    assert buckets.look("b") == 0.0
    clock.now = 0.5
    assert buckets.look("a") == 0.0
    buckets.charge("a")
    buckets.charge("a")  # served already, so the bucket is empty and owes nothing
    assert buckets.look("a") == 0.5
    clock.now = 100.0
    assert [bool(buckets.take("a")) for _ in range(4)] == [False, False, False, True]


def test_there_is_room_for_one_at_the_slowest_rate() -> None:
    buckets = Buckets(0.01, 10, clock=Clock())
    assert (buckets.take("a"), buckets.take("a")) == (0.0, 100.0)


def test_the_caller_longest_ago_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rates, "_MAX_BUCKETS", 2)
    buckets = Buckets(1.0, 1, clock=Clock())
    for caller in ("a", "b", "a", "c"):
        buckets.take(caller)
    assert [bool(buckets.look(caller)) for caller in ("a", "b", "c")] == [True, False, True]
