"""Settings: file, environment, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from cloud_service.settings import check_listening, load_settings
from shared.errors import InputError
from shared.hosts import is_loopback
from tests.support.certificates import self_signed


def folder_with(tmp_path: Path, content: str) -> Path:
    (tmp_path / "cloud.toml").write_text(content)
    return tmp_path


def test_defaults_listen_on_loopback_and_keep_sqlite_in_the_folder(tmp_path: Path) -> None:
    settings = load_settings(folder_with(tmp_path, ""))
    check_listening(settings)
    assert settings.host == "127.0.0.1"
    assert settings.database == f"sqlite:///{tmp_path / 'cloud.db'}"


def test_environment_overrules_the_file_and_the_command_line_both(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = folder_with(tmp_path, "port = 1\nmax_wait_seconds = 7")
    monkeypatch.setenv("PRIVET_CLOUD_PORT", "2")
    assert load_settings(folder).port == 2
    assert load_settings(folder, port=3).port == 3
    assert load_settings(folder, port=None).max_wait_seconds == 7


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("port = 70000", "port"),
        ("unknown = 1", "unknown"),
        ("port = ", "not valid TOML"),
        ('max_body_bytes = "many"', "max_body_bytes"),
    ],
)
def test_a_wrong_setting_is_named(tmp_path: Path, content: str, words: str) -> None:
    with pytest.raises(InputError, match=words) as caught:
        load_settings(folder_with(tmp_path, content))
    assert caught.value.where.endswith("cloud.toml")
    assert caught.value.remedy


def test_a_folder_without_settings(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="privet cloud init"):
        load_settings(tmp_path / "none")


def test_plain_http_stays_on_this_machine(tmp_path: Path) -> None:
    folder = folder_with(tmp_path, 'host = "0.0.0.0"')
    with pytest.raises(InputError, match="without TLS"):
        check_listening(load_settings(folder))
    check_listening(load_settings(folder, behind_proxy=True))
    check_listening(load_settings(folder, host="::1"))


def test_tls_files_belong_together_and_exist(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="belong together"):
        check_listening(load_settings(folder_with(tmp_path, 'tls_key = "k"')))
    folder = folder_with(tmp_path, 'host = "0.0.0.0"\ntls_key = "k"\ntls_certificate = "c"')
    with pytest.raises(InputError, match="no such file"):
        check_listening(load_settings(folder))
    (tmp_path / "k").touch()
    (tmp_path / "c").touch()
    with pytest.raises(InputError, match="not a TLS certificate") as caught:
        check_listening(load_settings(folder))
    assert caught.value.number == "C006"
    self_signed(tmp_path)
    check_listening(load_settings(tmp_path, tls_certificate=Path("tls.crt"), tls_key=Path("tls.key")))


def test_a_database_password_is_not_shown(tmp_path: Path) -> None:
    settings = load_settings(folder_with(tmp_path, 'database_url = "postgresql://u:hunter2@h/d"'))
    assert "hunter2" not in repr(settings)


@pytest.mark.parametrize(
    ("host", "expected"),
    [("localhost", True), ("127.0.0.2", True), ("::1", True), ("0.0.0.0", False), ("cloud.example", False)],
)
def test_loopback(host: str, expected: bool) -> None:
    assert is_loopback(host) is expected
