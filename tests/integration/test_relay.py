"""Sealed frames through a real cloud: both ways of carrying them, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.cloud_server import running_cloud
from tests.support.relays import computing_job, fetch, relayed

WAYS = ("websocket", "long-poll")


@pytest.mark.parametrize("way", WAYS)
def test_frames_go_both_ways(tmp_path: Path, way: str) -> None:
    with running_cloud(tmp_path) as cloud:
        job = computing_job(cloud)
        with (
            relayed(cloud, job, "h1", ["h2", "h3"], way=way) as first,
            relayed(cloud, job, "h2", ["h1", "h3"], way=way) as second,
        ):
            there, back = first.channel("h2"), second.channel("h1")
            for size in (1, 100, 2**16, 2**22):
                there.send(bytes([size % 251]) * size)
                assert fetch(back) == bytes([size % 251]) * size
                back.send(b"!" * size)
                assert fetch(there) == b"!" * size
