"""Single export forms: what they show, that hostile texts survive, what is refused, and that the judges can fail."""

from __future__ import annotations

import ast
import csv
import io
import json
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import pytest

from shared.errors import InputError
from shared.export import FormatName
from shared.export.document import read_document, to_document, to_json
from shared.export.dot import to_dot
from shared.export.files import FILES
from shared.export.formats import FORMATS, render
from shared.export.naming import shortened
from shared.export.pmml import to_pmml
from shared.export.rules import to_rules
from shared.export.standalone import to_python
from shared.export.subject import Origin, Subject
from shared.export.svg import to_svg
from shared.tree.model import Leaf, Node, Split, Tree
from shared.tree.prediction import Disclosure
from shared.tree.schema import Attribute, Schema
from tests.support.export_cases import HOSTILE
from tests.support.export_judges import (
    JPMML,
    JPMML_MISSING,
    pmml_schema,
    read_pmml,
    read_rules,
    run_onnx,
    run_pypmml,
    run_python,
    run_python_file,
)

VALUES = tuple(text for text in HOSTILE if text.strip())
LABELS = ("<&>", 'a "b"', "женщина", "אבג, 😀", "=SUM(A1)")
SCHEMA = Schema.create(
    [Attribute(', "x" <&> שלום', VALUES), Attribute.numeric("]]> temp", ["37.5"], missing="none")],
    "class",
    LABELS,
)


def leaf(number: int) -> Leaf:
    return Leaf(
        number % len(LABELS), tuple(1001 + number if c == number % len(LABELS) else 0 for c in range(5))
    )


TREE = Tree(
    Split(
        0,
        (
            Split(1, (leaf(0), leaf(1), leaf(2)), 3, (1001, 1002, 1003, 0, 0)),
            *(leaf(number) for number in range(1, len(VALUES))),
        ),
        4,
        (777001, 777002, 777003, 777004, 777005),
    )
)
RECORDS = [
    *({SCHEMA.attributes[0].name: value, SCHEMA.attributes[1].name: None} for value in (*VALUES, "??", None)),
    {SCHEMA.attributes[0].name: VALUES[0], SCHEMA.attributes[1].name: "37.5"},
    {SCHEMA.attributes[0].name: VALUES[0], SCHEMA.attributes[1].name: "37.6"},
]


def subject(disclosure: Disclosure = "counts", tree: Tree = TREE, schema: Schema = SCHEMA) -> Subject:
    origin = Origin(study="s", job="0f", date="2026-11-30", hospitals=("h1", "h2"), version="0.3.0")
    return Subject.prepare(tree, schema, disclosure, origin)


def test_commands_offer_every_form() -> None:
    assert get_args(FormatName) == tuple(FORMATS) == tuple(FILES)


@pytest.mark.parametrize("form", get_args(FormatName))
def test_every_form_names_the_tree_its_job_its_date_and_its_limits(form: FormatName) -> None:
    if form == "onnx":
        pytest.importorskip("onnx")
    content = render(subject(), form)
    for part in (subject().tree_sha256, "0f", "2026-11-30", "Decision support for research; not certified"):
        assert part.encode() in content


@pytest.mark.parametrize("form", get_args(FormatName))
@pytest.mark.parametrize("disclosure", ["class", "probability"])
def test_no_form_shows_counts_that_the_study_does_not(form: FormatName, disclosure: Disclosure) -> None:
    if form == "onnx":
        pytest.importorskip("onnx")
    content = render(subject(disclosure), form)
    shown = render(subject("counts"), form) if form != "onnx" else b"777001 1002"
    for count in (b"777001", b"1002"):
        assert count not in content
        assert count in shown
    share = repr(777005 / sum((777001, 777002, 777003, 777004, 777005))).encode()
    if form in ("json", "sklearn", "pmml", "rules", "python"):
        assert (share in content) == (disclosure == "probability")


def test_of_two_classes_one_share_tells_the_other_and_of_more_it_does_not() -> None:
    two = Schema.create([Attribute("a", ("x", "y"))], "c", ["p", "q"])
    tree = Tree(Split(0, (Leaf(0, (3, 1)), Leaf(1, (0, 0))), 0, (3, 1)))
    found = subject("probability", tree, two)
    assert found.distributions() == ((0.75, 0.25), (0.75, 0.25), (0.75, 0.25))
    assert subject("probability").distributions() is None
    assert subject("class").distributions() is None


@pytest.mark.parametrize("tree", [TREE, Tree(Leaf(2)), Tree(Leaf(2, (0, 0, 4, 0, 0)))])
@pytest.mark.parametrize("disclosure", ["class", "probability", "counts"])
def test_a_document_reads_back(tree: Tree, disclosure: Disclosure) -> None:
    found = subject(disclosure, tree)
    assert read_document(json.loads(to_json(found))) == found


