"""Curves inside the page: where the points lie, and that they are well-formed whatever the labels are."""

from __future__ import annotations

import re
from xml.etree import ElementTree as XML

from shared.evaluation.judging import judge
from shared.evaluation.report_pictures import calibration_picture, decision_picture, roc_picture
from tests.support.judged import table_of

FOUND = judge(table_of(((80, 20), (50, 50), (10, 90)), ((20, 5), (10, 10), (2, 18)))).to_json()["classes"][1]
LABEL = "<b>& \"'"
SVG = "{http://www.w3.org/2000/svg}"


def points_of(picture: str, name: str) -> list[tuple[float, float]]:
    """The points of a line as shares of the frame, from its lower left corner."""
    (line,) = (e for e in XML.fromstring(picture).iter(f"{SVG}polyline") if e.get("class") == name)
    pairs = re.findall(r"([\d.-]+),([\d.-]+)", str(line.get("points")))
    return [(round((float(x) - 36) / 240, 2), round(1 - (float(y) - 36) / 240, 2)) for x, y in pairs]


def test_the_curve_goes_through_its_points() -> None:
    assert points_of(roc_picture(LABEL, FOUND["roc"]), "curve") == [
        (0, 0),
        (round(2 / 32, 2), round(18 / 33, 2)),
        (round(12 / 32, 2), round(28 / 33, 2)),
        (1, 1),
    ]


def test_net_benefit_is_drawn_between_its_ends() -> None:
    picture = decision_picture(LABEL, FOUND["net_benefit"])
    tree = points_of(picture, "curve")
    assert len(tree) == 19
    assert all(0 <= y <= 1 for _, y in tree)
    assert tree[0][1] == points_of(picture, "all")[0][1], "at a low threshold the tree calls everybody"


def test_labels_stay_texts() -> None:
    for picture in (
        roc_picture(LABEL, FOUND["roc"]),
        calibration_picture(LABEL, FOUND["calibration"]),
        decision_picture(LABEL, FOUND["net_benefit"]),
    ):
        root = XML.fromstring(picture)
        title = root.find(f"{SVG}title")
        assert title is not None
        assert str(title.text).endswith(LABEL)
        assert root.find(f"{SVG}desc") is not None


def test_each_bin_has_its_mark_and_its_range() -> None:
    root = XML.fromstring(calibration_picture("c1", FOUND["calibration"]))
    filled = [entry for entry in FOUND["calibration"] if entry["records"]]
    assert len(list(root.iter(f"{SVG}circle"))) == len(filled) == 3
    assert sum(line.get("class") == "range" for line in root.iter(f"{SVG}line")) == 3
