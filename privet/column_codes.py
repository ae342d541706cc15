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


def column_codes(column: Any, attribute: Attribute, coding: Coding) -> Codes:
    """The codes of a column. Args: column: an array of one dimension, or a column of a data frame.

    Raises: ValueError: a value that is no finite number where one is due; names the attribute and no value.
    """
    dtype: Any = getattr(column, "dtype", None)
    if hasattr(dtype, "categories"):
        of_category = np.append(
            _each(np.asarray(dtype.categories, object), attribute, coding), np.int32(_missing(coding))
        )
        return np.asarray(
            of_category[column.cat.codes.to_numpy()], np.int32
        )  # a missing category is -1, the last
    if getattr(dtype, "name", "") in _TEXTS and hasattr(column, "factorize"):
        places, distinct = column.factorize()
        of_text = np.append(
            _each(np.asarray(distinct, object), attribute, coding), np.int32(_missing(coding))
        )
        return np.asarray(of_text[places], np.int32)  # a missing text is -1, the last
    values = column.to_numpy() if hasattr(column, "to_numpy") else np.asarray(column)
    if values.dtype.kind == "f" and coding.points is not None:
        return _floats(values, attribute, coding)
    if values.dtype.kind in "iu" and values.dtype != np.uint64 and coding.points is not None:
        floors = np.array([math.floor(point) for point in coding.points], np.int64)
        return np.searchsorted(floors, values.astype(np.int64), side="left").astype(np.int32)
    if values.dtype.kind in "iufbU":
        distinct, places = np.unique(values, return_inverse=True)
        return _each(distinct.astype(object), attribute, coding)[places]
    return _each(values, attribute, coding)


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


def _each(values: NDArray[Any], attribute: Attribute, coding: Coding) -> Codes:
    """The codes of objects, each distinct one asked once; 1, 1.0 and true are distinct."""
    code, known = _coder(attribute, coding), dict[tuple[type, Any], int]()
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


def _coder(attribute: Attribute, coding: Coding) -> Callable[[Any], int]:
    def code(value: Any) -> int:
        plain = value.item() if isinstance(value, np.generic) else value
        if plain is None or type(plain).__name__ in _OTHER_MISSING or plain != plain:
            return _missing(coding)
        if not isinstance(plain, str | int | float | Decimal):
            raise TypeError
        try:
            found = _code(attribute, coding, plain)
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
