"""Columns of arrays and data frames to the codes of an exported tree, a whole column at a time, exactly.

A float counts as its shortest decimal, as it does in `shared.tree.prediction`; so a column of single precision that
holds 0.1 is not above the cut 0.1. Missing are NaN, None, pandas' NA, and blank texts.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from shared.contract.asking import read_value
from shared.contract.reading import Read
from shared.errors import InputError
from shared.export.compiled import Coding
from shared.export.votes import IN_PARTS
from shared.tree.prediction import value_code, value_number
from shared.tree.schema import Attribute

Codes = NDArray[np.int32]
"""Codes by row; -1 where a field has none, `IN_PARTS` where one is empty and all branches are to answer."""

_NO_CODE: Final = -1
_TEXTS: Final = frozenset({"str", "string"})
_OTHER_MISSING: Final = frozenset({"NAType", "NaTType"})


def column_codes(column: Any, attribute: Attribute, coding: Coding, read: Read | None = None) -> Codes:
    """The codes of a column.

    Args: column: an array of one dimension, or a column of a data frame. read: how the study's data contract reads
        texts.
    Raises: ValueError: a value that is no finite number where one is due; names the attribute and no value.
    """
    code = _coder(attribute, coding, read)
    dtype: Any = getattr(column, "dtype", None)
    if hasattr(dtype, "categories"):
        of_category = np.append(
            _each(np.asarray(dtype.categories, object), attribute, code), np.int32(_missing(coding))
        )
        return np.asarray(
            of_category[column.cat.codes.to_numpy()], np.int32
        )  # a missing category is -1, the last
    if getattr(dtype, "name", "") in _TEXTS and hasattr(column, "factorize"):
        places, distinct = column.factorize()
        of_text = np.append(_each(np.asarray(distinct, object), attribute, code), np.int32(_missing(coding)))
        return np.asarray(of_text[places], np.int32)  # a missing text is -1, the last
    values = column.to_numpy() if hasattr(column, "to_numpy") else np.asarray(column)
    if read is not None and values.dtype.kind == "f":
        distinct, places = np.unique(values, return_inverse=True)
        shortest = np.array([float(str(value)) for value in distinct], object)
        return _each(shortest, attribute, code)[places]
    plain = read is None and coding.points is not None
    if values.dtype.kind == "f" and plain:
        return _floats(values, attribute, coding)
    if values.dtype.kind in "iu" and values.dtype != np.uint64 and plain:
        floors = np.array([math.floor(point) for point in coding.points or ()], np.int64)
        return np.searchsorted(floors, values.astype(np.int64), side="left").astype(np.int32)
    if values.dtype.kind in "iufbU":
        distinct, places = np.unique(values, return_inverse=True)
        return _each(distinct.astype(object), attribute, code)[places]
    return _each(values, attribute, code)


def _floats(values: NDArray[Any], attribute: Attribute, coding: Coding) -> Codes:
    if np.isinf(values).any():
        raise ValueError(f"attribute {attribute.name!r}: infinity is not a value (Input contains infinity)")
    bounds = np.array([_bound(point, values.dtype) for point in coding.points or ()], values.dtype)
    codes = np.searchsorted(bounds, values, side="left").astype(np.int32)
    codes[np.isnan(values)] = _missing(coding)
    return codes


def _bound(point: Decimal, dtype: np.dtype[Any]) -> Any:
    """The greatest float of a precision whose shortest decimal is at most `point` (see `compiled.float_bound`)."""
    with np.errstate(over="ignore"):
        rounded = dtype.type(float(point))
        return rounded if Decimal(str(rounded)) <= point else np.nextafter(rounded, dtype.type(-np.inf))


def _missing(coding: Coding) -> int:
    if coding.in_parts:
        return IN_PARTS
    return _NO_CODE if coding.missing is None else coding.missing


def _each(values: NDArray[Any], attribute: Attribute, code: Callable[[Any], int]) -> Codes:
    """The codes of objects, each distinct one asked once; 1, 1.0 and true are distinct."""
    known = dict[tuple[type, Any], int]()
    found = np.empty(len(values), np.int32)
    for row, value in enumerate(values):
        key = (value.__class__, value)
        try:
            if key not in known:
                known[key] = code(value)
        except TypeError:
            raise TypeError(
                f"attribute {attribute.name!r}: argument must be a string or a number, not {type(value).__name__}"
            ) from None
        found[row] = known[key]
    return found


def _coder(attribute: Attribute, coding: Coding, read: Read | None) -> Callable[[Any], int]:
    def code(value: Any) -> int:
        plain = value.item() if isinstance(value, np.generic) else value
        if plain is None or type(plain).__name__ in _OTHER_MISSING or plain != plain:
            return _missing(coding)
        if not isinstance(plain, str | int | float | Decimal):
            raise TypeError
        asked = plain if read is None else read_value(read, plain)
        try:
            found = None if asked is None else _code(attribute, coding, asked)
        except InputError as error:
            raise ValueError(str(error)) from None
        if coding.in_parts and found == attribute.missing_code:
            return IN_PARTS
        return _NO_CODE if found is None else found

    return code


def _code(attribute: Attribute, coding: Coding, value: str | int | float | Decimal) -> int | None:
    if attribute.fixed_point is None:
        return value_code(attribute, value)[0]
    number = value_number(attribute, value)
    return None if number is None else sum(point < number for point in coding.points or ())
