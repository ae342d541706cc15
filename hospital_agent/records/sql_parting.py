"""The records of a selection, chosen in the engine: the parts are those that `selecting` finds from a copy.

By patient a row's tag is that of the patient's text, and the rows stay what they are. By themselves rows are first made
codes; the codes, seven to a number, and the row's turn among rows alike are the text. Both need SHA-256 in the engine
(`sql_hashing`), which is most of the work.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import reduce
from operator import add
from typing import Any, Final

from hospital_agent.records.selecting import Selector
from hospital_agent.records.source import DataSettings
from hospital_agent.records.sql_counting import code_of
from hospital_agent.records.sql_engine import ibis, is_engine_error, opened, place
from hospital_agent.records.sql_fixed_point import number_code
from hospital_agent.records.sql_hashing import EngineHash, engine_hash, url_with_key
from hospital_agent.records.sql_numbers import MustCopyError
from hospital_agent.records.sql_values import (
    Spellings,
    SqlColumns,
    SqlRecords,
    match,
    text_of,
    with_conditions,
)
from shared.crypto import parting
from shared.errors import InputError, TemporaryError
from shared.tree.schema import Schema

_PROBE: Final = "privet"
_PLAIN: Final = [chr(code) for code in range(0x21, 0x7F)]
"""Characters at the ends of a patient's text that every engine and every encoding takes for no blank."""


@dataclass(frozen=True, slots=True)
class _Parted:
    """Rows with the question whether each is for testing, before one side is taken."""

    rows: Any = field(repr=False)
    for_testing: Any = field(repr=False)


def refuse_old_hash(selector: Selector) -> None:
    """Raises: MustCopyError: the job parts by a hash that no engine has."""
    if selector.spec.hash is None:
        raise MustCopyError("the job parts records by BLAKE2b, which databases lack")


@contextmanager
def opened_for(settings: DataSettings, selector: Selector | None) -> Iterator[Any]:
    """The rows, as `opened`, on a connection that has the selection's key. Raises: as `opened`."""
    if selector is not None and settings.url is not None:
        settings = replace(settings, url=url_with_key(settings.url, selector.engine_key()))
    with opened(settings) as rows:
        yield rows


def check_engine(settings: DataSettings, selector: Selector) -> None:
    """See that the engine hashes as this agent does, before records depend on it.

    Raises: MustCopyError: it does not, or its connections take no settings. TemporaryError: no database.
    """
    refuse_old_hash(selector)
    key = selector.engine_key()
    try:
        with opened_for(settings, selector) as rows:
            found = _probed(rows, key)
    except TemporaryError:
        with opened(settings):
            raise MustCopyError("the database takes no settings with a connection") from None
    if parting.place_of(key, _PROBE.encode(), 1 << 64) != int.from_bytes(found[:8], "big"):
        raise MustCopyError("the database does not hash as this agent does")


def _probed(rows: Any, key: bytes) -> bytes:
    hashed = engine_hash(rows.limit(1).select(privet_probe=ibis().literal(_PROBE)), key)
    try:
        tags = hashed.rows.select(tag=hashed.tag(hashed.rows.privet_probe)).to_pyarrow()["tag"].to_pylist()
    except Exception as error:
        if not is_engine_error(error):
            raise
        raise MustCopyError(
            f"the database does not work out the SHA-256 by which the job parts records ({type(error).__name__})"
        ) from None
    return bytes(tags[0]) if tags else b""


def check_parting(
    columns: SqlColumns,
    schema: Schema,
    settings: DataSettings,
    spellings: Sequence[Spellings],
    selector: Selector,
) -> int:
    """How many records the selection takes; every record can be parted then, and each side has enough.

    Raises: InputError: a record without its patient, or too few on one side. MustCopyError: patients are written in a
        way that the engine cannot be told.
    """
    check_patients(columns, settings)
    parted = _parted(columns, schema, settings, spellings, selector)
    testing = parted.for_testing.ifelse(1, 0).sum()
    (found,) = parted.rows.aggregate(testing=testing, rows=parted.rows.count()).to_pyarrow().to_pylist()
    count = int(found["testing"] or 0)
    sides = count, int(found["rows"]) - count
    selector.check_sides(*sides)
    return sides[0 if selector.is_testing else 1]


def taken(
    columns: SqlColumns,
    schema: Schema,
    settings: DataSettings,
    spellings: Sequence[Spellings],
    selector: Selector | None,
) -> SqlRecords:
    """The records of a job: the selection's side, on a connection of `opened_for`, or all without one.

    Raises: MustCopyError: they cannot be told to the engine.
    """
    if selector is None:
        return with_conditions(columns, schema, settings, spellings)
    parted = _parted(columns, schema, settings, spellings, selector)
    chosen = parted.rows.filter(parted.for_testing if selector.is_testing else ~parted.for_testing)
    if settings.patient_column is None:
        sizes = [
            len(conditions) for conditions in with_conditions(columns, schema, settings, spellings).values
        ]
        return _of_codes(chosen, sizes, schema.class_count)
    kept = chosen.select(*columns.rows.columns)
    return with_conditions(match(kept, schema, settings), schema, settings, spellings)


def watched(
    columns: SqlColumns,
    schema: Schema,
    settings: DataSettings,
    spellings: Sequence[Spellings],
    selector: Selector | None,
) -> SqlRecords:
    """The records whose fingerprint says whether those of `taken` are still the same.

    All of them where they are parted by themselves: codes alone decide then which are taken, and no hash is needed.
    """
    by_patient = settings.patient_column is not None
    return taken(columns, schema, settings, spellings, selector if by_patient else None)


