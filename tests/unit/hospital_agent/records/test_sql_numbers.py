"""Numbers that a contract reads, in the engine and one by one from their texts: every code and every fault the same."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import psycopg
import pytest

from hospital_agent.records import DataSettings, open_source
from hospital_agent.records.contracted import through_contract
from hospital_agent.records.sql_checks import clean
from hospital_agent.records.sql_counting import code_of
from hospital_agent.records.sql_engine import opened
from hospital_agent.records.sql_numbers import MustCopyError, NumberColumn, NumberReading, last_float, meaning
from hospital_agent.records.sql_values import text_of
from shared.contract.files import contract_of
from shared.contract.schema import schema_of_contract
from shared.errors import InputError
from shared.tree.frontier import NodeQuery
from shared.tree.numbers import UnknownValueError
from tests.support.databases import postgres_database

pytestmark = pytest.mark.filterwarnings("ignore:fetch_arrow_table:DeprecationWarning")

SALT = bytes(16)
COPIED = "counted from a copy of their codes, kept by this agent"
TYPES = {
    "small": "SMALLINT",
    "whole": "INTEGER",
    "long": "BIGINT",
    "single": "REAL",
    "double": "DOUBLE PRECISION",
    "fine": "NUMERIC(12, 4)",
    "coarse": "NUMERIC(5, 0)",
    "widest": "NUMERIC(38, 10)",
    "free": "NUMERIC",
}
NUMBERS = [
    *("-99", "-1", "0", "1", "2", "3", "35", "36", "37", "38", "99", "300", "301", "32767", "-32768"),
    *(
        "36.5",
        "36.6",
        "37.5",
        "37.50",
        "37.55",
        "97.7",
        "97.88",
        "0.1",
        "0.3",
        "0.05",
        "0.15",
        "0.25",
        "0.35",
    ),
    *("37.49999999999999", "37.500000000000007", "36.6000001", "36.59999", "20.5", "1e-7", "1e20", "-1e300"),
    *(
        "2147483647",
        "9223372036854775807",
        "-9223372036854775808",
        "33.333333333333336",
        "0.30000000000000004",
    ),
    *("NaN", "Infinity", "-Infinity"),
]
NUMBER = {"name": "x", "kind": "number", "cuts": ["36.6", "37.5", "38"], "missing_policy": "category"}
WAYS: dict[str, dict[str, Any]] = {
    "plain": {},
    "range": {"minimum": "35", "maximum": "300"},
    "codes": {"missing_codes": ["-99", "0.0", "?", "36.6", "1e20"], "minimum": "0.1"},
    "decimals": {"decimals": 1, "minimum": "-1", "maximum": "400"},
    "whole": {"decimals": 0, "cuts": ["2", "36"]},
    "refuse": {"missing_policy": "refuse", "missing_codes": ["3"]},
    "fahrenheit": {
        "unit": "Cel",
        "decimals": 1,
        "minimum": "-20",
        "maximum": "160",
        "conversions": [{"unit": "here", "factor": "0.5555555555555556", "offset": "-17.7777777777778"}],
    },
    "halves": {
        "cuts": ["0", "1", "2", "3", "19"],
        "decimals": 0,
        "conversions": [{"unit": "here", "factor": "10", "offset": "0"}],
    },
    "backwards": {
        "cuts": ["-37.5", "-36.6", "0"],
        "minimum": "-300",
        "maximum": "100",
        "conversions": [{"unit": "here", "factor": "-1"}],
    },
    "thirds": {
        "conversions": [{"unit": "here", "factor": "3"}],
        "maximum": "1000",
        "missing_codes": ["37.5"],
    },
    "names": {"missing_codes": ["nan"]},
}


def settings_of(url: str, way: str, **more: Any) -> DataSettings:
    document = {
        "name": "ward",
        "attributes": [NUMBER | WAYS[way]],
        "class": {"name": "ill", "values": [{"value": "no"}, {"value": "yes"}]},
    }
    units = {"x": "here"} if "conversions" in WAYS[way] else {}
    known = contract_of(json.loads(json.dumps(document)), "contract")
    return DataSettings(url=url, contract=known, units=units, **more)


@pytest.fixture(scope="module")
def duck(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("duck") / "numbers.duckdb"
    with duckdb.connect(str(path)) as connection:
        fill(connection.execute)
    return f"duckdb://{path}"


@pytest.fixture(scope="module")
def postgres(postgres_server: str) -> Iterator[str]:
    with postgres_database(postgres_server) as url:
        with psycopg.connect(url, autocommit=True) as connection:
            fill(connection.execute)
        yield url


def fill(execute: Callable[[str], object]) -> None:
    """One table a type, with those of the numbers that it can hold and an empty field."""
    for name, kind in TYPES.items():
        execute(f"CREATE TABLE {name} (x {kind}, ill TEXT)")
        execute(f"INSERT INTO {name} VALUES (NULL, 'no')")
        for number in NUMBERS:
            if holds(name, number):
                with suppress(duckdb.Error, psycopg.Error):
                    execute(f"INSERT INTO {name} VALUES (CAST('{number}' AS {kind}), 'yes')")


def holds(name: str, number: str) -> bool:
    return name not in ("small", "whole", "long", "coarse") or number.lstrip("-").isdigit()


@pytest.mark.parametrize("engine", ["duck", "postgres"])
@pytest.mark.parametrize(
    ("types", "codes"),
    [
        (("double",), ()),
        (("fine",), ("37.5", "37.5000", "-99")),
        pytest.param(tuple(TYPES), (), marks=pytest.mark.long),
        pytest.param(tuple(TYPES), ("37.5", "37.5000", "-99", "3"), marks=pytest.mark.long),
    ],
)
def test_every_number_gets_the_code_that_its_text_gets(
    engine: str, types: tuple[str, ...], codes: tuple[str, ...], request: pytest.FixtureRequest
) -> None:
    url = request.getfixturevalue(engine)
    tried = [
        compared(settings_of(url, way, table=name, missing_codes=codes))
        for name, way in itertools.product(types, WAYS)
    ]
    assert sum(tried) > len(tried) * 10


def compared(settings: DataSettings) -> int:
    """Row by row; how many rows."""
    assert settings.contract is not None
    (attribute,) = schema_of_contract(settings.contract).attributes
    read = through_contract(settings, "x", attribute.code_of)
    with opened(settings) as rows:
        try:
            column = NumberColumn(rows["x"], NumberReading.of(attribute, settings))
        except MustCopyError:
            return 0
        conditions = column.conditions()
        faults = {name: condition.ifelse(1, 0) for name, condition in column.faults().items()}
        picks = {"text": text_of(rows["x"]), "code": code_of(conditions, range(len(conditions)))} | faults
        found = rows.select(**picks).to_pyarrow().to_pylist()
    assert len(conditions) == len(attribute.values)
    for row in found:
        told = [name for name in faults if row[name]]
        if told == ["exponent"]:
            continue  # the whole column is copied
        try:
            expected = read(clean(row["text"], settings))
        except UnknownValueError:
            assert told, (settings, row)
        else:
            assert (row["code"], told) == (expected, []), (settings, row)
    return len(found)


@pytest.mark.parametrize("engine", ["duck", "postgres"])
def test_records_are_counted_where_they_are_and_a_copy_is_explained(
    engine: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    url, root = request.getfixturevalue(engine), [NodeQuery((), (0,), (0, 1))]
    fits = "SELECT {} AS x, ill FROM fine WHERE x BETWEEN 35 AND 300 OR x IS NULL"
    kept = {
        "there": settings_of(url, "range", query=fits.format("x")),
        "copy": settings_of(url, "range", query=fits.format("CAST(x AS TEXT)")),
        "named": settings_of(url, "names", query=fits.format("CAST(x AS REAL)")),
    }
    counts = {}
    for name, settings in kept.items():
        assert settings.contract is not None
        schema, source = schema_of_contract(settings.contract), open_source(settings, tmp_path / name)
        frozen = source.freeze(schema, SALT)
        counts[name] = frozen.count(root)
        assert source.reopen(schema, frozen.sha256).count(root) == counts[name]
        assert bool(list((tmp_path / name).glob("*.codes"))) is (name != "there")
        told = [note for note in frozen.notes if COPIED in note]
        assert (
            told
            == {
                "there": [],
                "copy": [f"{COPIED}: column 'x' holds numbers as texts"],
                "named": [f"{COPIED}: column 'x' takes NaN or infinity for a code"],
            }[name]
        )
    assert sum(counts["there"]) > 5
    assert counts["there"] == counts["copy"] == counts["named"]
    wrong = settings_of(url, "range", query="SELECT * FROM fine WHERE x < 100")
    assert wrong.contract is not None
    with pytest.raises(InputError, match="column 'x': a number outside the study's range"):
        open_source(wrong, tmp_path).freeze(schema_of_contract(wrong.contract), SALT)


def test_the_greatest_float_up_to_a_bound() -> None:
    one = Fraction(1)
    for value in (
        Fraction(1, 3),
        Fraction("37.5"),
        Fraction("0.1"),
        Fraction(10) ** 400,
        Fraction(-7),
        Fraction(0),
    ):
        for inclusive, is_single in itertools.product((True, False), repeat=2):
            found = last_float(value, inclusive=inclusive, is_single=is_single)
            assert found is not None
            assert meaning(found) < value or (inclusive and meaning(found) == value)
            if found == np.finfo(found.dtype).max:
                continue
            after = np.nextafter(found, type(found)(np.inf))
            assert meaning(after) > value or (not inclusive and meaning(after) == value)
    assert last_float(-((one * 10) ** 401), inclusive=True, is_single=False) is None
    assert last_float(Fraction(Decimal("0.1")), inclusive=True, is_single=True) == np.float32("0.1")
