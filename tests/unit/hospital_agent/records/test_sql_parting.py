"""Records that a database parts itself: those that a file's are, by themselves and by patient, and no copy of them."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import psycopg
import pytest

from hospital_agent.records import DataSettings, Snapshot, sql_parting, sql_walking
from hospital_agent.records.derived_source import DerivedSource
from hospital_agent.records.matching import CodedRecords
from hospital_agent.records.selecting import Selector
from hospital_agent.records.snapshot import CodedSnapshot
from hospital_agent.records.sql_hashing import engine_hash, url_with_key
from hospital_agent.records.sql_source import SqlSnapshot
from shared.crypto.parting import pads
from shared.errors import InputError
from shared.protocol.tallies import evaluation_schema
from shared.tree.binary_tests import AtMost
from shared.tree.frontier import NodeQuery
from shared.tree.model import Leaf, Split, Tree
from shared.tree.numbers import FixedPoint
from shared.tree.schema import Attribute, Schema
from shared.wire.manifest import ClassSpec
from shared.wire.tally import SelectionSpec
from tests.support.databases import postgres_database
from tests.support.wards import duck_ward, file_ward, insert, postgres_ward

pytestmark = pytest.mark.filterwarnings("ignore:fetch_arrow_table:DeprecationWarning")

SECRET = bytes(range(32))
SCHEMA = Schema.create(
    [
        Attribute("sex", ("f", "m", "missing")),
        *(Attribute(f"mark {number}", ("0", "1", "2")) for number in range(7)),
        Attribute.numeric("temp", ["36.6", "38"], "missing"),
    ],
    "ill",
    ["no", "yes"],
)
"""Ten codes: two words."""
DRAWN = random.Random(7)
ROWS: list[tuple[Any, ...]] = [
    (
        f"p-{number // 3}ü{number // 3}",
        DRAWN.choice(["f", " m", None]),
        *(DRAWN.choice([0, 0, 0, 0, 0, 1, 2]) for _ in range(7)),
        DRAWN.choice([None, 36.6, 36.7, 38.5]),
        DRAWN.choice(["no", "yes"]),
    )
    for number in range(400)
]
NAMES = ["patient", "sex", *(f"mark {number}" for number in range(7)), "temp", "ill"]
ROOT = [NodeQuery((), tuple(range(len(SCHEMA.attributes))), (0, 1))]
DEEPER = [NodeQuery(((0, branch),), tuple(range(1, len(SCHEMA.attributes))), (0, 1)) for branch in range(3)]


def fill(execute: Callable[[str], object]) -> None:
    kinds = ["TEXT", "TEXT", *["INTEGER"] * 7, "DOUBLE PRECISION", "TEXT"]
    columns = (f'"{name}" {kind}' for name, kind in zip(NAMES, kinds, strict=True))
    execute(f"CREATE TABLE ward ({', '.join(columns)})")
    insert(execute, ROWS)


@pytest.fixture(scope="module")
def duck(tmp_path_factory: pytest.TempPathFactory) -> DataSettings:
    return duck_ward(tmp_path_factory.mktemp("duck"), fill)


@pytest.fixture(scope="module")
def postgres(postgres_server: str) -> Iterator[DataSettings]:
    with postgres_ward(postgres_server, fill) as ward:
        yield ward


@pytest.fixture(params=["duck", "postgres"])
def ward(request: pytest.FixtureRequest) -> DataSettings:
    found: DataSettings = request.getfixturevalue(request.param)
    return found


@pytest.fixture
def in_file(tmp_path: Path) -> DataSettings:
    return file_ward(tmp_path, NAMES, ROWS)


def selector(
    first: int = 0, use: str = "test", hash_: str | None = "hmac-sha256", least: int = 1
) -> Selector:
    wanted = {"seed": "5e" * 16, "parts": 5, "first": first, "last": first + 1, "use": use, "hash": hash_}
    return Selector(SelectionSpec.model_validate(wanted), SECRET, least)


def counts(snapshot: Snapshot) -> list[int]:
    return [*snapshot.count(ROOT), *snapshot.count(DEEPER)]


def by(patient: str | None, settings: DataSettings) -> DataSettings:
    return replace(settings, patient_column=patient)


def bag(snapshot: Snapshot) -> list[tuple[int, ...]]:
    rows = snapshot.rows()
    return sorted(zip(*(line.tolist() for line in (*rows.attributes, rows.classes)), strict=True))


@pytest.mark.parametrize("patient", [None, "patient"])
def test_a_database_counts_the_part_that_a_file_gives(
    ward: DataSettings, in_file: DataSettings, tmp_path: Path, patient: str | None
) -> None:
    there, here = (DerivedSource(by(patient, one), tmp_path / "kept", selector(4)) for one in (ward, in_file))
    frozen, expected = there.freeze(SCHEMA, bytes(16)), here.freeze(SCHEMA, bytes(16))
    assert isinstance(frozen, SqlSnapshot)
    assert not [
        path
        for path in (tmp_path / "kept").iterdir()
        if path.stem == frozen.sha256 and path.suffix != ".json"
    ]
    assert frozen.row_count == expected.row_count
    again = there.reopen(SCHEMA, frozen.sha256)
    assert again.count(DEEPER) == expected.count(DEEPER)


@pytest.mark.long
@pytest.mark.parametrize("patient", [None, "patient"])
def test_every_part_is_that_of_a_file(
    ward: DataSettings, in_file: DataSettings, tmp_path: Path, patient: str | None
) -> None:
    for first in range(5):
        for use in ("test", "train"):
            there, here = (
                DerivedSource(by(patient, one), tmp_path / "kept", selector(first, use)).freeze(
                    SCHEMA, bytes(16)
                )
                for one in (ward, in_file)
            )
            assert isinstance(there, SqlSnapshot)
            assert bag(there) == bag(here)
            assert there.count(ROOT) == here.count(ROOT)


TREE = Tree(Split(0, (Split(8, (Leaf(0), Leaf(1), Leaf(0), Leaf(1))), Leaf(1), Leaf(0))))


@pytest.mark.parametrize("patient", [None, "patient"])
def test_an_evaluation_of_held_out_records_fetches_none(
    ward: DataSettings, in_file: DataSettings, tmp_path: Path, patient: str | None
) -> None:
    spec = evaluation_schema(ClassSpec(name="ill", labels=["no", "yes"]), TREE.node_count)
    asked = Schema.from_json(spec.model_dump(by_alias=True, exclude_none=True))
    root = [NodeQuery((), (0,), (0, 1))]
    there, here = (
        DerivedSource(by(patient, one), tmp_path / "kept", selector(1), asked=lambda: (TREE, SCHEMA)).freeze(
            asked, bytes(16)
        )
        for one in (ward, in_file)
    )
    assert there.count(root) == here.count(root)
    assert not [note for note in there.notes if "fetched" in note]


def measured(name: str, low: str, high: str, decimals: int, missing: str | None = None) -> Attribute:
    return Attribute(name, (), fixed_point=FixedPoint.create(name, low, high, decimals, missing))


MEASURED = Schema.create(
    [
        measured("whole", "-40", "4000000000", 0, "7"),
        Attribute("sex", ("f", "m")),
        measured("double", "-12.345", "100000.001", 3, "0.1"),
        measured("fixed", "-5.5", "20000", 2),
        measured("free", "1000000000.0001", "1000001000", 4),
    ],
    "ill",
    ["no", "yes"],
)
STEP = Decimal("0.0001")


def measured_rows(kind: str) -> list[str]:
    drawn = random.Random(kind)
    return [
        f"({drawn.choice(['NULL', '-40', '4000000000', '12', '13'])}, '{drawn.choice('fm')}', "
        f"{drawn.choice(['NULL', '-12.345', '0.1', '0.3', '99999.999', '1e-3', '100000.001'])}, "
        f"{drawn.choice(['-5.5', '0.07', '0.3', '20000', '1.10'])}, "
        f"{1_000_000_001 + STEP * drawn.randint(0, 30)}, '{drawn.choice(['no', 'yes'])}')"
        for _ in range(300)
    ]


def test_numbers_in_fixed_point_are_parted_and_walked_there(
    postgres: DataSettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = str(postgres.url)
    with duckdb.connect(str(tmp_path / "m.duckdb")) as duck, psycopg.connect(url, autocommit=True) as server:
        for execute, free in ((duck.execute, "DECIMAL(18, 6)"), (server.execute, "NUMERIC")):
            execute(
                "CREATE TABLE measured (whole BIGINT, sex TEXT, double DOUBLE PRECISION, fixed DECIMAL(9, 3), "
                f"free {free}, ill TEXT)"
            )
            execute(f"INSERT INTO measured VALUES {', '.join(measured_rows('m'))}")
    root = Split(
        0, (Leaf(0), Split(2, (Leaf(0), Leaf(1)), test=AtMost(Decimal("0.3")))), test=AtMost(Decimal(12))
    )
    tree = Tree(Split(4, (root, Leaf(1)), test=AtMost(Decimal("1000000001.0011"))))
    spec = evaluation_schema(ClassSpec(name="ill", labels=["no", "yes"]), tree.node_count)
    asked = Schema.from_json(spec.model_dump(by_alias=True, exclude_none=True))
    for one in (f"duckdb://{tmp_path / 'm.duckdb'}", url):
        source = DerivedSource(
            DataSettings(url=one, table="measured"),
            tmp_path / "kept",
            selector(1),
            asked=lambda: (tree, MEASURED),
        )
        there = source.freeze(asked, bytes(16))
        with monkeypatch.context() as patch:
            patch.setattr(sql_walking, "MAX_NODES", 1)
            copied = source.freeze(asked, bytes(16))
        assert (there.notes, len(copied.notes)) == ((), 2)
        root_only = [NodeQuery((), (0,), (0, 1))]
        assert there.count(root_only) == copied.count(root_only)
        assert 30 < there.row_count < 90


def test_the_hash_of_earlier_releases_parts_a_copy_by_patient_too(
    ward: DataSettings, in_file: DataSettings, tmp_path: Path
) -> None:
    there, here = (
        DerivedSource(by("patient", one), tmp_path / "kept", selector(hash_=None)).freeze(SCHEMA, bytes(16))
        for one in (ward, in_file)
    )
    assert isinstance(there, CodedSnapshot)
    assert bag(there) == bag(here)
    assert there.notes[-1].endswith("agent: the job parts records by BLAKE2b, which databases lack")


def test_the_key_is_in_no_statement_and_in_no_log(postgres_server: str, tmp_path: Path) -> None:
    """With every statement logged, its plan, and what the views of a running server show."""
    with postgres_database(postgres_server) as url, psycopg.connect(url, autocommit=True) as watching:
        fill(watching.execute)
        watching.execute("CREATE TABLE seen (query TEXT)")
        own = f"{url}{'&' if '?' in url else '?'}options=-c%20application_name=own"
        source = DerivedSource(DataSettings(url=own, table="ward"), tmp_path / "kept", selector())
        log = Path(watching.execute("SHOW data_directory").fetchone()[0]) / "log"  # type: ignore[index]
        begin = log.stat().st_size
        for setting in ("log_statement = 'all'", "log_min_duration_statement = 0", "debug_print_parse = on"):
            watching.execute(f"ALTER DATABASE {watching.info.dbname} SET {setting}")
        source.freeze(SCHEMA, bytes(16)).count(ROOT)
        told = log.read_bytes()[begin:]
    assert told.lower().count(b"current_setting(") > 3
    assert b"p-1" not in told
    for pad in pads(selector().engine_key()):
        assert pad.hex().encode() not in told
        assert pad.hex().encode().hex().encode() not in told


@pytest.mark.parametrize(
    ("patients", "says"),
    [
        (["''"], "a record without its patient"),
        (["NULL"], "a record without its patient"),
        (["'?'"], "a record without its patient"),
        (["' 7'"], "names patients by texts that begin or end"),
        (["'ärzte'"], "names patients by texts that begin or end"),
        (["'7'", "'8'"], None),
    ],
)
def test_patients_whose_texts_engines_may_tell_otherwise_are_copied(
    tmp_path: Path, patients: list[str], says: str | None
) -> None:
    database, texts = tmp_path / "ward.duckdb", [*patients, *(f"'p{number}'" for number in range(40))]
    with duckdb.connect(str(database)) as connection:
        connection.execute("CREATE TABLE ward (patient TEXT, sex TEXT, ill TEXT)")
        rows = ", ".join(f"({text}, 'f', 'no')" for text in texts)
        connection.execute(f"INSERT INTO ward VALUES {rows}")
    schema = Schema.create([SCHEMA.attributes[0]], "ill", ["no", "yes"])
    data = DataSettings(url=f"duckdb://{database}", table="ward", patient_column="1", missing_codes=("?",))
    source = DerivedSource(data, tmp_path / "kept", selector())
    if says is not None and says.startswith("a record"):
        with pytest.raises(InputError, match=f"column 'patient': {says}"):
            source.freeze(schema, bytes(16))
        return
    frozen = source.freeze(schema, bytes(16))
    assert isinstance(frozen, SqlSnapshot if says is None else CodedSnapshot)
    assert says is None or says in frozen.notes[-1]
    assert source.reopen(schema, frozen.sha256).row_count == frozen.row_count
    texts = [text.strip("' ") for text in texts]
    none = CodedRecords(np.empty((0, len(texts)), np.uint8), np.empty((0, len(texts)), np.uint32), ())
    assert frozen.row_count == np.count_nonzero(selector().places(none, tuple(texts)) == 0)


def test_a_part_that_changed_and_a_side_with_too_few_are_refused(tmp_path: Path) -> None:
    database = tmp_path / "ward.duckdb"
    with duckdb.connect(str(database)) as connection:
        fill(connection.execute)
    data = DataSettings(url=f"duckdb://{database}", table="ward", patient_column="patient")
    with pytest.raises(InputError, match="too few on one side"):
        DerivedSource(data, tmp_path / "kept", selector(least=200)).freeze(SCHEMA, bytes(16))
    frozen = DerivedSource(data, tmp_path / "kept", selector()).freeze(SCHEMA, bytes(16))
    for other in (selector(1), replace(selector(), secret=bytes(32)), None):
        with pytest.raises(InputError, match="another part of this hospital's, or parted by another key"):
            DerivedSource(data, tmp_path / "kept", other).reopen(SCHEMA, frozen.sha256)
    with duckdb.connect(str(database)) as connection:
        connection.execute("UPDATE ward SET patient = 'p-999'")
    with pytest.raises(InputError, match="the records changed since they were frozen"):
        frozen.count(ROOT)


def test_an_engine_that_hashes_otherwise_or_not_at_all_is_not_believed(
    duck: DataSettings, in_file: DataSettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = DerivedSource(in_file, tmp_path / "kept", selector()).freeze(SCHEMA, bytes(16))
    hashed = engine_hash
    for broken, says in (
        (lambda rows, key: hashed(rows, bytes(32)), "does not hash as this agent does"),
        (lambda rows, key: replace(hashed(rows, key), tag=lambda text: text.cast("binary")), "hash as this"),
    ):
        monkeypatch.setattr(sql_parting, "engine_hash", broken)
        frozen = DerivedSource(duck, tmp_path / "kept", selector()).freeze(SCHEMA, bytes(16))
        assert says in frozen.notes[-1]
        assert bag(frozen) == bag(expected)


def test_connections_that_take_no_settings_or_drop_them_are_no_failure(
    postgres: DataSettings, in_file: DataSettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As behind a pooler."""
    expected = DerivedSource(in_file, tmp_path / "kept", selector()).freeze(SCHEMA, bytes(16))
    for broken, says in (
        (lambda url, key: url_with_key(url, key).replace("privet.", "privet"), "takes no settings"),
        (lambda url, key: url, "does not work out the SHA-256"),
    ):
        monkeypatch.setattr(sql_parting, "url_with_key", broken)
        frozen = DerivedSource(postgres, tmp_path / "kept", selector()).freeze(SCHEMA, bytes(16))
        assert says in frozen.notes[-1]
        assert bag(frozen) == bag(expected)