def test_a_published_tree_of_a_cloud_reads_as_well() -> None:
    plain = TREE.without_counts()
    published = {
        "tree_sha256": plain.sha256,
        "tree": json.loads(plain.canonical()),
        "schema": SCHEMA.to_json(),
    }
    found = read_document(published)
    assert (found.disclosure, found.tree_sha256, found.places[0].label) == ("class", plain.sha256, None)
    assert '"class" = ' in to_rules(found)
    assert "the tree has no answer" in to_rules(found)
    assert "the tree has no answer" not in to_rules(subject())


def changed(**members: Any) -> dict[str, Any]:
    return to_document(subject()) | members


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ([], "expected an exported tree"),
        ({}, "expected an exported tree"),
        (changed(format="privet-tree/9"), "expected format privet-tree/1"),
        (changed(tree_sha256="0" * 64), "not the one its hash names"),
        (changed(disclosure="all"), "expected disclosure"),
        (changed(nodes=[]), "level order"),
        (changed(nodes=[{}]), "node 0"),
        (changed(nodes=[{"leaf": -1}]), "node 0"),
        (changed(nodes=[{"leaf": 0}, {"leaf": 0}]), "expected one tree"),
        (changed(nodes=[{"attr": 0, "kids": [5]}]), "node 0"),
        (changed(nodes="x"), "expected a list of nodes"),
        (changed(study=5), "expected texts"),
        (changed(hospitals=[5]), "expected texts"),
        (changed(hospitals=None), "expected texts"),
        (changed(hospitals={"h1": 1}), "expected texts"),
        (changed(disclosure=[]), "expected disclosure"),
    ],
)
def test_another_document_is_refused(document: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_document(document)


@pytest.mark.parametrize(
    ("node", "message"),
    [
        (Leaf(5), "a class that the schema does not have"),
        (Leaf(0, (1,)), "one count a class"),
        (Split(7, (Leaf(0),)), "an attribute that the schema does not have"),
        (Split(0, (Leaf(0),)), "one branch a value"),
    ],
)
def test_a_tree_of_another_schema_is_refused(node: Node, message: str) -> None:
    with pytest.raises(InputError, match=message):
        subject(tree=Tree(node))


def test_a_tree_that_shares_out_missing_values_needs_its_counts_shown() -> None:
    schema = Schema.create([Attribute("a", ("x", "missing"), missing="fractional")], "c", ["p", "q"])
    tree = Tree(Split(0, (Leaf(0, (2, 1)),), 0, (2, 1)))
    with pytest.raises(InputError, match=r"which the study does not show.*privet agent predict"):
        subject("class", tree, schema)


def test_rules_tell_how_the_branches_vote() -> None:
    schema = Schema.create([Attribute("a", ("x", "y", "missing"), missing="fractional")], "c", ["p", "q"])
    tree = Tree(Split(0, (Leaf(0, (2, 0)), Leaf(1, (1, 2))), 0, (3, 2)))
    head, rules = to_rules(subject("counts", tree, schema)).split("answers.\n")
    assert 'of equal ones the first of "p", "q".' in rules
    assert "A rule that names sections" in head + rules
    assert rules.splitlines()[4:] == [
        'IF ("a" = "missing" OR "a" IS MISSING) THEN 2/5 OF SECTION 1 AND 3/5 OF SECTION 2  # node 0',
        'IF "a" = "x" THEN "c" = "p"  # node 1, 2 records: "p" 2',
        'IF "a" = "y" THEN "c" = "q"  # node 2, 3 records: "p" 1, "q" 2',
        'IF TRUE THEN "c" = "p"  # node 0, value not listed, 5 records: "p" 3, "q" 2',
        "SECTION 1",
        'IF TRUE THEN "c" = "p"  # node 1, 2 records: "p" 2',
        "SECTION 2",
        'IF TRUE THEN "c" = "q"  # node 2, 3 records: "p" 1, "q" 2',
    ]


def test_xml_refuses_what_it_cannot_hold_and_others_take_it() -> None:
    schema = Schema.create([Attribute("a\ufffe", ("x", "y"))], "c", ["p", "q"])
    found = subject(tree=Tree(Split(0, (Leaf(0), Leaf(1)), 0)), schema=schema)
    for write in (to_pmml, to_svg):
        with pytest.raises(InputError, match=r"U\+FFFE"):
            write(found)
    records = [{"a\ufffe": "y"}]
    assert run_python(to_python(found), records)[0][0] == "q"
    assert read_rules(to_rules(found), records)[0][0] == "q"


# One file of Python


def test_the_python_file_runs_alone_over_csv(tmp_path: Path) -> None:
    path = tmp_path / "tree.py"
    path.write_text(to_python(subject()), encoding="ascii")
    table = io.StringIO(newline="")
    writer = csv.DictWriter(table, list(RECORDS[0]))
    writer.writeheader()
    writer.writerows(RECORDS)
    done = run_python_file(path, table.getvalue())
    assert done.returncode == 0, done.stderr
    assert "research" in done.stderr
    header, *rows = csv.reader(io.StringIO(done.stdout, newline=""))
    assert header == ["class", "share", "node", "stopped_at"]
    expected = run_python(to_python(subject()), RECORDS)
    assert [(row[0], int(row[2])) for row in rows] == [(label, place) for label, place, _ in expected]


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("a\n1\n", "The header has no column"),
        ("{0},{1}\n{2},warm\n", "Record 1: .*expected a finite decimal"),
    ],
)
def test_the_python_file_says_what_is_wrong_with_a_table(table: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "tree.py"
    path.write_text(to_python(subject()), encoding="ascii")
    quoted = ['"' + text.replace('"', '""') + '"' for text in (*RECORDS[0], VALUES[0])]
    done = run_python_file(path, table.format(*quoted))
    assert done.returncode == 3
    assert re.search(message, done.stderr)
    assert "warm" not in done.stderr


def test_no_text_of_a_tree_becomes_code() -> None:
    evil = ("'''", '"""', "\\", "'); import os; os.abort() #", "{os}", "@DATA@", "\\N{BULLET}")
    schema = Schema.create([Attribute("'''\\", evil)], "'); quit() #", evil)
    found = subject(tree=Tree(Split(0, tuple(Leaf(n) for n in range(len(evil))), 0)), schema=schema)
    told = run_python(to_python(found), [{"'''\\": text} for text in evil])
    assert [label for label, _, _ in told] == list(evil)
    assert to_python(found).isascii()
    ast.parse(to_python(found), feature_version=(3, 8))


@pytest.mark.parametrize("form", [form for form in get_args(FormatName) if form != "onnx"])
def test_a_head_cannot_begin_a_line_of_its_own(form: FormatName) -> None:
    evil = "x\n}\nIF TRUE THEN 0\rimport evil\u2028evil.abort() */ --> ]]>"
    origin = Origin(question=evil, study=evil, job=evil, date=evil, hospitals=(evil,), notice=evil)
    text = render(Subject.prepare(TREE, SCHEMA, "counts", origin), form).decode()
    if form in ("rules", "dot", "python"):
        assert not any(
            line.startswith(("IF TRUE THEN 0", "import evil", "evil.abort")) for line in text.splitlines()
        )
    if form in ("pmml", "svg"):
        ET.fromstring(text)
    if form == "python":
        assert run_python(text, RECORDS) == run_python(to_python(subject()), RECORDS)


# Pictures


def test_dot_holds_every_name_and_is_read_by_graphviz(tmp_path: Path) -> None:
    text = to_dot(subject())
    assert text.count("->") == len(subject().places) - 1
    labels = re.findall(r'label="((?:[^"\\]|\\.)*)"', text)
    assert len(labels) == 2 * len(subject().places) - 1
    named = {
        label.replace("\\\\", "\0").replace('\\"', '"').replace("\0", "\\").replace("&amp;", "&")
        for label in labels
    }
    assert set(VALUES) <= named
    if shutil.which("dot"):
        subprocess.run(["dot", "-Tsvg", "-o", tmp_path / "x.svg"], input=text.encode(), check=True)


def test_svg_is_a_tree_of_items_with_full_names() -> None:
    root = ET.fromstring(to_svg(subject()))
    items = root.findall(".//*[@role='treeitem']")
    assert len(items) == len(subject().places)
    assert root.find("*[@role='tree']") is not None
    titles = [item.find("{*}title") for item in items]
    full = [title.text or "" for title in titles if title is not None]
    assert full == [item.get("aria-label") for item in items]
    for value in VALUES:
        assert any(text.startswith(f"{value}: ") for text in full)
    assert [item.get("aria-level") for item in items][:3] == ["1", "2", "3"]
    shown = [text.text or "" for text in root.iter("{http://www.w3.org/2000/svg}text")]
    assert max(len(text) for text in shown[:-1]) <= 30


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a" * 9, "a" * 9),
        ("a" * 10, "a" * 8 + "…"),
        ("女" * 5, "女" * 4 + "…"),
        ("e\u0301" * 9, "e\u0301" * 9),
    ],
)
def test_a_name_is_cut_to_its_width(text: str, shown: str) -> None:
    assert shortened(text, 9) == shown


