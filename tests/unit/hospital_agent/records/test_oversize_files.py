"""Small files that would unpack to what no machine holds: refused in words, where the reader would end the process."""

from __future__ import annotations

import gzip
import io
import zipfile
from pathlib import Path

import pytest

from hospital_agent.records import foreign, workbook_size
from hospital_agent.records.files import read_table
from hospital_agent.records.source import DataSettings
from shared.errors import InputError
from tests.support.workbooks import workbook

ROWS = [["a", "b", "ill"], ["1", "2", "no"], ["2", "1", "yes"]]
SHEET = "xl/worksheets/sheet1.xml"


def with_cell(cell: str) -> bytes:
    """The workbook with one more row that holds this cell, packed."""
    stream = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(workbook({"s": ROWS}))) as old, zipfile.ZipFile(stream, "w") as new:
        for name in old.namelist():
            text = old.read(name).decode()
            if name == SHEET:
                text = text.replace("</sheetData>", f'<row r="1048576">{cell}</row></sheetData>')
            new.writestr(name, text)
    return stream.getvalue()


@pytest.mark.parametrize(
    "cell",
    [
        '<c r="XFD1048576"><v>1</v></c>',
        "<c s='1'\n r = 'XFD1048576' ><v>1</v></c>",
        '<c r="xfd01048576"><v>1</v></c>',
        '<x:c xmlns:x="http://schemas.openxmlformats.org/spreadsheetml/2006/main" r="XFD1048576"><x:v>1</x:v></x:c>',
    ],
)
def test_two_cells_in_opposite_corners_of_a_sheet_are_no_table(tmp_path: Path, cell: str) -> None:
    path = tmp_path / "ward.xlsx"
    path.write_bytes(with_cell(cell))
    with pytest.raises(InputError, match="lie so far apart"):
        read_table(DataSettings(path))


def test_an_empty_cell_far_away_is_nothing(tmp_path: Path) -> None:
    path = tmp_path / "ward.xlsx"
    path.write_bytes(with_cell('<c r="XFD1048576" s="1"/>'))
    assert read_table(DataSettings(path)).row_count == 2


def test_what_unpacks_to_too_much_is_refused_before_it_is_unpacked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workbook_size, "MAX_UNPACKED", 1 << 20)
    monkeypatch.setattr(foreign, "MAX_UNPACKED", 1 << 20)
    path = tmp_path / "ward.xlsx"
    path.write_bytes(with_cell(f'<c r="A1048576" t="inlineStr"><is><t>{"x" * (1 << 20)}</t></is></c>'))
    with pytest.raises(InputError, match="unpacks to more than"):
        read_table(DataSettings(path))
    packed = tmp_path / "ward.csv.gz"
    packed.write_bytes(gzip.compress(b"a,b\n" + b"1,2\n" * (1 << 18)))
    with pytest.raises(InputError, match="a gzip archive of more than"):
        read_table(DataSettings(packed))


def test_a_cell_across_two_pieces_of_a_sheet_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "ward.xlsx"
    path.write_bytes(with_cell('<c r="XFD1048576"><v>1</v></c>'))
    for size in (100, 101, 150, 333):
        monkeypatch.setattr(workbook_size, "_CHUNK", size)
        with pytest.raises(InputError, match="lie so far apart"):
            read_table(DataSettings(path))
