"""The live page of a job in a browser, while the cloud restarts behind it and a silent hospital comes back."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.support.browsing import COOKIE, with_session
from tests.support.chromium import Tab, needs_chromium, opened_browser
from tests.support.clinic import SCHEMA, dealt
from tests.support.cloud_server import CloudUnderTest, running_cloud
from tests.support.http_hospital import HttpHospital, hospitals_of, run_together
from tests.support.middlebox import Middlebox, middlebox

pytestmark = [pytest.mark.long, needs_chromium]
NAMES = ("h1", "h2", "h3")
HEAR = """() => {
  window.heard = [];
  const place = document.querySelector("[data-announce-here]");
  new MutationObserver(() => window.heard.push(place.textContent)).observe(place, {childList: true});
}"""


@pytest.fixture
def cloud(tmp_path: Path) -> Iterator[CloudUnderTest]:
    """A cloud with a study of test data."""
    with running_cloud(tmp_path, hospitals=NAMES, bits=512) as running:
        running.study(SCHEMA, publish_tree=True)
        yield running


def port_of(cloud: CloudUnderTest) -> int:
    """Where it listens now."""
    port = urlsplit(cloud.base_url).port
    assert port is not None
    return port


def restart(cloud: CloudUnderTest, box: Middlebox, hospitals: list[HttpHospital]) -> None:
    """The cloud ends and comes back elsewhere, behind the same address for browsers."""
    cloud.people.close()
    cloud.stop()
    cloud.start()
    cloud._connect()
    box.port = port_of(cloud)
    for hospital in hospitals:
        hospital.reconnect()


def test_the_page_comes_through_a_restart_and_says_little(cloud: CloudUnderTest) -> None:
    with (
        hospitals_of(cloud, dealt(*NAMES)) as hospitals,
        middlebox(port_of(cloud)) as box,
        opened_browser() as chromium,
    ):
        job = cloud.job()
        tab = Tab.open(chromium)
        token = with_session(cloud, "ana", ["coordinator"], None).session
        tab.context.add_cookies([{"name": COOKIE, "value": token, "url": box.url}])
        tab.go(f"{box.url}/jobs/{job}")
        tab.page.evaluate(HEAR)
        assert "no answer yet" in tab.page.inner_text("#now")
        for hospital in hospitals[:2]:
            hospital.fetch(wait=5)
            hospital.send_all()
        tab.page.wait_for_selector("text=h2 accepted.")
        restart(cloud, box, hospitals)
        run_together(hospitals)
        tab.page.wait_for_selector("text=The tree is grown.", timeout=40_000)
        tab.page.wait_for_timeout(5_000)
        heard = tab.page.evaluate("window.heard")
        assert heard[-1] == "finished. The tree is grown."
        assert len(heard) <= 4
        assert all(len(sentence) < 200 for sentence in heard)
        assert [fault for fault in tab.faults if "ERR_" not in fault and "[object Event]" not in fault] == []
        tab.close()
