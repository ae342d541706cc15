"""How errors are told that nobody raised on purpose."""

from __future__ import annotations

from shared.errors import kind_and_place


def test_a_bug_is_told_by_class_and_place_without_its_text() -> None:
    try:
        int("a patient's field")
    except ValueError as error:
        told = kind_and_place(error)
    assert told.startswith("ValueError at test_errors.py, line ")
    assert "patient" not in told


def test_an_exception_that_was_never_raised_has_no_place() -> None:
    assert kind_and_place(KeyError("a field")) == "KeyError"
