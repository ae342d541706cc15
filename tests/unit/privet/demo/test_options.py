"""The demo's options: what is refused, and with which remedy."""

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from privet.demo.options import (
    Mode,
    check_mode,
    check_own_records,
    check_pruning,
    height_of,
    hospital_count,
    parse_cuts,
    parse_max_depth,
)
from shared.errors import InputError
from shared.tree.pruning import Pruning


@pytest.mark.parametrize(
    ("asked", "files", "count"), [(None, 0, 3), (5, 0, 5), (None, 1, 3), (7, 1, 7), (None, 4, 4), (4, 4, 4)]
)
def test_hospitals_are_as_many_as_asked_or_as_files(asked: int | None, files: int, count: int) -> None:
    assert hospital_count(asked, files) == count


@pytest.mark.parametrize(("asked", "files"), [(2, 0), (0, 1), (65, 0), (3, 4), (None, 2)])
def test_other_numbers_are_refused_with_a_remedy(asked: int | None, files: int) -> None:
    with pytest.raises(InputError) as caught:
        hospital_count(asked, files)
    assert caught.value.where in ("--hospitals", "--data")
    assert caught.value.remedy


@pytest.mark.parametrize(("text", "depth"), [("none", None), ("NONE", None), ("1", 1), ("1024", 1024)])
def test_max_depth(text: str, depth: int | None) -> None:
    assert parse_max_depth(text) == depth


@pytest.mark.parametrize("text", ["", "0", "-1", "1025", "8.0", "eight", "²"])
def test_max_depth_refuses(text: str) -> None:
    with pytest.raises(InputError, match="--max-depth"):
        parse_max_depth(text)


def test_cuts_name_a_column_and_its_points() -> None:
    cuts = parse_cuts(("temperature=37.5, 38", "a=b=-1"))
    assert cuts == {"temperature": (Decimal("37.5"), Decimal(38)), "a=b": (Decimal(-1),)}


@pytest.mark.parametrize(
    "texts", [("age",), ("=1",), ("age=",), ("age=x",), ("age=nan",), ("age=1", "age=2")]
)
def test_other_cuts_are_refused(texts: tuple[str, ...]) -> None:
    with pytest.raises(InputError, match="--cut"):
        parse_cuts(texts)


def test_options_about_records_need_records() -> None:
    check_own_records((Path("a.csv"),), {"--class": "answer", "--drop": ["id"]})
    check_own_records((), {"--class": None, "--no-header": False, "--drop": None, "--cut": []})
    with pytest.raises(InputError, match=r"^--cut: .* Add --data FILE, or leave --cut out\.$"):
        check_own_records((), {"--class": None, "--cut": ["temperature=38"]})


@pytest.mark.parametrize(
    ("mode", "criterion", "chosen"),
    [
        ("ppsdt", None, "information-gain"),
        ("ppsdt", "gain-ratio", "gain-ratio"),
        ("id3", None, "information-gain"),
        ("id3", "information-gain", "information-gain"),
        ("gain-ratio", None, "gain-ratio"),
    ],
)
def test_each_mode_has_its_criterion(mode: Mode, criterion: str | None, chosen: str) -> None:
    assert check_mode(mode, profile="hardened", criterion=criterion, direct=mode != "ppsdt") == chosen


@pytest.mark.parametrize(
    ("mode", "other", "option"),
    [
        ("id3", {"profile": "paper"}, "--profile"),
        ("id3", {"criterion": "gain-ratio"}, "--criterion"),
        ("gain-ratio", {"criterion": "information-gain"}, "--criterion"),
    ],
)
def test_options_of_another_mode_are_refused(mode: Mode, other: dict[str, Any], option: str) -> None:
    given = {"profile": "hardened", "criterion": None, "direct": False, **other}
    with pytest.raises(InputError, match=option) as caught:
        check_mode(mode, **given)
    assert caught.value.remedy == f"Leave {option} out."


def test_mode_ppsdt_has_nobody_to_connect_directly() -> None:
    with pytest.raises(InputError, match=r"^--direct: .* or add --mode id3 or --mode gain-ratio\.$"):
        check_mode("ppsdt", profile="hardened", criterion=None, direct=True)


def test_mode_gain_ratio_has_a_height() -> None:
    assert height_of("ppsdt", None, split_on_zero_gain=True) == 8
    assert height_of("id3", "none", split_on_zero_gain=False) is None
    assert height_of("gain-ratio", None, split_on_zero_gain=False) == 4
    assert height_of("gain-ratio", "10", split_on_zero_gain=False) == 10
    for text in ("none", "11"):
        with pytest.raises(InputError, match="--max-depth"):
            height_of("gain-ratio", text, split_on_zero_gain=False)
    with pytest.raises(InputError, match="--split-on-zero-gain"):
        height_of("gain-ratio", "3", split_on_zero_gain=True)


def test_secret_modes_prune_only_what_an_opened_tree_shows() -> None:
    """They open no counts by which a tree could be cut back."""
    assert check_pruning(None, "id3") is None
    assert check_pruning("pessimistic", "ppsdt") == Pruning("pessimistic")
    assert check_pruning("collapse", "gain-ratio") == Pruning("collapse")
    with pytest.raises(InputError, match="--prune pessimistic: this is not an option of the mode id3"):
        check_pruning("pessimistic", "id3")
