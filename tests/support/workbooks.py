"""Small Excel workbooks, written part by part, so that tests can make what no library would write."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping, Sequence
from xml.sax.saxutils import escape

MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
RELATIONS = "http://schemas.openxmlformats.org/package/2006/relationships"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
DATE_STYLE = 1

Cell = str | int | float | bool | tuple[str, str] | None
"""A text, a number, true or false, nothing, or (kind, content): `date` a serial number, `formula` its saved value,
`error` an error's name.
"""


def workbook(
    sheets: Mapping[str, Sequence[Sequence[Cell]]],
    *,
    merged: Sequence[str] = (),
    hidden: Sequence[str] = (),
    first_row: int = 1,
) -> bytes:
    """An .xlsx file. Args: merged: ranges such as A1:C1 of the first sheet. first_row: of every sheet's cells."""
    names = list(sheets)
    parts = {
        "[Content_Types].xml": _types(len(names)),
        "_rels/.rels": _relations([("rId1", f"{OFFICE}/officeDocument", "xl/workbook.xml")]),
        "xl/workbook.xml": _book(names, hidden),
        "xl/_rels/workbook.xml.rels": _relations(
            [
                (f"rId{number}", f"{OFFICE}/worksheet", f"worksheets/sheet{number}.xml")
                for number in range(1, len(names) + 1)
            ]
            + [("rId99", f"{OFFICE}/styles", "styles.xml")]
        ),
        "xl/styles.xml": _styles(),
    }
    for number, name in enumerate(names, start=1):
        ranges = merged if number == 1 else ()
        parts[f"xl/worksheets/sheet{number}.xml"] = _sheet(sheets[name], ranges, first_row)
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for path, content in parts.items():
            archive.writestr(path, '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>' + content)
    return stream.getvalue()


def _types(sheets: int) -> str:
    kind = "application/vnd.openxmlformats-officedocument.spreadsheetml"
    overrides = "".join(
        f'<Override PartName="/xl/worksheets/sheet{number}.xml" ContentType="{kind}.worksheet+xml"/>'
        for number in range(1, sheets + 1)
    )
    return (
        '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
        '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        '<Default Extension="xml" ContentType="application/xml"/>'
        f'<Override PartName="/xl/workbook.xml" ContentType="{kind}.sheet.main+xml"/>'
        f'<Override PartName="/xl/styles.xml" ContentType="{kind}.styles+xml"/>{overrides}</Types>'
    )


def _relations(found: Sequence[tuple[str, str, str]]) -> str:
    items = "".join(f'<Relationship Id="{a}" Type="{b}" Target="{c}"/>' for a, b, c in found)
    return f'<Relationships xmlns="{RELATIONS}">{items}</Relationships>'


def _book(names: Sequence[str], hidden: Sequence[str]) -> str:
    sheets = "".join(
        f'<sheet name="{escape(name)}" sheetId="{number}" r:id="rId{number}"'
        + (' state="hidden"' if name in hidden else "")
        + "/>"
        for number, name in enumerate(names, start=1)
    )
    return f'<workbook xmlns="{MAIN}" xmlns:r="{OFFICE}"><sheets>{sheets}</sheets></workbook>'


def _styles() -> str:
    return (
        f'<styleSheet xmlns="{MAIN}"><fonts count="1"><font/></fonts><fills count="1"><fill/></fills>'
        '<borders count="1"><border/></borders><cellStyleXfs count="1"><xf/></cellStyleXfs><cellXfs count="2">'
        '<xf numFmtId="0"/><xf numFmtId="14" applyNumberFormat="1"/></cellXfs></styleSheet>'
    )


def _sheet(rows: Sequence[Sequence[Cell]], merged: Sequence[str], first_row: int) -> str:
    lines = "".join(
        f'<row r="{number}">'
        + "".join(_cell(cell, number, index) for index, cell in enumerate(row))
        + "</row>"
        for number, row in enumerate(rows, start=first_row)
    )
    ranges = "".join(f'<mergeCell ref="{each}"/>' for each in merged)
    tail = f'<mergeCells count="{len(merged)}">{ranges}</mergeCells>' if merged else ""
    return f'<worksheet xmlns="{MAIN}"><sheetData>{lines}</sheetData>{tail}</worksheet>'


def _cell(cell: Cell, row: int, column: int) -> str:
    letter = chr(ord("A") + column)
    place = f'r="{letter}{row}"'
    if cell is None:
        return ""
    if isinstance(cell, tuple):
        kind, content = cell
        if kind == "date":
            return f'<c {place} s="{DATE_STYLE}"><v>{content}</v></c>'
        if kind == "error":
            return f'<c {place} t="e"><v>{content}</v></c>'
        return f"<c {place}><f>1+1</f><v>{content}</v></c>"
    if isinstance(cell, bool):
        return f'<c {place} t="b"><v>{int(cell)}</v></c>'
    if isinstance(cell, int | float):
        return f"<c {place}><v>{cell}</v></c>"
    return f'<c {place} t="inlineStr"><is><t xml:space="preserve">{escape(cell)}</t></is></c>'
