from __future__ import annotations

import stat
from pathlib import Path

import pytest

from hospital_agent.records import DataSettings, open_source
from hospital_agent.records.file_source import FileSource
from shared.errors import InputError
from shared.tree.frontier import NodeQuery
from shared.tree.schema import Attribute, Schema

SCHEMA = Schema.create([Attribute("sex", ("f", "m"))], "ill", ["no", "yes"])
ROOT = [NodeQuery((), (0,), (0, 1))]
SALT = b"0123456789abcdef"


@pytest.fixture
def source(tmp_path: Path) -> FileSource:
    path = tmp_path / "ward.csv"
    path.write_text("sex,ill\nf,no\nf,yes\nm,yes\nm,yes\n")
    found = open_source(DataSettings(path=path), tmp_path / "frozen")
    assert isinstance(found, FileSource)
    return found


def test_a_snapshot_counts_after_its_file_is_gone(source: FileSource) -> None:
    frozen = source.freeze(SCHEMA, SALT)
    assert source.settings.path is not None
    source.settings.path.unlink()
    again = source.reopen(SCHEMA, frozen.sha256)
    assert frozen.count(ROOT) == again.count(ROOT) == [1, 1, 0, 2]
    assert (again.row_count, again.notes) == (4, ())


def test_the_hash_depends_on_records_schema_and_salt(source: FileSource) -> None:
    assert source.settings.path is not None
    first = source.freeze(SCHEMA, SALT).sha256
    assert source.freeze(SCHEMA, SALT).sha256 == first
    turned = Schema.create([Attribute("sex", ("m", "f"))], "ill", ["no", "yes"])
    others = {source.freeze(SCHEMA, SALT[::-1]).sha256, source.freeze(turned, SALT).sha256}
    source.settings.path.write_text("sex,ill\nf,no\nf,yes\nm,yes\nm,no\n")
    others.add(source.freeze(SCHEMA, SALT).sha256)
    assert len({first, *others}) == 4


def test_the_file_is_private_whole_and_alone(source: FileSource) -> None:
    frozen = source.freeze(SCHEMA, SALT)
    (file,) = source.directory.iterdir()
    assert file.name == f"{frozen.sha256}.codes"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(source.directory.stat().st_mode) == 0o700


def test_a_leftover_of_a_killed_agent_is_replaced(source: FileSource) -> None:
    frozen = source.freeze(SCHEMA, SALT)
    (source.directory / f".{frozen.sha256}.codes.new").write_bytes(b"half")
    assert source.freeze(SCHEMA, SALT).count(ROOT) == [1, 1, 0, 2]
    assert len(list(source.directory.iterdir())) == 1


@pytest.mark.parametrize("place", [0, 30, -1])
def test_an_altered_snapshot_is_refused(source: FileSource, place: int) -> None:
    frozen = source.freeze(SCHEMA, SALT)
    (file,) = source.directory.iterdir()
    content = bytearray(file.read_bytes())
    content[place] ^= 1
    file.write_bytes(bytes(content))
    with pytest.raises(InputError, match="the frozen records were altered"):
        source.reopen(SCHEMA, frozen.sha256)


def test_a_snapshot_that_is_gone_or_of_another_study(source: FileSource) -> None:
    frozen = source.freeze(SCHEMA, SALT)
    other = Schema.create([Attribute("sex", ("f", "m", "x"))], "ill", ["no", "yes"])
    with pytest.raises(InputError, match="of another study"):
        source.reopen(other, frozen.sha256)
    with pytest.raises(InputError, match="the frozen records are gone"):
        source.reopen(SCHEMA, "0" * 64)


def test_no_count_shows_in_a_repr(source: FileSource) -> None:
    shown = repr(source.freeze(SCHEMA, SALT))
    assert "row_count" not in shown
    assert "array" not in shown


@pytest.mark.parametrize(
    "settings",
    [
        DataSettings(),
        DataSettings(path=Path("x"), url="duckdb://"),
        DataSettings(url="duckdb://"),
        DataSettings(url="duckdb://", table="t", query="SELECT 1"),
    ],
)
def test_settings_that_name_no_source_or_two(settings: DataSettings, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="exactly one of"):
        open_source(settings, tmp_path)


def test_a_password_does_not_show() -> None:
    assert "hunter2" not in repr(DataSettings(url="postgres://u:hunter2@host/db", table="t"))
