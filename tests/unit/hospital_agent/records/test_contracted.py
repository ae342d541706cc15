"""Records read through a data contract: files and databases alike, checks that tell no value, drafts and the floor."""

from __future__ import annotations

import importlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import duckdb
import psycopg
import pytest

from hospital_agent.records import DataSettings, open_source
from hospital_agent.records.contract_check import Check, check_table
from hospital_agent.records.contract_draft import Draft, draft_contract
from hospital_agent.records.draft_choices import Choices
from hospital_agent.records.files import read_table
from hospital_agent.records.profile.profile import profile_of
from hospital_agent.records.sql_table import read_sql_table
from hospital_agent.records.sql_ways import THERE, way_of
from shared.contract.files import contract_of
from shared.contract.schema import schema_of_contract
from shared.errors import InputError
from shared.tree.frontier import NodeQuery
from shared.wire.contract import DataContract

pytestmark = pytest.mark.filterwarnings("ignore:fetch_arrow_table:DeprecationWarning")

SALT = bytes(16)
ROOT = [NodeQuery((), (0, 1, 2), (0, 1))]
CONTRACT = {
    "name": "ward",
    "attributes": [
        {
            "name": "sex",
            "columns": ["Geschlecht"],
            "kind": "category",
            "spelling": "folded",
            "values": [{"value": "f", "texts": ["weiblich"]}, {"value": "m", "texts": ["männlich"]}],
        },
        {
            "name": "pulse",
            "kind": "number",
            "cuts": ["60", "100"],
            "minimum": "20",
            "maximum": "300",
            "missing_codes": ["0", "?"],
            "missing_policy": "category",
        },
        {
            "name": "grade",
            "kind": "category",
            "spelling": "number",
            "values": [{"value": "1"}, {"value": "2", "texts": ["3"]}],
            "missing_codes": ["?"],
            "missing_policy": "category",
        },
    ],
    "class": {
        "name": "ill",
        "values": [{"value": "no", "texts": ["0"]}, {"value": "yes", "texts": ["1", "2"]}],
    },
}
ROWS = [
    ("Weiblich", "61", "1.0", "0"),
    ("M", "0", "3", "2"),
    ("männlich", "100", "?", "1"),
    ("F", "101.5", "2.0", "0"),
    ("f", "?", "1", "0"),
]
COUNTS = [3, 0, 0, 2, 0, 0, 1, 1, 1, 0, 1, 1, 2, 0, 1, 1, 0, 1]
"""By hand: sex f, m; pulse <= 60, > 60 to 100, > 100, missing; grade 1, 2, missing; each by class no, yes."""


def contract(**changes: Any) -> DataContract:
    return contract_of(json.loads(json.dumps({**CONTRACT, **changes})), "contract")


def written(
    tmp_path: Path, rows: Sequence[tuple[str, ...]] = ROWS, header: str = "Geschlecht,pulse,grade,ill"
) -> Path:
    path = tmp_path / "ward.csv"
    path.write_text("\n".join([*([header] if header else []), *map(",".join, rows)]) + "\n")
    return path


def counted(settings: DataSettings, tmp_path: Path) -> list[int]:
    assert settings.contract is not None
    source = open_source(settings, tmp_path / "kept")
    schema = schema_of_contract(settings.contract)
    snapshot = source.freeze(schema, SALT)
    again = source.reopen(schema, snapshot.sha256).count(ROOT)
    assert snapshot.count(ROOT) == again
    return again


def test_a_file_is_counted_through_the_contract(tmp_path: Path) -> None:
    assert counted(DataSettings(path=written(tmp_path), contract=contract()), tmp_path) == COUNTS


def test_a_file_without_header_is_matched_by_position_or_by_the_contracts_names(tmp_path: Path) -> None:
    path = written(tmp_path, header="")
    by_position = DataSettings(path=path, class_column=4, has_header=False, contract=contract())
    assert counted(by_position, tmp_path) == COUNTS
    named = json.loads(json.dumps(CONTRACT))
    for place, owner in enumerate([*named["attributes"], named["class"]], start=1):
        owner["columns"] = [f"column {place}"]
    settings = DataSettings(path=path, has_header=False, contract=contract_of(named, "contract"))
    assert counted(settings, tmp_path) == COUNTS


def test_the_hospitals_own_renames_come_first(tmp_path: Path) -> None:
    path = written(tmp_path, header="S,HR,grade,ill")
    settings = DataSettings(path=path, rename={"S": "Geschlecht", "HR": "pulse"}, contract=contract())
    assert counted(settings, tmp_path) == COUNTS


