"""Which mode is advised, and what each says of itself."""

from __future__ import annotations

from typing import Any

import pytest

from shared.advice.advising import Advice, advise
from shared.advice.case import Line, case_of
from shared.advice.fitting import Wishes
from shared.advice.words import duration_text, size_text
from shared.errors import InputError
from shared.protocol.disclosure_words import Learned, Party
from shared.wire.manifest import SchemaSpec

LISTED = {"name": "nausea", "values": ["0", "1"]}
ORDERED = {"name": "stage", "values": ["I", "II", "III"], "treat_as": "ordered"}
CUT = {"name": "temperature", "values": ["<= 37.5", "> 37.5"], "cuts": ["37.5"]}
NUMBER = {"name": "age", "values": [], "numeric": {"minimum": "0", "maximum": "120", "decimals": 1}}
GAPS = {"name": "smoker", "values": ["no", "yes", ""], "missing": "fractional"}


def advised(*attributes: dict[str, Any], wishes: Wishes | None = None, **case: Any) -> Advice:
    """The advice for a schema of these attributes."""
    labels = {"name": "diagnosis", "labels": ["none", "nephritis"]}
    schema = SchemaSpec.model_validate({"attributes": list(attributes), "class": labels})
    return advise(case_of(schema, **{"hospitals": 3, "records": 10_000, **case}), wishes)


def ranks(advice: Advice) -> dict[str, str]:
    """How each mode fits."""
    return {offer.mode: offer.fit.rank for offer in advice.offers}


@pytest.mark.parametrize(
    ("attributes", "wishes", "best"),
    [
        ([LISTED, CUT], Wishes(), "ppsdt"),
        ([LISTED, CUT], Wishes(sums_may_be_seen=False), "id3"),
        ([ORDERED, CUT], Wishes(sums_may_be_seen=False, tree_may_be_seen=False), "gain-ratio"),
        ([ORDERED, NUMBER], Wishes(), "gain-ratio"),
        ([LISTED, CUT], Wishes(parties_may_be_trusted=False), "ppsdt"),
        ([LISTED, CUT], Wishes(sums_may_be_seen=False, parties_may_be_trusted=False), None),
        ([ORDERED, NUMBER], Wishes(parties_may_be_trusted=False), None),
        ([CUT, GAPS], Wishes(), "ppsdt"),
        ([CUT, GAPS], Wishes(sums_may_be_seen=False), None),
    ],
)
def test_the_mode_that_is_advised(attributes: list[dict[str, Any]], wishes: Wishes, best: str | None) -> None:
    assert advised(*attributes, wishes=wishes).best == best


def test_published_figures_stand_on_the_cards_of_the_modes_that_have_them() -> None:
    offers = advised(ORDERED, CUT, figures=["evaluation", "importance"]).offers
    learned = {offer.mode: {entry.learned for entry in offer.entries} for offer in offers}
    assert all(Learned.FIGURES_OF_EVALUATION in found for found in learned.values())
    with_counts = {mode for mode, found in learned.items() if Learned.FIGURES_OF_IMPORTANCE in found}
    assert with_counts == {"ppsdt"}
    silent = {entry.learned for offer in advised(ORDERED, CUT).offers for entry in offer.entries}
    assert not silent & {Learned.FIGURES_OF_EVALUATION, Learned.FIGURES_OF_IMPORTANCE}


def test_what_cannot_be_says_which_attribute_and_what_to_do() -> None:
    advice = advised(LISTED, NUMBER)
    told = {offer.mode: " ".join(offer.fit.forbids) for offer in advice.offers}
    assert ranks(advice)["id3"] == ranks(advice)["gain-ratio"] == "impossible"
    assert "age" in told["id3"]
    assert "cut points" in told["id3"]
    assert "nausea" in told["gain-ratio"]
    assert "in their order, or one by one" in told["gain-ratio"]
    assert all(offer.costs is None for offer in advice.offers if offer.fit.rank == "impossible")


def test_who_learns_what_is_the_forecast_of_the_mode() -> None:
    entries = {offer.mode: offer.entries for offer in advised(ORDERED, CUT).offers}
    learned = {mode: {(entry.party, entry.learned) for entry in found} for mode, found in entries.items()}
    assert (Party.HOSPITAL, Learned.SUMS) in learned["ppsdt"]
    assert (Party.COMPUTE_PARTY, Learned.CHOICES) in learned["id3"]
    assert (Party.TWO_COMPUTE_PARTIES, Learned.EVERY_RECORD) in learned["gain-ratio"]
    assert not any(what is Learned.SUMS for _, what in learned["id3"] | learned["gain-ratio"])


def test_costs_grow_with_hospitals_depth_key_and_line() -> None:
    def costs(**case: Any) -> Any:
        return advised(*([LISTED] * 3), ORDERED, CUT, **case).offers[0].costs

    base = costs()
    assert costs(hospitals=10).sent_bytes > base.sent_bytes
    assert costs(max_depth=2).rounds == 2 < base.rounds
    assert costs(key_bits=4096).working_seconds > base.working_seconds
    assert costs(line=Line(300.0, 50.0)).line_seconds > base.line_seconds
    assert costs(threshold=2).sent_bytes > base.sent_bytes


@pytest.mark.parametrize(("hospitals", "records"), [(2, 10), (3, 0)])
def test_numbers_that_no_job_has(hospitals: int, records: int) -> None:
    with pytest.raises(InputError, match=r"expected|3 to 1024"):
        advised(LISTED, hospitals=hospitals, records=records)


def test_sizes_and_times_for_people() -> None:
    assert [size_text(size) for size in (12, 1_500, 72_589, 6_500_000_000)] == [
        "12 bytes",
        "1.5 kB",
        "73 kB",
        "6.5 GB",
    ]
    assert [duration_text(seconds) for seconds in (0.2, 14.6, 95, 7200, 200_000)] == [
        "1 second",
        "15 seconds",
        "1.6 minutes",
        "2 hours",
        "2.3 days",
    ]
