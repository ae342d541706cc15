"""A profile as people and machines read it: lines of text, a JSON document, one page of HTML.

Numbers of rows below the floor are in none of them, and cannot be worked out from those that are.
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from html import escape
from itertools import accumulate
from typing import Any, Final

from hospital_agent.records.profile.facts import ColumnFacts
from hospital_agent.records.profile.profile import Profile
from hospital_agent.records.profile.shown import number_or_none, shown_values, told
from hospital_agent.records.remarks import MANY_VALUES
from shared.texts import text
from shared.tree.numbers import decimal_text
from shared.tree.schema_checks import plain_line

_MANY: Final = 12
"""So many values of a column are told on a page."""


def document_of(profile: Profile) -> dict[str, Any]:
    """For `--json`."""
    return {
        "source": profile.table.where,
        "rows": profile.table.row_count,
        "has_header": profile.table.has_header,
        "reading": None if profile.table.reading is None else profile.table.reading.to_json(),
        "class": None if profile.target is None else profile.target.name,
        "floor": profile.floor,
        "findings": [finding.to_json() for finding in profile.findings],
        "columns": [_column(facts, profile.floor) for facts in profile.facts],
    }


def text_of(profile: Profile) -> str:
    """For people at a terminal."""
    table = profile.table
    sizes = {"where": table.where, "rows": table.row_count, "columns": len(table.columns)}
    lines = [
        text("profile.table", **sizes)
        if profile.target is None
        else text("profile.table_of_class", **sizes, class_name=profile.target.name)
    ]
    lines += ["", text("profile.read_change"), *(f"  {line}" for line in _reading(profile))]
    lines += ["", f"{text('profile.found')}:"]
    lines += [f"  {finding.text}" for finding in profile.findings] or [f"  {text('profile.nothing')}"]
    lines += ["", text("profile.columns_above", floor=profile.floor)]
    lines += [f"  {line}" for line in _column_lines(profile)]
    return "\n".join(map(plain_line, lines))


def html_of(profile: Profile) -> str:
    """One page that needs nothing else."""
    found = "".join(
        f"<tr><td>{escape(f.weight.value)}</td><td>{escape(f.code)}</td><td>{escape(', '.join(f.columns))}</td>"
        f"<td>{escape(f.says)} {escape(f.remedy)}</td><td><code>{escape(' '.join(map(str, f.advice)))}</code></td></tr>"
        for f in profile.findings
    )
    columns = "".join(
        f"<tr><td>{escape(facts.name)}</td><td>{facts.kind}</td><td>{facts.different}</td>"
        f"<td>{escape(_values_line(facts, profile.floor))}</td></tr>"
        for facts in profile.facts
    )
    reading = "".join(f"<li>{escape(line)}</li>" for line in _reading(profile))
    title = escape(text("profile.title", where=profile.table.where))
    sizes = {"rows": profile.table.row_count, "columns": len(profile.table.columns)}
    heads = _heads("weight", "finding", "columns", "meaning", "option")
    column_heads = _heads("column", "kind", "different", "values")
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{title}</title><style>{_STYLE}</style>'
        f"<h1>{title}</h1><p>{escape(text('profile.sizes', **sizes, floor=profile.floor))}</p>"
        f"<h2>{escape(text('profile.read'))}</h2><ul>{reading}</ul>"
        f"<h2>{escape(text('profile.found'))}</h2><table><tr>{heads}</tr>{found}</table>"
        f"<h2>{escape(text('profile.columns'))}</h2><table><tr>{column_heads}</tr>{columns}</table></html>\n"
    )


def _heads(*names: str) -> str:
    return "".join(f"<th>{escape(text(f'profile.head.{name}'))}</th>" for name in names)


_STYLE: Final = (
    "body{font-family:sans-serif;margin:2em;max-width:75em}table{border-collapse:collapse}"
    "td,th{border:1px solid #999;padding:.3em .6em;text-align:left;vertical-align:top}"
)


def _reading(profile: Profile) -> list[str]:
    """What was decided on the way; a database decides nothing."""
    reading = profile.table.reading
    return (
        [text("profile.of_database")] if reading is None else [str(finding) for finding in reading.findings]
    )


def _column_lines(profile: Profile) -> Iterator[str]:
    for facts in profile.facts:
        values = _values_line(facts, profile.floor)
        yield text("profile.column", name=facts.name, kind=facts.kind, n=facts.different, values=values)


def _values_line(facts: ColumnFacts, floor: int) -> str:
    if is_measured(facts):
        ends = range_told(facts, floor)
        range_ = text("profile.range", low=ends[0], high=ends[1]) if ends else text("profile.no_range")
        if not facts.missing:
            return range_
        return text("profile.with_gaps", range=range_, rows=told(facts.missing, floor))
    shown = shown_values(facts.values, facts.counts, floor)
    parts = [f"{value or text('listed.empty')} ({count})" for value, count in shown.values[:_MANY]]
    if len(shown.values) > _MANY:
        parts.append(text("profile.more", n=len(shown.values) - _MANY))
    if shown.held_back:
        parts.append(text("profile.held_back", n=shown.held_back))
    return ", ".join(parts)


def is_measured(facts: ColumnFacts) -> bool:
    """Whether a column is told as a range and not by its values."""
    return facts.is_number and facts.different > MANY_VALUES


def range_told(facts: ColumnFacts, floor: int) -> tuple[str, str] | None:
    """The numbers that at least `floor` rows do not exceed, and do not fall below: no single patient's value.

    None of fewer than twice `floor` rows, for then the one would be the other, or the greatest number of all.
    """
    numbers = facts.measured()
    if sum(count for _, count in numbers) < 2 * floor:
        return None
    return (_reached(numbers, floor), _reached(numbers[::-1], floor))


def _reached(numbers: list[tuple[Decimal, int]], floor: int) -> str:
    """The first number at which there are so many rows."""
    rows = accumulate(count for _, count in numbers)
    return decimal_text(
        next(number for (number, _), up_to in zip(numbers, rows, strict=True) if up_to >= floor)
    )


def _column(facts: ColumnFacts, floor: int) -> dict[str, Any]:
    described: dict[str, Any] = {
        "name": facts.name,
        "position": facts.column.position,
        "kind": facts.kind,
        "different": facts.different,
    }
    if is_measured(facts):
        low, high = range_told(facts, floor) or (None, None)
        return {**described, "missing": number_or_none(facts.missing, floor), "from": low, "to": high}
    shown = shown_values(facts.values, facts.counts, floor)
    values = [{"value": value, "rows": count} for value, count in shown.values]
    return {**described, "values": values, "held_back": shown.held_back}