def boxes(text: str) -> list[tuple[float, float, float, float]]:
    root = ET.fromstring(text)
    found = [item.find("{*}rect") for item in root.findall(".//*[@role='treeitem']")]
    return [tuple(float(r.get(n, "")) for n in ("x", "y", "width", "height")) for r in found if r is not None]  # type: ignore[misc]


def test_boxes_of_a_picture_do_not_overlap() -> None:
    found = boxes(to_svg(subject()))
    for number, (x, y, width, height) in enumerate(found):
        for other_x, other_y, _, _ in found[:number]:
            assert abs(x - other_x) >= width or abs(y - other_y) >= height


def test_a_branch_is_as_wide_as_its_share_only_where_counts_are_shown() -> None:
    def widths(disclosure: Disclosure) -> set[str]:
        return set(re.findall('stroke-width="([0-9.]+)"', to_svg(subject(disclosure))))

    assert len(widths("counts")) == 1  # a thousand of millions is no width
    tree = Tree(
        Split(0, tuple(Leaf(0, (n, 0, 0, 0, 0)) for n in range(len(VALUES))), 0, (len(VALUES), 0, 0, 0, 0))
    )
    assert len(set(re.findall('stroke-width="([0-9.]+)"', to_svg(subject("counts", tree))))) > 10
    assert widths("class") == {"1.2"}


