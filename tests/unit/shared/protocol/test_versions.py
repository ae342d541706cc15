"""Which versions of agent and cloud work together."""

from __future__ import annotations

import pytest

from shared.errors import PeerError
from shared.protocol.versions import check_window, knows_of


@pytest.mark.parametrize(
    ("agent", "cloud"), [("0.1.0", "0.1.0"), ("0.1.0", "0.2.3"), ("0.3.0rc1", "0.2.9"), ("1.10.0", "1.11.0")]
)
def test_neighbours_work_together(agent: str, cloud: str) -> None:
    check_window(agent, cloud)


@pytest.mark.parametrize(
    ("agent", "cloud", "who"),
    [
        ("0.1.0", "0.3.0", "agent"),
        ("0.4.0", "0.2.0", "cloud"),
        ("0.9.0", "1.0.0", "agent"),
        ("1.1.0", "1.11.0", "agent"),
    ],
)
def test_others_are_told_who_must_be_upgraded(agent: str, cloud: str, who: str) -> None:
    with pytest.raises(PeerError, match=f"upgrade the {who}"):
        check_window(agent, cloud)


def test_what_came_with_a_release_is_known_from_then_on() -> None:
    known = [knows_of(version, (0, 4)) for version in ("0.4.0", "0.4.0rc1", "0.10.1", "1.0.0")]
    assert known == [True] * 4
    assert [knows_of(version, (0, 4)) for version in ("0.3.9", "0.3", "", "none")] == [False] * 4


@pytest.mark.parametrize("version", ["", "two", "1", "0.x"])
def test_no_version(version: str) -> None:
    with pytest.raises(PeerError, match=r"MAJOR\.MINOR"):
        check_window(version, "0.1.0")
