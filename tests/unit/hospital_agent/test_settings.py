"""Settings: where they come from, which are refused, and how the refusal reads."""

from __future__ import annotations

from pathlib import Path

import pytest

from hospital_agent.settings import load_settings
from shared.errors import InputError
from shared.hosts import is_loopback

GOOD = 'id = "h1"\ncloud = "https://cloud.example"\n'


def folder_with(tmp_path: Path, text: str) -> Path:
    (tmp_path / "agent.toml").write_text(text)
    return tmp_path


def test_a_folder_without_settings_names_the_command_that_makes_them(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"agent\.toml: there is no agent here.*privet agent init"):
        load_settings(tmp_path)


def test_relative_paths_mean_the_folder(tmp_path: Path) -> None:
    settings = load_settings(
        folder_with(tmp_path, GOOD + 'ca_bundle = "ca.pem"\n[data]\npath = "rows.csv"\n')
    )
    assert settings.data.path == tmp_path / "rows.csv"
    assert settings.ca_bundle == tmp_path / "ca.pem"
    assert settings.policy == tmp_path / "policy.toml"


def test_surroundings_win_over_secrets_and_these_over_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = folder_with(tmp_path, GOOD + '[data]\nurl = "from-file"\ntable = "t"\n[local]\nport = 1\n')
    (tmp_path / "secrets").mkdir()
    (tmp_path / "secrets" / "data__url").write_text("from-secret")
    (tmp_path / "secrets" / "local__port").write_text("2")
    monkeypatch.setenv("PRIVET_AGENT_LOCAL__PORT", "3")
    settings = load_settings(folder)
    assert settings.data.url is not None
    assert settings.data.url.get_secret_value() == "from-secret"
    assert settings.data.table == "t"
    assert settings.local.port == 3


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('id = "h1"\ncloud = "http://cloud.example"', "for a cloud on this machine only; use https"),
        ('id = "h1"\ncloud = "ftp://cloud.example"', "expected an https:// URL"),
        ('id = "cloud"', "cloud names no hospital"),
        ('id = "H 1"', "setting id: String should match"),
        (GOOD + "speed = 3", "setting speed: Extra inputs"),
        (GOOD + '[local]\nhost = "0.0.0.0"', "beyond this machine needs a token"),
        (GOOD + '[local]\nhost = "0.0.0.0"\ntoken = "short"', r"setting local\.token: .*at least 32"),
        (GOOD + "[data]\nclass = 0", r"setting data\.class"),
        ("id = = 3", "not valid TOML: Invalid value .at line 1"),
    ],
)
def test_a_wrong_setting_is_named(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError, match=message) as raised:
        load_settings(folder_with(tmp_path, text))
    assert "agent.toml" in raised.value.where


def test_no_refusal_shows_a_value(tmp_path: Path) -> None:
    text = GOOD + '[data]\nurl = "postgres://user:hunter2@db"\nmissing = 3\n'
    with pytest.raises(InputError) as raised:
        load_settings(folder_with(tmp_path, text))
    assert "hunter2" not in str(raised.value)


def test_secrets_do_not_show(tmp_path: Path) -> None:
    settings = load_settings(
        folder_with(tmp_path, GOOD + '[data]\nurl = "postgres://user:hunter2@db"\ntable = "t"')
    )
    assert "hunter2" not in repr(settings)


@pytest.mark.parametrize("url", ["http://127.0.0.1:8443", "http://localhost:1", "http://[::1]:2"])
def test_a_cloud_on_this_machine_may_speak_http(tmp_path: Path, url: str) -> None:
    assert load_settings(folder_with(tmp_path, f'id = "h1"\ncloud = "{url}"')).cloud is not None


@pytest.mark.parametrize(
    ("host", "stays"), [("127.9.9.9", True), ("::1", True), ("10.0.0.1", False), ("db", False)]
)
def test_what_stays_on_this_machine(host: str, stays: bool) -> None:
    assert is_loopback(host) is stays