# Deep trees


@pytest.mark.long
def test_forms_do_not_depend_on_the_depth_of_python() -> None:
    attributes = [Attribute(f"a{n}", ("x", "y")) for n in range(1024)]
    schema = Schema.create(attributes, "c", ["p", "q"])
    node: Node = Leaf(1)
    for number in reversed(range(1024)):
        node = Split(number, (Leaf(0), node), 0)
    found = subject("class", Tree(node), schema)
    record = {f"a{n}": "y" for n in range(1024)}
    assert run_python(to_python(found), [record])[0][0] == "q"
    assert read_document(json.loads(to_json(found))) == found
    for write in (to_pmml, to_rules, to_dot, to_svg):
        assert len(write(found)) > 100_000


# The judges


@pytest.mark.skipif(not JPMML.is_dir(), reason=JPMML_MISSING)
@pytest.mark.parametrize(
    "broken",
    [
        lambda text: text.replace("<True/>", ""),
        lambda text: text.replace('functionName="classification"', ""),
        lambda text: text.replace('operator="equal"', 'operator="same"'),
        lambda text: text.replace("<MiningSchema>", "<Output/><MiningSchema>"),
        lambda text: text.replace("<TreeModel", '<TreeModel x-mathContext="float"'),
    ],
)
def test_the_schema_refuses_a_broken_pmml(broken: Callable[[str], str]) -> None:
    import lxml.etree

    text = to_pmml(subject())
    assert broken(text) != text
    assert pmml_schema().validate(lxml.etree.fromstring(text.encode()))
    assert not pmml_schema().validate(lxml.etree.fromstring(broken(text).encode()))


def test_a_wrong_score_is_noticed() -> None:
    text = to_pmml(subject())
    right = read_pmml(text, RECORDS, SCHEMA)
    wrong = read_pmml(text.replace('score="женщина"', 'score="אבג, 😀"'), RECORDS, SCHEMA)
    assert right != wrong


@pytest.mark.long
@pytest.mark.skipif(shutil.which("java") is None, reason="java is not here")
def test_a_wrong_score_is_noticed_by_the_outside_engine() -> None:
    text = to_pmml(subject())
    right = run_pypmml(text, RECORDS, SCHEMA)
    assert [row[:2] for row in right] == [row[:2] for row in read_pmml(text, RECORDS, SCHEMA)]
    assert run_pypmml(text.replace('score="женщина"', 'score="אבג, 😀"'), RECORDS, SCHEMA) != right


def test_onnx_keeps_hostile_texts() -> None:
    pytest.importorskip("onnxruntime")
    told = run_onnx(render(subject(), "onnx"), RECORDS)
    assert told == read_pmml(to_pmml(subject()), RECORDS, SCHEMA)


@pytest.mark.parametrize("words", [["--about"], []])
def test_a_reader_of_the_file_of_python_who_has_enough_gets_no_traceback(
    tmp_path: Path, words: list[str]
) -> None:
    path = tmp_path / "tree.py"
    path.write_text(to_python(subject()), encoding="ascii")
    table = io.StringIO()
    writer = csv.writer(table)
    writer.writerows(
        [[attribute.name for attribute in SCHEMA.attributes], *([VALUES[0], "37"] for _ in range(9_000))]
    )
    with subprocess.Popen(
        [sys.executable, str(path), *words],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    ) as process:
        assert process.stdout is not None
        process.stdout.close()  # before the program has written, as `head -0` would
        process.stdout = None
        told = process.communicate(table.getvalue())[1]
    assert process.returncode == 1
    assert "Traceback" not in told
    assert "Exception" not in told
