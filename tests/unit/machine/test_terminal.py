"""Secrets from the surroundings, from standard input or from a person; without any of them the way out is named."""

from __future__ import annotations

import io

import pytest

from machine import terminal
from shared.errors import InputError

VARIABLE = "PRIVET_TEST_PASSPHRASE"


@pytest.fixture
def nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin.isatty", lambda: False, raising=False)


@pytest.fixture
def person(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, object]]:
    """Types a long passphrase; the list keeps how it was asked."""
    asked: list[dict[str, object]] = []

    def prompt(question: str, **how: object) -> str:
        asked.append({"question": question, **how})
        return "five words that nobody guesses"

    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("typer.prompt", prompt)
    return asked


def test_without_a_terminal_the_other_way_is_named(nobody: None) -> None:
    with pytest.raises(InputError, match=VARIABLE):
        terminal.passphrase(VARIABLE, "Passphrase")
    with pytest.raises(InputError, match=VARIABLE):
        terminal.new_passphrase(VARIABLE, "Choose", asked_for=True)
    with pytest.raises(InputError, match="--password-stdin"):
        terminal.new_password(from_input=False)
    assert terminal.new_passphrase(VARIABLE, "Choose", asked_for=False) is None


def test_the_environment_comes_before_the_person(
    person: list[dict[str, object]], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert terminal.passphrase(VARIABLE, "Passphrase") == "five words that nobody guesses"
    monkeypatch.setenv(VARIABLE, "of the environment")
    assert terminal.passphrase(VARIABLE, "Passphrase") == "of the environment"
    assert terminal.new_passphrase(VARIABLE, "Choose", asked_for=False) == "of the environment"
    assert [question["question"] for question in person] == ["Passphrase"]


def test_what_is_chosen_is_typed_twice_and_never_shown(person: list[dict[str, object]]) -> None:
    terminal.passphrase(VARIABLE, "Passphrase")
    terminal.new_passphrase(VARIABLE, "Choose", asked_for=True)
    terminal.new_password(from_input=False)
    assert [asked["confirmation_prompt"] for asked in person] == [False, True, True]
    assert all(asked["hide_input"] and asked["err"] for asked in person)


def test_a_short_passphrase_is_not_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "x" * (terminal.MIN_PASSPHRASE - 1))
    with pytest.raises(InputError, match="fewer than 12"):
        terminal.new_passphrase(VARIABLE, "Choose", asked_for=False)


def test_a_password_may_come_by_a_pipe(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(" with blanks \r\nrest"))
    assert terminal.new_password(from_input=True) == " with blanks "
