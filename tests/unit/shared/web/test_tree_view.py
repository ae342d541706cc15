"""A tree as pages show it: the document, the rows, the rules and the places of a path; no more than the study shows."""

from __future__ import annotations

import json
from html.parser import HTMLParser

import pytest

from shared.export.subject import Origin, Subject
from shared.tree.model import Leaf, Split, Tree
from shared.tree.prediction import Disclosure, predict
from shared.tree.schema import Attribute, Schema
from shared.web.tree_view import TABLE_ROWS, TreeView, path_places, places_to
from tests.support.export_cases import HOSTILE
from tests.support.tree_page import full_tree, page

SCHEMA = Schema.create(
    [Attribute("pain", ("no", "yes")), Attribute.numeric("temperature", ["37.5"], missing="none")],
    "state",
    ("well", "ill"),
)
TREE = Tree(
    Split(
        0,
        (Leaf(0, (30, 1)), Split(1, (Leaf(0, (5, 0)), Leaf(1, (0, 7)), Leaf(0, (0, 0))), 1, (5, 7))),
        0,
        (35, 8),
    )
)


def view(disclosure: Disclosure = "counts") -> TreeView:
    return TreeView(Subject.prepare(TREE, SCHEMA, disclosure, Origin(study="s")))


def test_the_document_names_every_place_in_level_order() -> None:
    document = view().document
    assert document["nodes"] == [
        {"label": 0, "attribute": 0, "counts": [35, 8], "records": 43},
        {"label": 0, "parent": 0, "branch": "no", "counts": [30, 1], "records": 31},
        {"label": 1, "parent": 0, "branch": "yes", "attribute": 1, "counts": [5, 7], "records": 12},
        {"label": 0, "parent": 2, "branch": "<= 37.5", "counts": [5, 0], "records": 5},
        {"label": 1, "parent": 2, "branch": "> 37.5", "counts": [0, 7], "records": 7},
        {"label": 0, "parent": 2, "branch": "none", "counts": [0, 0], "records": 0},
    ]
    assert (document["classes"], document["attributes"]) == (["well", "ill"], ["pain", "temperature"])
    assert document["tree_sha256"] == TREE.sha256


@pytest.mark.parametrize(
    ("disclosure", "hidden"),
    [("class", ("counts", "records", "share")), ("probability", ("counts", "records"))],
)
def test_what_the_study_does_not_show_is_nowhere(disclosure: Disclosure, hidden: tuple[str, ...]) -> None:
    found = view(disclosure)
    for node in found.document["nodes"]:
        assert not set(hidden) & set(node)
    assert all(not row.records for row in found.rows())
    assert "43" not in page(found).replace(TREE.sha256, "").split("</script>", 6)[-1]
    assert found.shows_records == (disclosure == "probability")


def test_rows_and_rules_stand_in_reading_order() -> None:
    rows = view().rows()
    assert [(row.number, row.level, row.of, row.branch, row.name, row.records) for row in rows] == [
        (0, 1, None, "", "pain", "43"),
        (1, 2, 0, "no", "well", "31"),
        (2, 2, 0, "yes", "temperature", "12"),
        (3, 3, 2, "<= 37.5", "well", "5"),
        (4, 3, 2, "> 37.5", "ill", "7"),
        (5, 3, 2, "none", "well", "0"),
    ]
    assert (rows[0].otherwise, rows[1].per_class) == ("well", "well 30, ill 1")
    told = [(rule.place, rule.conditions, rule.answer) for rule in view().rules()]
    assert told[:3] == [
        (1, ("pain = no",), "well"),
        (3, ("pain = yes", "temperature <= 37.5"), "well"),
        (4, ("pain = yes", "temperature > 37.5"), "ill"),
    ]
    assert len(view().rules(most=2)) == 2


@pytest.mark.parametrize(
    ("record", "places"),
    [
        ({"pain": "no"}, (0, 1)),
        ({"pain": "yes", "temperature": 39}, (0, 2, 4)),
        ({"pain": "yes"}, (0, 2, 5)),
        ({"pain": "perhaps"}, (0,)),
    ],
)
def test_a_predictions_steps_lead_through_these_places(
    record: dict[str, str | int | float | None], places: tuple[int, ...]
) -> None:
    found = view().subject
    assert path_places(found, predict(TREE, SCHEMA, record).steps) == places


def test_steps_of_another_tree_light_what_is_known() -> None:
    assert path_places(view().subject, (("pain", "yes"), ("age", "> 50"))) == (0, 2)
    assert path_places(view().subject, (("pain", "?"),)) == (0,)


def test_the_way_to_a_place() -> None:
    assert [places_to(view().subject, number) for number in (0, 4, 6, -1)] == [(0,), (0, 2, 4), (), ()]


def test_the_page_marks_the_rows_of_a_path_without_script() -> None:
    text = page(view(), lit=(0, 2, 4))
    assert [text.count(f'<tr data-row="{n}" class="lit">') for n in range(6)] == [1, 0, 1, 0, 1, 0]
    assert text.count('<em class="tree-mark">on the path</em>') == 3


def test_large_trees_keep_their_pages_small() -> None:
    large = full_tree(6, 3)
    text = page(large)
    assert large.size == 1093
    assert text.count("<tr data-row=") == TABLE_ROWS
    assert "the first 200 of 1093 places" in text
    assert len(text) < 160_000


def test_large_numbers_are_written_for_people() -> None:
    tree = Tree(Leaf(0, (12_345, 1_000_000)))
    row = TreeView(Subject.prepare(tree, SCHEMA, "counts", Origin())).rows()[0]
    assert (row.records, row.per_class) == ("1,012,345", "well 12,345, ill 1,000,000")


def test_a_tree_that_no_browser_can_draw_has_its_table_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shared.web.tree_view.DRAWN_PLACES", 5)
    text = page(view())
    assert "This tree has 6 places, too many for a picture" in text
    assert "data-tree-document" not in text
    assert text.count("<tr data-row=") == 6


def test_hostile_names_stay_names() -> None:
    values = tuple(text for text in HOSTILE if text.strip())
    schema = Schema.create(
        [Attribute('</script><script>alert("1")', values)], "<b>&", ("<i>x", '" onload="', "z" * 200)
    )
    tree = Tree(Split(0, tuple(Leaf(n % 3) for n in range(len(values))), 0))
    found = TreeView(Subject.prepare(tree, schema, "class", Origin(notice="</script>")))
    reader = _Reader()
    reader.feed(page(found))
    assert reader.scripts.count("application/json") == 2
    assert len(reader.scripts) == page(view()).count("<script")
    assert json.loads(reader.texts[0]) == json.loads(json.dumps(found.document))
    assert reader.loose == []


class _Reader(HTMLParser):
    """The scripts of a page, and elements that nobody wrote."""

    def __init__(self) -> None:
        super().__init__()
        self.scripts: list[str] = []
        self.texts: list[str] = []
        self.loose: list[str] = []
        self._inside = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = dict(attrs)
        if tag == "script":
            self.scripts.append(named.get("type") or "file")
            self._inside = named.get("type") == "application/json"
        elif tag in ("b", "i") or any(name.startswith("on") for name in named):
            self.loose.append(tag)

    def handle_endtag(self, tag: str) -> None:
        self._inside = False

    def handle_data(self, data: str) -> None:
        if self._inside:
            self.texts.append(data)
