"""`settings` of both programs: what is in force, where it comes from, and that no secret shows."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from cloud_service import settings as cloud
from cloud_service.places import PLACES as cloud_places
from hospital_agent import settings as agent
from hospital_agent.places import PLACES as agent_places
from machine.places import Places
from privet.__main__ import run
from shared.errors import InputError


def shown(capsys: pytest.CaptureFixture[str], *words: str) -> dict:
    assert run([*words, "--json"]) == 0
    return dict(json.loads(capsys.readouterr().out)["settings"])


def test_each_value_names_its_source(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "cloud.toml").write_text("port = 1\nmax_wait_seconds = 7\n")
    (tmp_path / "secrets").mkdir()
    (tmp_path / "secrets" / "database_url").write_text("postgresql://u:hunter2@h/d\n")
    monkeypatch.setenv("PRIVET_CLOUD_PORT", "2")
    found = shown(capsys, "cloud", "settings", str(tmp_path))
    assert found["port"] == {"value": 2, "source": "environment"}
    assert found["max_wait_seconds"] == {"value": 7.0, "source": "cloud.toml"}
    assert found["database_url"] == {"value": "***", "source": "secret file"}
    assert found["host"] == {"value": "127.0.0.1", "source": "default"}
    assert cloud.load_settings(tmp_path).database_url.endswith("hunter2@h/d")


def test_an_agents_secrets_are_hidden(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "agent.toml").write_text(
        'id = "h1"\n[data]\nurl = "postgres://u:hunter2@h/d"\ntable = "t"\n[local]\ntoken = "'
        + "hunter2" * 5
        + '"\n'
    )
    assert run(["agent", "settings", str(tmp_path)]) == 0
    assert run(["agent", "settings", str(tmp_path), "--json"]) == 0
    out = capsys.readouterr().out
    assert "hunter2" not in out
    assert "***" in out


def test_all_faults_are_told_at_once(tmp_path: Path) -> None:
    (tmp_path / "cloud.toml").write_text('port = 70000\nprot = 1\nmax_wait_seconds = "long"\n')
    with pytest.raises(InputError) as caught:
        cloud.load_settings(tmp_path)
    for name in ("port", "prot", "max_wait_seconds"):
        assert f"setting {name}: " in str(caught.value)


@pytest.mark.parametrize(
    ("load", "file", "variable"),
    [
        (cloud.load_settings, "cloud.toml", "PRIVET_CLOUD_HSOT"),
        (agent.load_settings, "agent.toml", "PRIVET_AGENT_DATA__PTAH"),
    ],
    ids=["cloud", "agent"],
)
def test_a_mistyped_variable_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, load: object, file: str, variable: str
) -> None:
    (tmp_path / file).write_text('id = "h1"\n' if "agent" in file else "")
    assert callable(load)
    load(tmp_path)
    monkeypatch.setenv(variable, "x")
    with pytest.raises(InputError, match=variable):
        load(tmp_path)


@pytest.mark.parametrize("variable", ["PRIVET_CLOUD_SECRETS", "CREDENTIALS_DIRECTORY"])
def test_secrets_of_a_supervisor_win_over_the_folders(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    folder, handed = tmp_path / "cloud", tmp_path / "handed"
    for place, name in ((folder / "secrets", "own"), (handed, "handed")):
        place.mkdir(parents=True)
        (place / "database_url").write_text(f"sqlite:///{name}.db\n")
    (folder / "cloud.toml").write_text('database_url = "sqlite:///file.db"')
    assert cloud.load_settings(folder).database_url == "sqlite:///own.db"
    monkeypatch.setenv(variable, str(handed))
    assert cloud.load_settings(folder).database_url == "sqlite:///handed.db"
    (handed / "database_url").write_text("\n")
    assert cloud.load_settings(folder).database_url == "sqlite:///own.db", "an empty file sets nothing"
    (handed / "replica__address").write_text("https://here")
    assert cloud.load_settings(folder).replica.address == "https://here"


@pytest.mark.parametrize("of_program", [cloud_places, agent_places], ids=["cloud", "agent"])
def test_where_settings_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, of_program: Places) -> None:
    default, system = tmp_path / "var", tmp_path / "etc.toml"
    places = replace(of_program, default_folder=default, system_settings=system)
    path_of, name = places.settings_path, places.settings_file
    assert path_of(default) == system
    assert path_of(tmp_path / "own") == tmp_path / "own" / name
    default.mkdir()
    (default / name).touch()
    assert path_of(default) == default / name
    monkeypatch.setenv(f"{places.prefix}CONFIG", "/elsewhere")
    assert str(path_of(default)) == "/elsewhere"


def test_the_folder_may_come_from_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "agent.toml").write_text('id = "h7"\n')
    monkeypatch.setenv("PRIVET_AGENT_FOLDER", str(tmp_path))
    assert shown(capsys, "agent", "settings")["id"]["value"] == "h7"
    monkeypatch.delenv("PRIVET_AGENT_FOLDER")
    assert run(["agent", "settings"]) == 3
    assert "/etc/privet/agent.toml" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("program", "more"), [("cloud", ()), ("agent", ("--id", "h7"))], ids=["cloud", "agent"]
)
def test_init_keeps_the_settings_that_a_service_has_already(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: str, more: tuple[str, ...]
) -> None:
    system = tmp_path / "etc.toml"
    system.write_text('id = "h7"\n' if program == "agent" else "port = 5\n")
    monkeypatch.setenv(f"PRIVET_{program.upper()}_CONFIG", str(system))
    assert run([program, "init", str(tmp_path / "folder"), *more]) == 0
    assert not (tmp_path / "folder" / f"{program}.toml").exists()
    if program == "agent":
        assert run([program, "init", str(tmp_path / "other"), "--id", "h8"]) == 3
        assert not (tmp_path / "other" / "keys").exists()