@pytest.mark.long
@pytest.mark.parametrize("engine", ["duckdb", "postgres"])
@pytest.mark.parametrize("as_texts", [False, True])
def test_a_database_is_counted_as_a_file_is(
    engine: str, as_texts: bool, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """Numbers are counted where they are; texts that stand for numbers are copied as codes."""
    document = json.loads(json.dumps(CONTRACT))
    rows: list[tuple[Any, ...]] = list(ROWS)
    kind = "TEXT"
    if not as_texts:
        rows = [(sex, None if pulse == "?" else float(pulse), *rest) for sex, pulse, *rest in ROWS]
        kind = "DOUBLE PRECISION"
    columns = f'"Geschlecht" TEXT, pulse {kind}, grade TEXT, ill TEXT'
    if engine == "duckdb":
        url = f"duckdb://{tmp_path / 'ward.duckdb'}"
        with duckdb.connect(str(tmp_path / "ward.duckdb")) as connection:
            connection.execute(f"CREATE TABLE ward ({columns})")
            connection.executemany("INSERT INTO ward VALUES (?, ?, ?, ?)", rows)
    else:
        importlib.import_module("psycopg")
        url = request.getfixturevalue("postgres_url")
        with psycopg.connect(url) as database, database.cursor() as cursor:
            cursor.execute(f"CREATE TABLE ward ({columns})")
            cursor.executemany("INSERT INTO ward VALUES (%s, %s, %s, %s)", rows)
    settings = DataSettings(url=url, table="ward", contract=contract_of(document, "contract"))
    assert counted(settings, tmp_path) == COUNTS
    assert bool(list((tmp_path / "kept").glob("*.codes"))) is as_texts
    assert settings.contract is not None
    assert check_table(read_sql_table(settings), settings.contract, settings).faults == ()
    copied = "counted from a copy of their codes, kept by this agent: column 'pulse' holds numbers as texts"
    assert way_of(settings, schema_of_contract(settings.contract)) == (copied if as_texts else THERE)


def checked(tmp_path: Path, rows: Sequence[tuple[str, ...]], header: str = "sex,pulse,grade,ill") -> Check:
    settings = DataSettings(path=written(tmp_path, rows, header), contract=contract())
    return check_table(read_table(settings), contract(), settings)


def test_records_that_fit_pass_and_absent_values_are_told(tmp_path: Path) -> None:
    assert checked(tmp_path, ROWS) == Check((), ())
    found = checked(tmp_path, ROWS[:1])
    assert found.faults == ()
    assert "sex: values that do not occur here and count as zero: m" in found.notes


def test_every_fault_is_told_by_column_rule_and_line_and_no_value(tmp_path: Path) -> None:
    rows = [*ROWS, ("divers", "SECRET", "9", "0"), ("", "301", "8", "maybe"), ("f", "70", "9", "no")]
    found = checked(tmp_path, rows)
    assert [(fault.column, fault.rule.value, fault.texts, fault.first) for fault in found.faults] == [
        ("sex", "empty", 1, "line 8"),
        ("sex", "unknown-value", 1, "line 7"),
        ("pulse", "range", 1, "line 8"),
        ("pulse", "no-number", 1, "line 7"),
        ("grade", "unknown-value", 2, "line 7"),
        ("ill", "unknown-value", 1, "line 8"),
    ]
    told = json.dumps([fault.to_json() for fault in found.faults]) + "".join(one.text for one in found.faults)
    assert not any(value in told for value in ("divers", "SECRET", "301", "maybe"))


def test_the_daemon_says_the_same_as_the_check(tmp_path: Path) -> None:
    path = written(tmp_path, [*ROWS, ("divers", "70", "1", "0")])
    settings = DataSettings(path=path, contract=contract())
    with pytest.raises(InputError, match=r"line 7.*does not list") as caught:
        open_source(settings, tmp_path).freeze(schema_of_contract(contract()), SALT)
    assert "divers" not in str(caught.value)


def test_columns_that_are_not_there_are_all_named(tmp_path: Path) -> None:
    found = checked(tmp_path, [(row[2], row[3]) for row in ROWS], "grade,ill")
    assert [(fault.column, fault.rule.value) for fault in found.faults] == [
        ("sex", "missing-column"),
        ("pulse", "missing-column"),
    ]


def drafted(tmp_path: Path, rows: Sequence[tuple[str, ...]], floor: int = 5, **choices: Any) -> Draft:
    path = written(tmp_path, rows, "sex,pulse,grade,ill")
    return draft_contract(
        profile_of(read_table(DataSettings(path=path)), floor, "ill"), Choices("ward", **choices)
    )


MANY = [("f" if n % 2 else "m", str(60 + n), str(1 + n % 3), "yes" if n % 3 else "no") for n in range(40)]


def test_a_draft_tells_no_rare_value_and_no_patients_number(tmp_path: Path) -> None:
    made = drafted(tmp_path, [*MANY, ("rarest", "187", "7", "no")])
    text = made.contract.canonical().decode()
    assert "rarest" not in text
    assert '"7"' not in text
    assert ("187" in text, '"maximum":"200"' in text, '"minimum":"60"' in text) == (False, True, True)
    assert sorted(remark.split(":")[0] for remark in made.remarks) == ["grade", "pulse", "sex"]
    alone = drafted(tmp_path, [*MANY, ("rarest", "187", "7", "no")], floor=1)
    assert "rarest" in alone.contract.canonical().decode()


def test_a_range_of_two_digits_is_not_the_oldest_patients_age(tmp_path: Path) -> None:
    rows = [*MANY[:30], ("f", "97", "1", "no")]  # 60 to 89, and one of 97
    told = {floor: drafted(tmp_path, rows, floor=floor).contract.canonical().decode() for floor in (1, 5)}
    assert ('"maximum":"97"' in told[1], '"maximum":"100"' in told[5], "97" in told[5]) == (True, True, False)


def test_what_a_steward_says_is_in_the_draft(tmp_path: Path) -> None:
    made = drafted(
        tmp_path,
        [*MANY, ("x", "?", "7", "no")],
        names={"sex": "gender"},
        missing=("?",),
        recode={"grade": {"3": "2"}},
        values={"sex": ["f", "m", "x"]},
        cuts={"pulse": ["70", "80"]},
        other={"grade": "other"},
        units={"pulse": "/min"},
        policies={"": "category", "sex": "refuse"},
    )
    sex, pulse, grade = made.contract.attributes
    assert (sex.name, sex.columns, [entry.value for entry in sex.values]) == (
        "gender",
        ["sex"],
        ["f", "m", "x"],
    )
    assert (pulse.cuts, pulse.unit, pulse.missing_policy) == (["70", "80"], "/min", "category")
    assert [(entry.value, entry.texts, entry.other) for entry in grade.values] == [
        ("1", [], False),
        ("2", ["3"], False),
        ("other", [], True),
    ]
    assert made.remarks == ()


def test_few_numbers_are_measured_where_the_steward_says_so(tmp_path: Path) -> None:
    """And the range holds the number that a gap counts as."""
    rows = [*MANY, ("f", "", "1", "no")]
    made = drafted(tmp_path, rows, measured=True, numbers=("grade",), missing_as={"pulse": "-1"})
    sex, pulse, grade = made.contract.attributes
    assert (sex.kind, grade.kind, grade.minimum, grade.maximum) == ("category", "number", "1", "3")
    assert (pulse.minimum, pulse.missing_as) == ("-1", "-1")
    assert schema_of_contract(made.contract).attributes[1].code_of("") == 0
    gaps = [("", *row[1:]) for row in rows]
    empty = drafted(tmp_path, gaps, numbers=("sex",), missing_as={"sex": "7", "pulse": "-1"})
    assert (empty.contract.attributes[0].minimum, empty.contract.attributes[0].maximum) == ("7", "7")
    for choice in ({"numbers": ("sex",)}, {"missing_as": {"pulse": "none"}}):
        with pytest.raises(InputError, match="expected a"):
            drafted(tmp_path, rows, measured=True, **choice)


def test_a_range_that_the_steward_says_is_drafted_and_checked(tmp_path: Path) -> None:
    """With cuts, where no range is drafted of the records, and without."""
    rows = [*MANY, ("f", "7", "1", "no")]
    for more in ({"cuts": {"pulse": ["70"]}}, {"measured": True}):
        made = drafted(tmp_path, rows, ranges={"pulse": ["20", "300"]}, **more)
        pulse = made.contract.attributes[1]
        assert (pulse.kind, pulse.minimum, pulse.maximum) == ("number", "20", "300")
        assert [remark for remark in made.remarks if "outside 20 to 300" in remark]
        here = DataSettings(path=written(tmp_path, rows, "sex,pulse,grade,ill"))
        (fault,) = check_table(read_table(here), made.contract, here).faults
        assert (fault.column, fault.rule.value) == ("pulse", "range")
    assert drafted(tmp_path, rows, cuts={"pulse": ["70"]}).contract.attributes[1].minimum is None
    for wrong in (["300", "20"], ["20"], ["low", "high"]):
        with pytest.raises(InputError, match=r"--range pulse.*expected"):
            drafted(tmp_path, rows, ranges={"pulse": wrong})


def test_few_gaps_do_not_show_in_a_draft(tmp_path: Path) -> None:
    """A policy for missing that only gaps would bring is not drafted of fewer than the floor."""
    few = drafted(tmp_path, [*MANY, ("", "70", "1", "no")]).contract.attributes[0]
    many = drafted(tmp_path, [*MANY, *[("", "70", "1", "no")] * 5]).contract.attributes[0]
    assert (few.missing_policy, many.missing_policy) == ("refuse", "category")


def test_a_hospital_with_another_unit_is_counted_like_the_others(tmp_path: Path) -> None:
    """Pulse a second here, a minute in the study: the same counts, from a file and by the check."""
    document = json.loads(json.dumps(CONTRACT))
    document["attributes"][1] |= {"unit": "/min", "conversions": [{"unit": "/s", "factor": "60"}]}
    known = contract_of(document, "contract")
    beats = {"61": "1.02", "0": "0", "100": "1.66", "101.5": "1.7", "?": "?"}
    rows = [(sex, beats[pulse], *rest) for sex, pulse, *rest in ROWS]
    path = written(tmp_path, rows)
    here = DataSettings(path=path, contract=known, units={"pulse": "/s"})
    assert counted(here, tmp_path) == COUNTS
    assert check_table(read_table(here), known, here).faults == ()
    wrong = DataSettings(path=path, contract=known)
    assert {fault.rule.value for fault in check_table(read_table(wrong), known, wrong).faults} == {"range"}
