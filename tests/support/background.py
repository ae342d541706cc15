"""Toy hospitals that take part in the next job by themselves, while a test waits for it as people do."""

from __future__ import annotations

import threading
from collections.abc import Mapping

from tests.support.cloud_server import CloudUnderTest
from tests.support.http_hospital import hospitals_of, run_together
from tests.support.world import Rows


def in_background(cloud: CloudUnderTest, rows: Mapping[str, Rows]) -> threading.Thread:
    """These hospitals, from now on, until they have taken part in one job."""
    ready = threading.Event()

    def work() -> None:
        with hospitals_of(cloud, rows) as hospitals:
            ready.set()
            run_together(hospitals)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    assert ready.wait(10)
    return thread
