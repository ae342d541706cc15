"""`privet agent report`: what it tells of a model, what it keeps, and that its page is safe and readable."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from hospital_agent.keyring import Keyring
from hospital_agent.models import shelf_of
from hospital_agent.models.tallies import TallyResult, cabinet_of
from privet.__main__ import run
from shared.protocol.report_facts import judged_on
from shared.protocol.tallies import evaluation_schema
from shared.tree.model import Leaf, Split, Tree
from shared.tree.schema import Schema
from shared.tree.tallying import tables_of
from shared.wire.manifest import ClassSpec
from shared.wire.tally import SelectionSpec
from tests.support.clinic import CLASSES, SCHEMA
from tests.support.models import model_of
from tests.unit.hospital_agent.test_keyring import PARTIES, ROOT, bundle_file, folder_of

HOSTILE = "<script>alert('x')</script> & \"quotes\" · ≥ 5"
SEED = "0" * 32
AT_LEAF = {0: (4, 0, 0, 0), 1: (0, 12, 0, 0), 2: (1, 0, 9, 0), 3: (0, 2, 0, 7)}
AT_ROOT = (1, 1, 0, 0)
"""Judged records: at the first leaf of each class, and stopped at the root."""


def folder_with(tmp_path: Path, **changes: object) -> Path:
    """A joined agent with one model, grown on the parts that are not for testing."""
    folder = tmp_path / "agent"
    folder.mkdir(mode=0o700)
    folder_of(folder, "h1")
    (folder / "agent.toml").write_text('id = "h1"\n[data]\npath = "records.csv"\n')
    ring = Keyring.open(folder)
    ring.join(bundle_file(folder), ROOT, "h1")
    selection = {"seed": SEED, "parts": 10, "first": 0, "last": 3, "use": "train"}
    model = model_of(PARTIES, **{"selection": selection, **changes})
    shelf_of(folder, ring.identity.public, PARTIES.root).put(model, ring.identity)
    if model.tree is not None:
        result = TallyResult(_proof(model, model.tree), _tables(model.tree))
        cabinet_of(folder, ring.identity.public, PARTIES.root).put(result, ring.identity)
    return folder


def _proof(model: Any, tree: Tree, **changes: object) -> Any:
    target = ClassSpec(name="diagnosis", labels=list(CLASSES))
    asked = {"kind": "evaluation", "model": model.id, "tree_sha256": tree.sha256, "places": tree.node_count}
    fields: dict[str, object] = {
        "job": "cd" * 16,
        "schema": evaluation_schema(target, tree.node_count).model_dump(mode="json", by_alias=True),
        "max_depth": 1,
        "tally": asked,
        "selection": {"seed": SEED, "parts": 10, "first": 0, "last": 3, "use": "test"},
    }
    return model_of(PARTIES, **{**fields, **changes})


def _tables(tree: Tree) -> Any:
    target = ClassSpec(name="diagnosis", labels=list(CLASSES))
    schema = evaluation_schema(target, tree.node_count)
    rest = dict(AT_LEAF)
    rows = [list(AT_ROOT)]
    for node in list(tree.nodes())[1:]:
        rows.append(list(rest.pop(node.label, (0,) * 4) if isinstance(node, Leaf) else (0,) * 4))
    return tables_of(Schema.from_json(schema.model_dump(mode="json", by_alias=True)), [rows])


def report(capsys: pytest.CaptureFixture[str], *words: object, code: int = 0) -> Any:
    """`privet agent report WORDS --json`."""
    capsys.readouterr()
    assert run(["agent", "report", *map(str, words), "--json"]) == code, capsys.readouterr()
    return json.loads(capsys.readouterr().out)


def section(document: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """One section."""
    (found,) = (entry for entry in document["sections"] if entry["id"] == name)
    return found


def test_a_report_tells_of_held_out_records_and_of_the_training(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = folder_with(tmp_path)
    document = report(capsys, folder, "ab", "--evaluation", "cd", "--exact")
    held_out, training = document["judged"]
    assert (held_out["on"], training["on"]) == ("held-out", "training")
    assert "3 of 10 parts" in held_out["note"]
    found = held_out["evaluation"]
    assert found["records"] == 37
    assert found["stopped"] == 2
    assert found["overall"]["not_covered"]["value"] == pytest.approx(2 / 37)
    assert training["evaluation"]["records"] == 120
    assert training["evaluation"]["overall"]["accuracy"]["value"] > 0.99 - 0.1
    items = [item for entry in document["sections"] for item in entry["tripod_ai_items"]]
    assert [int(re.sub("[a-z]", "", item)) for item in items] == sorted(
        int(re.sub("[a-z]", "", item)) for item in items
    )
    assert {re.sub("[a-z]", "", item) for item in items} == set(map(str, range(1, 28)))
    importance = document["importance"]
    assert sum(entry["gini"] for entry in importance) == pytest.approx(1, abs=0.03)
    assert importance[0]["attribute"] in {"lumbar pain", "urine pushing", "nausea"}
    assert section(document, "model")["tables"][0]["rows"][0][0] == importance[0]["attribute"]
    assert section(document, "fairness")["to_be_filled_in_by_the_authors"]
    assert section(document, "privacy")["tables"][0]["rows"]


def test_a_shared_report_has_no_count_below_the_floor(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = folder_with(tmp_path)
    document = report(capsys, folder, "ab", "--evaluation", "cd")
    for entry in document["judged"]:
        evaluation = entry["evaluation"]
        counts = [cell for row in evaluation["confusion"]["cells"] for cell in row]
        counts += [cell for place in evaluation["places"] for cell in place["counts"]]
        counts += [b["records"] for c in evaluation["classes"] for b in c["calibration"]]
        assert all(count == "< 5" or count % 5 == 0 for count in counts)
        assert evaluation["records"] % 5 == 0
    small = document["judged"][0]["evaluation"]
    sensitivity = small["classes"][1]["measures"]["sensitivity"]
    assert (sensitivity["value"], sensitivity["reason"]) == (0.87, "a part below 5 records is taken as 2")
    wider = report(capsys, folder, "ab", "--evaluation", "cd", "--floor", "10")
    assert wider["judged"][0]["evaluation"]["stopped"] == "< 10"


def test_the_study_decides_which_curves_and_counts_are_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = folder_with(tmp_path, disclosure="class")
    found = report(capsys, folder, "ab", "--exact")["judged"][0]["evaluation"]
    assert "places" not in found
    assert "roc" not in found["classes"][0]
    assert found["overall"]["accuracy"]["value"] is not None


def test_a_tree_that_its_study_keeps_is_left_out_of_what_is_shared(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = folder_with(tmp_path)
    assert report(capsys, folder, "ab")["drawing"] == ""
    assert "lumbar pain?" in report(capsys, folder, "ab", "--exact")["drawing"]
    assert "lumbar pain?" in report(capsys, folder, "ab", "--with-tree")["drawing"]


def test_an_evaluation_of_another_tree_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = folder_with(tmp_path)
    ring = Keyring.open(folder)
    root = model_of(PARTIES).shown_tree.root
    assert isinstance(root, Split)
    other = Tree(root.kids[1])
    result = TallyResult(_proof(model_of(PARTIES), other), _tables(other))
    cabinet_of(folder, ring.identity.public, PARTIES.root).put(result, ring.identity)
    problem = report(capsys, folder, "ab", "--evaluation", "cd", code=3)
    assert "did not evaluate that tree" in problem["detail"]


def site_file(path: Path, hospital: str, tree: Tree, right: int, **own: Any) -> Path:
    """What `evaluate --json` prints at a hospital, of `right` records and two wrong ones."""
    nodes = [[0] * 4 for _ in range(tree.node_count)]
    place, leaf = next((n, x) for n, x in enumerate(tree.nodes()) if isinstance(x, Leaf))
    nodes[place][leaf.label] = right
    nodes[place][(leaf.label + 1) % 4] = 2
    document = {
        "kind": "local",
        "tree_sha256": tree.sha256,
        "classes": list(CLASSES),
        "hospitals": [hospital],
        "use": "test",
        "nodes": nodes,
        "answers": [x.label if isinstance(x, Leaf) else x.majority for x in tree.nodes()],
        "votes": None,
    }
    path.write_text(json.dumps(document | own))
    return path


def test_results_that_hospitals_handed_over_and_what_joining_brought(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = folder_with(tmp_path)
    tree = model_of(PARTIES).shown_tree
    own: dict[str, Any] = {
        "own_tree": {"tree_sha256": "0" * 64, "nodes": [[9, 1, 0, 0]], "answers": [0], "votes": None},
        "paired": {"both_right": 7, "only_joint_right": 1, "only_own_right": 2, "neither_right": 0},
    }
    files = [site_file(tmp_path / f"h{n}.json", f"h{n}", tree, 8 + n, **own) for n in (1, 2, 3)]
    sites = [word for file in files for word in ("--site", file)]
    document = report(capsys, folder, "ab", *sites, "--exact")
    (first, *_) = document["hospitals"]
    assert (first["hospital"], first["on"], first["records"]) == ("h1", "test", 11)
    assert first["measures"]["accuracy"]["value"] == pytest.approx(9 / 11)
    assert first["joining"]["own_accuracy"]["value"] == 0.9
    assert first["joining"]["difference"]["value"] == pytest.approx(-0.1)
    assert first["joining"]["mcnemar_p"] == 1
    captions = [table["caption"] for table in section(document, "hospitals")["tables"]]
    assert any("What joining brought" in caption for caption in captions)
    shared = report(capsys, folder, "ab", *sites)
    assert [site["records"] for site in shared["hospitals"]] == [10, 10, 15]
    assert shared["hospitals"][0]["joining"]["mcnemar_p"] is None, "one and two records apart would follow"
    assert shared["hospitals"][0]["measures"]["accuracy"]["value"] == 0.8, (
        "two wrong stand for all below the floor"
    )
    alone = report(capsys, folder, "ab", *sites[:2])
    assert alone["hospitals"] == [], "the pooled result less one of three tells of two"
    assert "one or two hospitals" in section(alone, "hospitals")["facts"][0]
    (tmp_path / "other.json").write_text('{"kind": "local"}')
    problem = report(capsys, folder, "ab", "--site", tmp_path / "other.json", code=3)
    assert "not what a hospital's own evaluation prints" in problem["detail"]
    wrong: list[dict[str, Any]] = [
        {"hospitals": ["h1\x1b[2J"]},
        {"use": "\x1b]0;"},
        {"use": []},
        {"hospitals": [5]},
        {"paired": {**own["paired"], "both_right": 10**400}},
    ]
    for changes in wrong:
        file = site_file(tmp_path / "h1.json", "h1", tree, 8, **own | changes)
        assert "not what" in report(capsys, folder, "ab", "--site", file, "--exact", code=3)["detail"], (
            changes
        )


def test_records_that_branches_answered_together_count_in_what_rests_on_classes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = folder_with(tmp_path)
    tree = model_of(PARTIES).shown_tree
    votes = [[3, 1, 0, 0], [0, 2, 0, 0], [0, 0, 0, 0], [0, 0, 4, 0]]
    file = site_file(tmp_path / "h1.json", "h1", tree, 8, votes=votes)
    (found,) = report(capsys, folder, "ab", "--site", file, "--exact")["hospitals"]
    assert found["records"] == 8 + 2 + 10
    assert found["measures"]["accuracy"]["value"] == pytest.approx((8 + 3 + 2) / 20)
    wrong = site_file(tmp_path / "h2.json", "h2", tree, 8, votes=votes[:3])
    assert "not what" in report(capsys, folder, "ab", "--site", wrong, code=3)["detail"]


def test_folds_are_pooled_if_they_divide_the_records(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = folder_with(tmp_path)
    ring = Keyring.open(folder)
    shelf = shelf_of(folder, ring.identity.public, PARTIES.root)
    cabinet = cabinet_of(folder, ring.identity.public, PARTIES.root)
    for fold in range(3):
        chosen = {"seed": SEED, "parts": 3, "first": fold, "last": fold + 1}
        model = model_of(PARTIES, job=f"{fold}a" * 16, selection={**chosen, "use": "train"})
        shelf.put(model, ring.identity)
        proof = _proof(model, model.shown_tree, job=f"{fold}b" * 16, selection={**chosen, "use": "test"})
        cabinet.put(TallyResult(proof, _tables(model.shown_tree)), ring.identity)
    words = [word for fold in range(3) for word in ("--fold", f"{fold}b")]
    document = report(capsys, folder, "ab", *words, "--exact")
    found = document["cross_validation"]["accuracy"]
    assert found["pooled"]["value"] == found["mean"] == pytest.approx(32 / 37)
    assert (found["standard_deviation"], found["parts_with_a_value"]) == (0, 3)
    problem = report(capsys, folder, "ab", "--fold", "0b", "--fold", "0b", code=3)
    assert "one part twice" in problem["detail"]
    assert "two divisions" in report(capsys, folder, "ab", "--fold", "0b", "--fold", "cd", code=3)["detail"]


def test_hospitals_that_were_left_out_are_told_one_by_one_and_together(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = folder_with(tmp_path)
    tree = model_of(PARTIES).shown_tree
    files = [site_file(tmp_path / f"h{n}.json", f"h{n}", tree, 8 * n) for n in (4, 5)]
    words = [word for file in files for word in ("--left-out", file)]
    found = report(capsys, folder, "ab", *words, "--exact")["leave_one_hospital_out"]
    assert [(one["hospital"], one["records"]) for one in found["hospitals"]] == [("h4", 34), ("h5", 42)]
    assert found["together"]["accuracy"]["pooled"]["value"] == pytest.approx(72 / 76)
    assert found["together"]["accuracy"]["mean"] == pytest.approx((32 / 34 + 40 / 42) / 2)
    took_part = site_file(tmp_path / "h2.json", "h2", tree, 8)
    assert "grown without" in report(capsys, folder, "ab", "--left-out", took_part, code=3)["detail"]
    outside = report(capsys, folder, "ab", "--site", files[0], "--exact")["hospitals"]
    assert outside[0]["on"] == "test, took no part"


class _Page(HTMLParser):
    """Tags that are open at the end, names of all tags, and attributes that would load something."""

    VOID = frozenset({"meta", "br"})

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.loads: list[str] = []
        self.texts: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.loads += [name for name, _ in attrs if name in ("src", "href") or name.startswith("on")]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in self.VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def test_the_page_is_whole_loads_nothing_and_escapes_what_came_from_outside(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hostile = {
        **SCHEMA,
        "attributes": [
            {"name": f"{HOSTILE} {number}", "values": ["0", HOSTILE]}
            for number in range(len(SCHEMA["attributes"]))
        ],
        "class": {"name": "class </title>", "labels": ["", HOSTILE, "</svg><img src=x>", "both"]},
    }
    folder = folder_with(tmp_path, schema=hostile, question=f"who has {HOSTILE}?")
    page = tmp_path / "report.html"
    document = report(capsys, folder, "ab", "--html", page)
    assert document["about"]["floor"] == 5
    found = _Page()
    found.feed(page.read_text(encoding="utf-8"))
    assert found.open == []
    assert not {"script", "img", "link", "iframe"} & found.tags
    assert {"svg", "table", "polyline", "circle", "main", "section"} <= found.tags
    assert found.loads == []
    assert any(HOSTILE in text for text in found.texts)
    assert report(capsys, folder, "ab", "--html", page, code=3)["detail"].endswith("Name another file.")
    assert page.stat().st_mode & 0o077 == 0
    nowhere = report(capsys, folder, "ab", "--html", tmp_path / "none" / "page.html", code=3)
    assert nowhere["detail"].endswith("Name a file that can be written.")


def test_as_text_the_measures_stand_in_columns(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = folder_with(tmp_path)
    capsys.readouterr()
    words = ["--exact", "--level", "90", "--clopper-pearson"]
    assert run(["agent", "report", str(folder), "ab", *words]) == 0
    text = capsys.readouterr().out
    assert "resubstitution: optimistic" in text
    assert "90% interval" in text
    assert re.search(r"^Accuracy +\d\.\d{3} +\d\.\d{3} to 1\.000 +clopper-pearson$", text, re.MULTILINE)
    assert re.search(r"^Log loss, of smoothed scores +\d", text, re.MULTILINE)


def test_a_tree_that_is_not_here_is_reported_without_figures(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = folder_with(tmp_path)
    ring = Keyring.open(folder)
    shelf = shelf_of(folder, ring.identity.public, PARTIES.root)
    shelf.put(replace(shelf.get("ab" * 16), tree=None), ring.identity)
    document = report(capsys, folder, "ab")
    assert document["judged"] == []
    assert "not shown" in section(document, "model")["facts"][0]
    assert "not judged here" in section(document, "performance")["facts"][0]


def test_what_counts_as_held_out() -> None:
    def selection(first: int, last: int, use: str, parts: int = 10, seed: str = SEED) -> SelectionSpec:
        return SelectionSpec.model_validate(
            {"seed": seed, "parts": parts, "first": first, "last": last, "use": use}
        )

    same = frozenset({"h1", "h2", "h3"})
    train, test = selection(0, 3, "train"), selection(0, 3, "test")
    assert judged_on(train, test, same, same) == "held-out"
    assert judged_on(train, selection(1, 2, "test"), same, same) == "held-out"
    assert judged_on(train, selection(2, 4, "test"), same, same) == "mixed"
    assert judged_on(train, train, same, same) == "training"
    assert judged_on(train, selection(0, 3, "test", seed="1" * 32), same, same) == "mixed"
    assert judged_on(train, selection(0, 2, "test", parts=5), same, same) == "mixed"
    assert judged_on(train, test.model_copy(update={"hash": "hmac-sha256"}), same, same) == "mixed"
    assert judged_on(None, test, same, same) == "mixed", "the tree was grown on all records"
    assert judged_on(train, None, same, same) == "mixed"
    assert judged_on(None, None, same, same) == "training"
    assert judged_on(None, None, same, same | {"h4"}) == "mixed"
    assert judged_on(None, None, same, frozenset({"h4", "h5", "h6"})) == "held-out", (
        "records of other hospitals"
    )
