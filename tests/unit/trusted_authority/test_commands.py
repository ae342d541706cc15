from __future__ import annotations

import json

import pytest

from privet.__main__ import run
from shared.crypto import certificates
from shared.protocol.enrolment import request_fingerprint, spoken
from tests.support.members import Party, cloud

from .conftest import House


@pytest.fixture
def at_a_terminal(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A person who says yes to every member but h2; the list keeps the questions."""
    questions: list[str] = []

    def confirm(question: str, *, err: bool) -> bool:
        assert err, "standard output belongs to the report"
        questions.append(question)
        return not question.startswith("h2")

    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("typer.confirm", confirm)
    return questions


def test_each_request_is_confirmed_by_its_fingerprint(
    house: House, at_a_terminal: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    parties = [cloud(), Party("h1"), Party("h2")]
    paths = [str(party.write_request(house.desk)) for party in parties]
    assert run(["authority", "certify", str(house.vault.folder), *paths, "--json"]) == 0
    assert sorted(json.loads(capsys.readouterr().out)["bundles"]) == ["cloud", "h1"]
    assert house.vault.federation().member("h2") is None
    for party, question in zip(parties, at_a_terminal, strict=True):
        assert spoken(request_fingerprint(certificates.parse_request(party.request))) in question


def test_a_question_says_when_it_replaces(full_house: House, at_a_terminal: list[str]) -> None:
    path = Party("h1", generation=2).write_request(full_house.desk)
    assert run(["authority", "certify", str(full_house.vault.folder), str(path), "--replace"]) == 0
    assert "REPLACES" in at_a_terminal[0]


def test_nothing_confirmed_is_nothing_certified(
    house: House, at_a_terminal: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    path = Party("h2").write_request(house.desk)
    assert run(["authority", "certify", str(house.vault.folder), str(path)]) == 3
    assert "nothing was certified" in capsys.readouterr().err
    assert house.vault.federation().members == []


def test_bundles_are_written_again_for_all_or_some(
    full_house: House, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = str(full_house.vault.folder)
    assert run(["authority", "bundles", folder, "--json"]) == 0
    assert sorted(json.loads(capsys.readouterr().out)["bundles"]) == ["cloud", "h1", "h2", "h3"]
    assert run(["authority", "bundles", folder, "h3", "--json"]) == 0
    assert sorted(json.loads(capsys.readouterr().out)["bundles"]) == ["h3"]
    assert run(["authority", "bundles", folder, "h3", "h9"]) == 3
    assert "h9" in capsys.readouterr().err


def test_show_tells_people_what_json_tells_machines(
    full_house: House, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = str(full_house.vault.folder)
    assert run(["authority", "show", folder, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert run(["authority", "show", folder]) == 0
    text = capsys.readouterr().out
    assert spoken(document["root_sha256"]) in text
    for member in document["members"]:
        assert spoken(member["certificate_sha256"]) in text
    assert all(warning in text for warning in document["warnings"])
    assert document["key_id"] in text
