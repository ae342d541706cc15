"""The sentences about noise hold the numbers of the accounting, and warn where trees would be noise."""

from __future__ import annotations

from typing import Any

import pytest

from shared.ids import AgentId
from shared.protocol.noise_words import noise_words
from tests.support.clinic import SCHEMA
from tests.support.world import Parties

PARTIES = Parties([AgentId(f"h{number}") for number in range(1, 6)])


def told(sigma_squared: int = 400, **changes: Any) -> str:
    noise = {"sigma_squared": sigma_squared, **changes.pop("noise", {})}
    manifest = PARTIES.manifest(SCHEMA, skip_known=False, noise=noise, **changes)
    words = noise_words(manifest)
    assert words is not None
    return " ".join(words.sentences)


def test_without_noise_there_is_nothing_to_say() -> None:
    assert noise_words(PARTIES.manifest(SCHEMA)) is None


def test_the_error_counts_the_noise_of_everybody_not_only_of_the_trusted() -> None:
    """Three hospitals of which one is not trusted add 3/2 of the variance: 2 sqrt(600) is 49, over 4 classes 98."""
    assert "standard deviation 20" in told()
    assert "off by 49 at most, totals over the 4 classes by 98" in told()
    assert "standard deviation 3.87" in told(15, noise={"untrusted": 2})
    assert "off by 40 at most" in told(noise={"untrusted": 0})


@pytest.mark.parametrize(
    ("sigma_squared", "text"),
    [
        (
            400,
            "epsilon 1.201 at delta 0.000001 (the odds of any guess whether it is there change by a factor of 3.4",
        ),
        (16, "epsilon 6.502"),
        (4, "so much that it promises next to nothing"),
    ],
)
def test_the_promise_is_that_of_the_worst_case(sigma_squared: int, text: str) -> None:
    untrusted = {"untrusted": 2} if sigma_squared < 16 else {}
    invited = ["h1", "h2", "h3"] if sigma_squared < 16 else sorted(PARTIES.names)
    assert text in told(sigma_squared, noise=untrusted, invited=invited, max_depth=5)


def test_sizes_that_drown_in_noise_are_warned_of() -> None:
    assert "splits may rest on noise alone" in told(min_node=98, min_child=97)
    assert "splits may rest on noise alone" not in told(min_node=98, min_child=98)
