"""Since when a hospital is there, as far as one process of the cloud has heard."""

from __future__ import annotations

from cloud_service.service.presence import AWAY_SECONDS, Presence
from shared.ids import AgentId


class Clock:
    now = 1_000_000

    def __call__(self) -> int:
        return self.now


def test_online_since_begins_anew_after_a_gap() -> None:
    clock = Clock()
    presence = Presence(clock)
    assert presence.online_since("h1") is None
    presence.saw(AgentId("h1"))
    began = clock.now
    for _ in range(5):
        clock.now += AWAY_SECONDS
        presence.saw(AgentId("h1"))
        assert presence.online_since("h1") == began
    clock.now += AWAY_SECONDS + 1
    assert presence.online_since("h1") is None
    presence.saw(AgentId("h1"))
    assert presence.online_since("h1") == clock.now
    assert presence.online_since("h2") is None
