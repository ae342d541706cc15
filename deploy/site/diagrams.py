"""Diagrams that stand in pages as text in Mermaid's language, drawn while the site is built: no script at the reader's.

Two kinds are known: sequences become pictures (inline SVG in the colours of the page), states become tables. Another
kind is an error, so that nothing is left for a browser to fetch a program for.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape

_BLOCK = re.compile(r"^```mermaid\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_PARTICIPANT = re.compile(r"participant (\w+) as (.+)")
_MESSAGE = re.compile(r"(\w+)(-->>|->>)(\w+): (.+)")
_NOTE = re.compile(r"Note over (\w+)(?:,\s*(\w+))?: (.+)")
_STATE = re.compile(r"(\S+) --> (\S+): (.+)")
_LANE, _LEFT, _LINE, _CHARACTER = 230, 115, 17, 7.1
_TIP = (
    '<defs><marker id="tip" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8" orient="auto">'
    '<path d="M0 0L8 4L0 8z"/></marker></defs>'
)


@dataclass(frozen=True, slots=True)
class Step:
    """One line of a sequence. `kind`: message, note, loop, end; `lanes`: who takes part, of a note left first."""

    kind: str
    text: str
    lanes: tuple[int, int] = (0, 0)
    dashed: bool = False


def drawn(markdown: str) -> str:
    """The page with each diagram in place of its text.

    Raises:
        ValueError: a diagram of another kind, or a line that is not understood.
    """
    return _BLOCK.sub(lambda found: _drawn(found.group(1)), markdown)


def _drawn(source: str) -> str:
    kind, *lines = [line.strip() for line in source.splitlines() if line.strip()]
    if kind == "sequenceDiagram":
        return sequence(lines)
    if kind.startswith("stateDiagram"):
        return _states(lines)
    raise ValueError(f"a diagram of kind {kind!r}; the site draws sequenceDiagram and stateDiagram")


def _states(lines: list[str]) -> str:
    rows = [_matched(_STATE, line) for line in lines if "[*]" not in line]
    table = [f"| {row[1]} | {row[3]} | {row[2]} |" for row in rows]
    return "\n".join(["| from | step | to |", "|---|---|---|", *table])


def _matched(pattern: re.Pattern[str], line: str) -> re.Match[str]:
    found = pattern.fullmatch(line)
    if found is None:
        raise ValueError(f"the line {line!r} of a diagram is not understood; expected {pattern.pattern}")
    return found


def sequence(lines: list[str]) -> str:
    """The picture of a sequence; `accTitle` and `accDescr` are its words for who does not see it."""
    told = {key: value for key, _, value in (line.partition(": ") for line in lines) if key[:3] == "acc"}
    people = [found.groups() for line in lines if (found := _PARTICIPANT.fullmatch(line))]
    places = {name: place for place, (name, _) in enumerate(people)}
    steps = [
        _step(line, places) for line in lines if not line.startswith(("participant", "acc", "autonumber"))
    ]
    width = _LANE * len(people)
    height, body = _body(steps, width)
    title = told.get("accTitle", "Who says what, in order")
    about = told.get(
        "accDescr", "; ".join(_said(step, [name for _, name in people]) for step in steps if step.text)
    )
    parts = [
        '<figure class="sequence" tabindex="0">',
        f'<svg viewBox="0 0 {width} {height}" role="img" style="max-width:{width}px"',
        f' aria-label="{escape(title)}. {escape(about)}">',
        _TIP,
        *_lanes([name for _, name in people], height),
        *body,
        f"</svg><figcaption>{escape(title)}</figcaption></figure>",
    ]
    return "".join(parts)


def _said(step: Step, names: list[str]) -> str:
    if step.kind == "message":
        return f"{names[step.lanes[0]]} to {names[step.lanes[1]]}: {step.text}"
    return f"{names[step.lanes[0]]}: {step.text}" if step.kind == "note" else f"repeated: {step.text}"


def _step(line: str, places: dict[str, int]) -> Step:
    if line == "end":
        return Step("end", "")
    if line.startswith("loop "):
        return Step("loop", line.removeprefix("loop "))
    if line.startswith("Note "):
        first, last, text = _matched(_NOTE, line).groups()
        ends = sorted((places[first], places[last or first]))
        return Step("note", text, (ends[0], ends[1]))
    source, arrow, target, text = _matched(_MESSAGE, line).groups()
    return Step("message", text, (places[source], places[target]), dashed=arrow == "-->>")


def _lanes(names: list[str], height: int) -> Iterator[str]:
    for place, name in enumerate(names):
        x = _LEFT + place * _LANE
        yield f'<line class="lane" x1="{x}" x2="{x}" y1="40" y2="{height - 8}"/>'
        yield f'<rect class="who" x="{x - 95}" y="4" width="190" height="36" rx="6"/>'
        yield f'<text class="name" x="{x}" y="27">{escape(name)}</text>'


def _body(steps: list[Step], width: int) -> tuple[int, list[str]]:
    """How high the picture is, and what is in it below the names."""
    y, parts, loops = 62, [], []
    for step in steps:
        if step.kind == "loop":
            loops.append(y)
            parts.append(f'<text class="again" x="16" y="{y + 16}">{escape(step.text)}</text>')
            y += 30
        elif step.kind == "end":
            top = loops.pop()
            parts.append(
                f'<rect class="loop" x="6" y="{top}" width="{width - 12}" height="{y - top}" rx="6"/>'
            )
            y += 16
        else:
            high, drawing = _note(step, y) if step.kind == "note" else _message(step, y)
            parts += drawing
            y += high
    return y + 12, parts


def _message(step: Step, y: int) -> tuple[int, list[str]]:
    start, stop = (_LEFT + lane * _LANE for lane in step.lanes)
    room = max(abs(stop - start), _LANE) - 24
    lines = textwrap.wrap(step.text, int(room / _CHARACTER))
    base = y + _LINE * len(lines)
    shown = list(_text(lines, (start + stop) / 2, y + 12))
    back = 2 if stop > start else -2
    kind = "message dashed" if step.dashed else "message"
    shown.append(f'<line class="{kind}" x1="{start}" x2="{stop - back}" y1="{base + 2}" y2="{base + 2}"/>')
    return _LINE * len(lines) + 18, shown


def _note(step: Step, y: int) -> tuple[int, list[str]]:
    left, right = _LEFT + step.lanes[0] * _LANE - 104, _LEFT + step.lanes[1] * _LANE + 104
    lines = textwrap.wrap(step.text, int((right - left - 16) / _CHARACTER))
    high = _LINE * len(lines) + 12
    box = f'<rect class="note" x="{left}" y="{y}" width="{right - left}" height="{high}" rx="4"/>'
    return high + 14, [box, *_text(lines, (left + right) / 2, y + 18)]


def _text(lines: list[str], x: float, y: int) -> Iterator[str]:
    for number, line in enumerate(lines):
        yield f'<text x="{x:g}" y="{y + number * _LINE}">{escape(line)}</text>'
