"""What a member tells of where it stands, in words for people and in numbers for the cloud."""

from __future__ import annotations

import pytest

from hospital_agent.computing import standing
from hospital_agent.computing.driver import Standing
from hospital_agent.computing.standing import Place, told_anew
from hospital_agent.links.mesh import Waiting
from shared.ids import AgentId


class Clock:
    """Seconds that a test moves."""

    def __init__(self) -> None:
        self.now = 1000.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(standing, "time", clock)
    return clock


def at(layer: int, phase: str = "split", *, replays: bool = False) -> Standing:
    return Standing(phase, layer, 10 * layer, 1_500_000 * layer, {}, {}, replays)


def place(clock: Clock, layers: int = 5) -> Place:
    return Place(AgentId("h1"), "ab" * 16, computes=True, layers=layers, begun=clock.now)


def test_the_estimate_begins_with_the_first_whole_layer(clock: Clock) -> None:
    here = place(clock)
    assert here.remaining_seconds is None
    here.tell(at(0, "sort"))
    clock.now += 7  # what comes before the layers says nothing about them
    here.tell(at(1))
    clock.now += 3
    assert here.remaining_seconds is None
    clock.now += 1
    here.tell(at(2))
    assert here.remaining_seconds == 16
    clock.now += 1.5
    assert here.remaining_seconds == 15
    for layer in (3, 4, 5):
        clock.now += 4
        here.tell(at(layer))
    assert here.remaining_seconds <= 5
    clock.now += 100
    assert here.remaining_seconds == 0
    assert here.text() == "layer 5 of 5: parting the records; 50 rounds, 7.5 MB sent; about 0 s left"


def test_where_the_tree_decides_how_deep_it_grows_there_is_no_estimate(clock: Clock) -> None:
    here = place(clock, layers=0)
    for layer in (1, 2, 3):
        clock.now += 1
        here.tell(at(layer, "choice"))
    assert here.remaining_seconds is None
    assert here.text() == "layer 3: choosing the attribute; 30 rounds, 4.5 MB sent"


def test_a_short_wait_is_the_way_of_a_round_and_a_long_one_is_told(clock: Clock) -> None:
    here = place(clock)
    here.tell(at(1))
    here.wait(Waiting(AgentId("h2"), 0.4, 0.1))
    assert here.report(1).waiting_for == []
    here.wait(Waiting(AgentId("h2"), 61.0, 60.0))
    assert here.report(1).waiting_for == ["h2"]
    assert here.report(1).waiting_seconds == 61
    assert here.text().endswith("waits for h2 since 61 s")
    here.tell(at(1))
    assert here.report(1).waiting_seconds == 0


def test_a_run_over_the_log_is_told_as_such(clock: Clock) -> None:
    here = place(clock)
    here.tell(at(3, replays=True))
    assert here.report(1).phase == "replaying"
    assert here.remaining_seconds is None


def test_a_report_is_told_when_it_says_something_new(clock: Clock) -> None:
    here = place(clock)
    first = here.report(100)
    assert told_anew(None, first)
    assert not told_anew(first, here.report(105))
    here.tell(at(1))
    assert told_anew(first, here.report(100))
    layer = here.report(100)
    clock.now += 0.2
    here.standing = Standing("split", 1, 12, 1_600_000, {}, {}, False)
    assert not told_anew(layer, here.report(100))
    assert told_anew(layer, here.report(101))
