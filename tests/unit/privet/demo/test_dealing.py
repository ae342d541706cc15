"""The demo's records: every row reaches exactly one hospital, and the pooled tree is the known one."""

from collections import Counter
from decimal import Decimal
from pathlib import Path

import pytest

from hospital_agent.records.files import read_table
from hospital_agent.records.matching import encode
from privet.demo import acute_inflammations
from privet.demo.dealing import DemoRecords, prepare
from privet.demo.options import DemoOptions
from privet.demo.pooled import grow_pooled
from shared.errors import InputError
from shared.tree.export import reference_form
from shared.tree.growth_rules import GrowthRules

CSV = "id,colour,size,answer\n" + "".join(
    f"{n},{colour},{size},{'yes' if colour == 'red' else 'no'}\n"
    for n, (colour, size) in enumerate([("red", "s"), ("blue", "m"), ("red", "l"), ("blue", "s")] * 6)
)


def rows_at_hospitals(records: DemoRecords) -> list[Counter[tuple[int, ...]]]:
    coded = [encode(read_table(h.settings), records.schema, h.settings).codes.T for h in records.hospitals]
    return [Counter(tuple(row) for row in codes.tolist()) for codes in coded]


def test_own_records_are_the_published_patterns(tmp_path: Path) -> None:
    records = prepare(DemoOptions(hospitals=5), tmp_path)
    assert [h.id for h in records.hospitals] == ["h1", "h2", "h3", "h4", "h5"]
    expected = Counter(
        {(*map(int, symptoms), label): count for symptoms, label, count in acute_inflammations.PATTERNS}
    )
    assert Counter(records.rows) == expected
    assert sum(rows_at_hospitals(records), Counter()) == expected


def test_own_records_give_the_reference_tree_under_the_default_rules(tmp_path: Path) -> None:
    records = prepare(DemoOptions(), tmp_path)
    tree = grow_pooled(records, GrowthRules()).tree
    assert tree == grow_pooled(records, GrowthRules(min_node=1, min_child=1, max_depth=None)).tree
    assert tree.node_count == 11
    named = reference_form(tree, records.schema)
    assert named["attribute"] == "lumbar pain"
    assert named["branches"]["0"]["branches"]["1"] == {"leaf": "inflammation of the bladder", "count": 40}


def test_a_file_is_dealt_round_robin(tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    path.write_text(CSV)
    records = prepare(DemoOptions(files=(path,), drop=("id",), class_column="answer", hospitals=4), tmp_path)
    dealt = rows_at_hospitals(records)
    assert [part.total() for part in dealt] == [6, 6, 6, 6]
    assert all(len(part) == 1 for part in dealt)
    assert sum(dealt, Counter()) == Counter(records.rows)


def test_the_class_is_the_last_column_unless_named(tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    path.write_text(CSV)
    assert prepare(DemoOptions(files=(path,), drop=("1",)), tmp_path).schema.class_name == "answer"


def test_files_are_one_hospital_each_and_stay_where_they_are(tmp_path: Path) -> None:
    paths = tuple(tmp_path / f"{name}.csv" for name in "abc")
    for path in paths:
        path.write_text(CSV)
    records = prepare(DemoOptions(files=paths, drop=("id",)), tmp_path)
    assert [h.settings.path for h in records.hospitals] == list(paths)
    assert len(records.rows) == 72
    assert sorted(tmp_path.iterdir()) == list(paths)


def test_a_file_without_header_goes_by_position(tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    path.write_text(CSV.partition("\n")[2])
    options = DemoOptions(files=(path,), has_header=False, class_column="4", drop=("1",))
    records = prepare(options, tmp_path)
    assert [attribute.name for attribute in records.schema.attributes] == ["column 2", "column 3"]
    assert sum(rows_at_hospitals(records), Counter()) == Counter(records.rows)


@pytest.mark.parametrize("has_names", [True, False])
def test_whether_there_is_a_header_is_found_out_and_told(tmp_path: Path, has_names: bool) -> None:
    path, told = tmp_path / "data.csv", list[str]()
    path.write_text(CSV if has_names else CSV.partition("\n")[2])
    records = prepare(DemoOptions(files=(path,), class_column="4", drop=("1",)), tmp_path, told.append)
    assert len(records.rows) == 24
    assert sum(rows_at_hospitals(records), Counter()) == Counter(records.rows)
    assert records.schema.class_name == ("answer" if has_names else "column 4")
    assert [line.endswith("--no-header" if has_names else "--header") for line in told] == [True]


def test_what_was_found_is_told_before_a_column_is_missed(tmp_path: Path) -> None:
    path, told = tmp_path / "data.csv", list[str]()
    path.write_text(CSV.partition("\n")[2])
    with pytest.raises(InputError, match="no column 'answer'"):
        prepare(DemoOptions(files=(path,), class_column="answer"), tmp_path, told.append)
    assert len(told) == 1
    declared = DemoOptions(files=(path,), has_header=False, class_column="4", drop=("1",))
    prepare(declared, tmp_path, told.append)
    assert len(told) == 1


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "empty"),
        ("a,b\n", "no rows"),
        ("a,b\n1,x\n2,y\n", "fewer rows"),
        ("a,b\n1,x\n2,x\n3,x\n", "one and the same class"),
        ("a,b\n1,x\n2,x,9\n3,y\n", "line 3"),
        ("a,a,b\n1,1,x\n2,2,y\n3,3,y\n", "both named"),
    ],
)
def test_unfit_files_are_refused_by_name(tmp_path: Path, text: str, complaint: str) -> None:
    path = tmp_path / "data.csv"
    path.write_text(text)
    with pytest.raises(InputError, match=complaint) as caught:
        prepare(DemoOptions(files=(path,)), tmp_path)
    assert "data.csv" in str(caught.value)


def test_a_cut_of_no_column_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    path.write_text(CSV)
    with pytest.raises(InputError, match="--cut"):
        prepare(DemoOptions(files=(path,), cuts={"weight": ()}), tmp_path)


def test_cuts_may_name_a_column_by_position(tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    path.write_text(CSV)
    cuts = {"1": (Decimal(12),)}
    first = prepare(DemoOptions(files=(path,), cuts=cuts), tmp_path).schema.attributes[0]
    assert (first.name, first.cuts) == ("id", (Decimal(12),))
    twice = DemoOptions(files=(path,), cuts={**cuts, "id": (Decimal(6),)})
    with pytest.raises(InputError, match="'id' is cut twice"):
        prepare(twice, tmp_path)
