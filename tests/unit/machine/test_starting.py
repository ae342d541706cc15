"""The search for garbage while a program loads, and after."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator

import pytest

from machine.starting import loading


@pytest.fixture(autouse=True)
def thawed() -> Iterator[None]:
    """Other tests of this process get their garbage collected."""
    yield
    gc.enable()
    gc.unfreeze()


class _Ring:
    def __init__(self) -> None:
        self.me = self


def test_nobody_looks_for_garbage_while_modules_load() -> None:
    with loading():
        assert not gc.isenabled()
    assert gc.isenabled()


def test_what_was_loaded_is_not_looked_through_again_and_what_comes_later_is() -> None:
    before = gc.get_freeze_count()
    with loading():
        kept = weakref.ref(_Ring())
    later = weakref.ref(_Ring())
    gc.collect()
    assert gc.get_freeze_count() > before
    assert kept() is not None
    assert later() is None


def test_a_start_that_fails_leaves_the_search_on() -> None:
    with pytest.raises(ValueError, match="no"), loading():
        raise ValueError("no")
    assert gc.isenabled()


def test_where_it_is_off_it_stays_off() -> None:
    gc.disable()
    with loading():
        pass
    assert not gc.isenabled()
