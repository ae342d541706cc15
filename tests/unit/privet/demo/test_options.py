"""The demo's options: what is refused, and with which remedy."""

from decimal import Decimal
from pathlib import Path

import pytest

from privet.demo.options import check_mode, check_own_records, hospital_count, parse_cuts, parse_max_depth
from shared.errors import InputError


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


@pytest.mark.parametrize("mode", ["id3", "gain-ratio"])
def test_modes_that_follow_are_named_as_such(mode: str) -> None:
    check_mode("ppsdt")
    with pytest.raises(InputError, match="follows in a later version"):
        check_mode(mode)