def check_patients(columns: SqlColumns, settings: DataSettings) -> None:
    """Raises: InputError: a record without its patient. MustCopyError: texts whose blanks engines tell otherwise."""
    column = patient_column(columns.rows, settings)
    if column is None:
        return
    text = text_of(column)
    is_absent = text.isnull() | text.strip().isin(["", *settings.missing_codes])
    is_plain = text.left(1).isin(_PLAIN) & text.right(1).isin(_PLAIN)
    sums = {
        "absent": is_absent.ifelse(1, 0).sum(),
        "unclear": (~is_absent & ~is_plain).ifelse(1, 0).sum(),
    }
    (found,) = columns.rows.aggregate(**sums).to_pyarrow().to_pylist()
    if found["absent"]:
        raise without_patient(f"{place(settings)}, column {column.get_name()!r}")
    if found["unclear"]:
        raise MustCopyError(
            f"column {column.get_name()!r} names patients by texts that begin or end with a blank or another sign than "
            "those of ASCII"
        )


def without_patient(where: str) -> InputError:
    """The error of a record that cannot be parted by patient."""
    return InputError(
        "a record without its patient cannot be kept together with the patient's others",
        where=where,
        remedy="Fill the field, or leave the setting patient out.",
    )


def patient_column(rows: Any, settings: DataSettings) -> Any | None:
    """The column that the settings name for the patient. Raises: InputError: there is none."""
    wanted = settings.patient_column
    if wanted is None:
        return None
    if wanted in rows.columns:
        return rows[wanted]
    position = int(wanted) if isinstance(wanted, int) or wanted.isdecimal() else 0
    if 1 <= position <= len(rows.columns):
        return rows[rows.columns[position - 1]]
    raise InputError(
        f"there is no column {wanted!r}.",
        where=place(settings),
        remedy=f"Name one of its columns with patient, or give a position from 1 to {len(rows.columns)}.",
    )


def _parted(
    columns: SqlColumns,
    schema: Schema,
    settings: DataSettings,
    spellings: Sequence[Spellings],
    selector: Selector,
) -> _Parted:
    key, column = selector.engine_key(), patient_column(columns.rows, settings)
    if column is not None:
        hashed = engine_hash(columns.rows, key)
        text = ibis().literal(parting.PATIENT) + text_of(hashed.rows[column.get_name()])
    else:
        records = with_conditions(columns, schema, settings, spellings)
        listed = [index for index, one in enumerate(schema.attributes) if one.fixed_point is None]
        numbers = [
            number_code(column, one, settings)
            for one, column in zip(schema.attributes, columns.attributes, strict=True)
            if one.fixed_point is not None
        ]
        hashed = engine_hash(_numbered(records, listed, numbers), key)
        text = _text_of_record(hashed.rows)
    return _Parted(hashed.rows, _is_for_testing(hashed, text, selector))


def _is_for_testing(hashed: EngineHash, text: Any, selector: Selector) -> Any:
    spec = selector.spec
    low = parting.first_tag(spec.first, spec.parts) if spec.first else None
    return hashed.is_from(hashed.tag(text), low, parting.first_tag(spec.last, spec.parts))


def _numbered(records: SqlRecords, listed: Sequence[int], numbers: Sequence[Any]) -> Any:
    """The rows as codes `c0`, `c1` ..., the class last, their words `w0` ..., and each row's turn among rows alike.

    Args: listed: attributes of listed values. numbers: codes in fixed point of the others; their `c` is an interval's.
    """
    lines = (*records.values, records.labels)
    coded = records.rows.select(
        **{
            f"c{index}": code_of(conditions, range(len(conditions))).cast("int16")
            for index, conditions in enumerate(lines)
        },
        **{f"n{index}": number for index, number in enumerate(numbers)},
    )
    size, hashed = parting.CODES_A_WORD, [*listed, len(records.values)]
    runs = [hashed[start : start + size] for start in range(0, len(hashed), size)]
    sums = [
        reduce(add, (coded[f"c{line}"].cast("int64") * 256**at for at, line in enumerate(run)))
        for run in runs
    ]
    sums += [coded[f"n{index}"] for index in range(len(numbers))]
    words = {f"w{number}": word for number, word in enumerate(sums)}
    # Which of the rows alike is which does not matter; Spark numbers rows in some order only.
    turn = ibis().row_number().over(group_by=list(words.values()), order_by=words["w0"])
    return coded.mutate(**words, turn=turn)


def _text_of_record(rows: Any) -> Any:
    words = sorted((name for name in rows.columns if name[0] == "w"), key=lambda name: int(name[1:]))
    parts: list[Any] = [ibis().literal(parting.RECORD)]
    for name in words:
        parts += [rows[name].cast("string"), ibis().literal(parting.BETWEEN_WORDS)]
    parts[-1] = ibis().literal(parting.BEFORE_OCCURRENCE)
    return reduce(add, [*parts, rows.turn.cast("string")])


def _of_codes(rows: Any, sizes: Sequence[int], classes: int) -> SqlRecords:
    values = tuple(
        tuple(rows[f"c{index}"] == code for code in range(size)) for index, size in enumerate(sizes)
    )
    labels = tuple(rows[f"c{len(sizes)}"] == code for code in range(classes))
    return SqlRecords(rows, values, labels)
